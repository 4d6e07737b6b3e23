"""What we keep: one protocol, its engines, and one follower of what they keep."""
