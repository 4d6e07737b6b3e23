"""Secrets: where they are kept, how references to them are filled in, and how they stay hidden."""
