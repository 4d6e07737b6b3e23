"""Other hubs, whose files can be imported: one module for each of them."""
