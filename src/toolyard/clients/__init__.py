"""The clients' own configuration files: read, previewed, written, and put back as they were."""
