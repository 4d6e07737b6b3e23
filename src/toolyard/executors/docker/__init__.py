"""Servers in containers of a docker daemon, on this machine or another."""

from toolyard.executors.docker.executor import Docker

__all__ = ["Docker"]
