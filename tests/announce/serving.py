"""A small real server that announces itself: `serving.py FILE [how it ends]`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from toolyard.announce import announce


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def main() -> None:
    path, end = sys.argv[1], (sys.argv[2:] or ["stay"])[0]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if end == "graceful":
        signal.signal(signal.SIGTERM, lambda *_: say("ended", 7))
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    with announce("nabu", url=url, path=path, tools=["add"]) as announced:
        print(announced.wait(60), flush=True)
        if end == "fork":
            if (child := os.fork()) == 0:
                sys.exit()  # runs what the parent wanted done at its exit
            print(os.waitpid(child, 0)[1], flush=True)
        if end == "late":
            # As servers do: a handler of their own, set after the announcement began.
            def late(*_: object) -> None:
                say(str(servers(path)), 7)

            signal.signal(signal.SIGTERM, late)
            while signal.getsignal(signal.SIGTERM) is late:
                threading.Event().wait(0.01)
            print("covered", flush=True)
        if end == "raise":
            raise RuntimeError("on purpose")
        if end == "exit":
            sys.exit(3)
        sys.stdin.read()


def servers(path: str) -> list[str]:
    with open(path, "rb") as file:
        return list(json.load(file)["servers"])


def say(word: str, code: int) -> None:
    # By the descriptor: the signal may have come while something was printed.
    os.write(1, f"{word}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    main()
