"""Records: the protocol by which everything is kept, its engines, and the one follower."""
