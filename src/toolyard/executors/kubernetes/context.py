"""Finds a cluster as the user's own configuration names it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from toolyard.core.errors import StartError
from toolyard.executors.kubernetes.api import Api
from toolyard.executors.kubernetes.options import Options
from toolyard.installation import how_to_add

_INSIDE = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_inside() -> bool:
    """Return True if this process runs in a pod that may use the API of its cluster."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and (_INSIDE / "token").exists()


async def connect(name: str, context: str, options: Options) -> Api:
    """Connect to the cluster of a context.

    Raises:
        StartError: The library is missing, or there is no such context, or no configuration.
    """
    await _import(name)
    from kubernetes_asyncio.client import ApiClient, Configuration

    settings = Configuration()
    namespace = await _load(settings, name, context, options)
    settings.connection_pool_maxsize = 0  # no limit: every server has a stream of its own
    try:
        client = ApiClient(settings)
    except (OSError, ValueError) as error:
        raise StartError(
            f'executor "{name}" has certificates that cannot be used: {error}',
            "see the certificate-authority and client-certificate of its kubeconfig",
        ) from error

    async def renew() -> None:
        await _load(settings, name, context, options)

    return Api(client, name, options.namespace or namespace or "default", renew)


async def _import(name: str) -> None:
    try:
        # It takes a second or two, and the loop must go on meanwhile.
        await asyncio.to_thread(__import__, "kubernetes_asyncio")
    except ImportError as error:
        raise StartError(
            f'executor "{name}" needs the library kubernetes_asyncio, which is not installed',
            how_to_add("kubernetes"),
        ) from error


async def _load(settings: Any, name: str, context: str, options: Options) -> str:
    """Load the address and the credentials; return the namespace of the context."""
    from kubernetes_asyncio import config

    file = options.kubeconfig or os.environ.get("KUBECONFIG", "")
    if not (file or context) and is_inside():
        config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
        return (_INSIDE / "namespace").read_text(encoding="utf-8").strip()
    file = file or "~/.kube/config"
    if not any(Path(part).expanduser().is_file() for part in file.split(os.pathsep) if part):
        raise StartError(
            f'executor "{name}" finds no kubeconfig at {file}',
            'set the option "kubeconfig", or log in to a cluster with its own tool',
        )
    return await _load_file(settings, name, context, file)


async def _load_file(settings: Any, name: str, context: str, file: str) -> str:
    from kubernetes_asyncio import config

    try:
        loader = await config.load_kube_config(
            file, context or None, client_configuration=settings, persist_config=False
        )
        chosen = (loader.current_context or {})["context"]
        return str(chosen["namespace"]) if "namespace" in chosen else ""
    except (
        Exception
    ) as error:  # the library lets through whatever a broken file makes it stumble on
        which = f'the context "{context}" of {file}' if context else file
        why = " ".join(str(error).split())
        names = await asyncio.to_thread(_contexts, file)
        raise StartError(
            f'executor "{name}" cannot use {which}: {why}',
            f"its contexts are: {', '.join(names)}" if names else "see: kubectl config view",
        ) from error


def _contexts(file: str) -> list[str]:
    from kubernetes_asyncio import config

    try:
        contexts, _ = config.list_kube_config_contexts(file)
        return [str(context["name"]) for context in contexts]
    except Exception:  # as above
        return []
