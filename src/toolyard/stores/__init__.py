"""What we keep: locked, atomic, versioned files."""
