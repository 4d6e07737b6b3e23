"""An interceptor that lets every call pass."""

from __future__ import annotations

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"valid": True}}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
