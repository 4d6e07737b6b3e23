"""The hot path: one client message to one link and back, as raw bytes."""
