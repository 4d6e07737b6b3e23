"""The addresses of resources: whose they are, and that they lead there and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.hub import new_home, running_hub, scripted, stdio_stub
from tests.e2e.talk import Json, talking

# Templates of strangers.


def templates(home: Path, name: str, *texts: str) -> dict[str, Any]:
    """A server with these templates."""
    listed = [{"uriTemplate": text, "name": f"t{n}"} for n, text in enumerate(texts)]
    replies = {
        "resources/list": '{"resources":[]}',
        "resources/templates/list": json.dumps({"resourceTemplates": listed}),
    }
    return scripted(home, name, replies, resources={})


async def test_a_template_cannot_keep_the_hub_busy() -> None:
    wild = ["mem://" + part * 24 + "X" for part in ("{+a}", "{a}", "{+a}a", "{a*}{b}")]
    with new_home() as home:
        servers = {"bad": templates(home, "bad", *wild), "good": stdio_stub("good", home)}
        with running_hub(servers, home=home) as hub:
            async with talking(hub) as client:
                asked: Json = {"uri": "mem://" + "a" * 1000}
                assert "unknown" in (await client.fault("resources/read", asked))["message"]
                assert hub.get("/health/live")[0] == 200
