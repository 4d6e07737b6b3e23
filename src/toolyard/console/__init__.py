"""The console: the terminal, the exit codes, and the way to the hub that all commands share."""
