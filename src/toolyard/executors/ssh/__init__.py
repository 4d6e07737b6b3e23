"""Servers on remote hosts over ssh."""

from toolyard.executors.ssh.executor import Ssh

__all__ = ["Ssh"]
