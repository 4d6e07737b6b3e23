"""Records in PostgreSQL, for hubs that share one memory; loaded only where a database is set."""
