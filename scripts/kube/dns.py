"""The DNS of a cluster that scripts/kube/up.sh started: names of Services, asked of the API server.

    python3 dns.py ADDRESS STATE_DIRECTORY

A Service without an address of its own has those of its pods. Every other name is unknown.
"""

from __future__ import annotations

import contextlib
import json
import socketserver
import ssl
import struct
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

DOMAIN = ["svc", "cluster", "local"]
FOUND, UNKNOWN = 0x8580, 0x8583
A, IN = 1, 1
SECONDS = 1


class Api:
    """The API server."""

    def __init__(self, state: Path, server: str) -> None:
        self._server = server
        self._token = (state / "tokens.csv").read_text().partition(",")[0]
        self._tls = ssl.create_default_context(cafile=str(state / "certs" / "apiserver.crt"))

    def get(self, namespace: str, kind: str, name: str) -> Any:
        """Return an object; raises HTTPError if there is none."""
        url = f"{self._server}/api/v1/namespaces/{namespace}/{kind}/{name}"
        head = {"Authorization": f"Bearer {self._token}"}
        request = urllib.request.Request(url, headers=head)
        with urllib.request.urlopen(request, timeout=5, context=self._tls) as answer:
            return json.load(answer)

    def addresses(self, namespace: str, name: str) -> list[str]:
        """Return the addresses of a Service."""
        address = self.get(namespace, "services", name)["spec"].get("clusterIP", "None")
        if address != "None":
            return [address]
        subsets = self.get(namespace, "endpoints", name).get("subsets") or []
        return [one["ip"] for subset in subsets for one in subset.get("addresses") or []]


class Question(socketserver.BaseRequestHandler):
    """One question, over UDP."""

    api: Api

    def handle(self) -> None:
        """Answer it."""
        data, socket = self.request
        labels, end = read_name(data)
        (kind,) = struct.unpack_from(">H", data, end)
        flags, addresses = UNKNOWN, []
        if len(labels) == 5 and labels[2:] == DOMAIN:
            with contextlib.suppress(urllib.error.HTTPError):
                addresses, flags = self.api.addresses(labels[1], labels[0]), FOUND
        if kind != A:
            addresses = []
        head = data[:2] + struct.pack(">HHHHH", flags, 1, len(addresses), 0, 0)
        rows = [
            struct.pack(">HHHLH", 0xC00C, A, IN, SECONDS, 4) + bytes(map(int, one.split(".")))
            for one in addresses
        ]
        socket.sendto(head + data[12 : end + 4] + b"".join(rows), self.client_address)


def read_name(data: bytes) -> tuple[list[str], int]:
    """Return the labels of the first name in a message, and where it ends."""
    labels, at = [], 12
    while data[at]:
        labels.append(data[at + 1 : at + 1 + data[at]].decode("ascii", "replace").lower())
        at += 1 + data[at]
    return labels, at + 1


def main(address: str, state: str) -> None:
    """Answer until killed."""
    Question.api = Api(Path(state), f"https://{address}:16443")
    with socketserver.ThreadingUDPServer((address, 53), Question) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
