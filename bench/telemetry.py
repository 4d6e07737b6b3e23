"""The cost of a call whose traces and metrics are exported, beside one whose are not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from identity import measure
from processes import door_opens, http_upstreams, hub, in_turn, tools_arrive
from table import Row

SHARE = "0.05"
"""The share of traces that a busy hub keeps."""
SAMPLED = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": SHARE}


async def traced_or_not(rounds: int, seconds: float) -> list[Row]:
    """Two rows: hubs that export every trace, and a share of them, beside one that exports none."""
    with (
        collecting() as url,
        http_upstreams(1, 0) as urls,
        hub(urls, [], settings={"OTEL_EXPORTER_OTLP_ENDPOINT": url}) as every,
        hub(urls, [], settings={"OTEL_EXPORTER_OTLP_ENDPOINT": url, **SAMPLED}) as some,
        hub(urls, []) as none,
    ):
        hubs = {"echo, all traces": every, f"echo, {SHARE} of traces": some, "": none}
        for running in hubs.values():
            await door_opens(running)
            await tools_arrive(running, 3)
        costs: dict[str, list[float]] = {name: [] for name in hubs}
        for number in range(rounds):
            for name, running in in_turn(list(hubs.items()), number):
                costs[name].append(await measure(running, running.target, seconds))
    off = costs.pop("")
    rows = []
    for name, values in costs.items():
        row = Row(name, "CPU us/call")
        row.compare(values, off)
        rows.append(row)
    return rows


@contextmanager
def collecting() -> Iterator[str]:
    """A collector that takes everything and reads nothing; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
