"""Servers as processes on this machine."""

from toolyard.executors.local.executor import Limits, Local, LocalPatience

__all__ = ["Limits", "Local", "LocalPatience"]
