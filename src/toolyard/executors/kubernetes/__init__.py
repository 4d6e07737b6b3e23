"""Servers as pods of a cluster, and manifests for those that run beside an agent."""

from toolyard.executors.kubernetes.executor import Kubernetes

__all__ = ["Kubernetes"]
