"""The control API: the operations of all features over HTTP."""
