"""Live connections to servers: opened, shared, kept in step with the picture, observed."""
