"""`server probe`, against a hub and a server that are real."""

from __future__ import annotations

import json

from tests.e2e.hub import new_home, running_hub
from tests.features.approvals.yard import command
from tests.features.sharing.test_probing import notes


def test_a_server_is_probed_and_the_verdict_explained() -> None:
    with new_home() as home, running_hub({"notes": notes("own")}, home=home):
        careful = command(home, "server", "probe", "notes")
        assert careful.returncode == 0, careful.stderr
        assert careful.stdout.startswith("unknown: ") and "were not called: add" in careful.stdout

        call = 'add={"text": "a trial"}'
        bold = command(home, "server", "probe", "notes", "--call", call, "--json")
        assert json.loads(bold.stdout)["verdict"] == "shareable", bold.stderr


def test_calls_that_cannot_be_read_are_refused_before_anything_is_started() -> None:
    with new_home() as home:
        for call, why in (("add={", "are not JSON"), ("add=[]", "with an object")):
            refused = command(home, "server", "probe", "notes", "--call", call)
            assert refused.returncode == 2 and why in refused.stderr
