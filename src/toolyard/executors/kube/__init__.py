"""What the kubernetes executor is made of: its options, the API, what is watched, the streams."""
