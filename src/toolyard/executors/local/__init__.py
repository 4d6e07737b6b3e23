"""Servers as processes on this machine."""

from toolyard.executors.local.executor import Limits, Local, Patience

__all__ = ["Limits", "Local", "Patience"]
