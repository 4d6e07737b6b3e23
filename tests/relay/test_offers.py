"""The tools of the hub itself are described by the features whose operations ask the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Meta, Struct

from toolyard.features import FEATURES
from toolyard.relay.offers import LIFE, LOOKS, OF_OPERATIONS, OwnTool, own_offers


class Ask(Struct):
    word: str
    most: int = 0
    hidden: str = ""


def offered(**arguments: Meta) -> Any:
    tool = OwnTool("yard_ask", "Ask", "Asks.", LOOKS, arguments)
    return json.loads(tool.offer(Ask).raw)


def test_the_fields_of_an_order_say_what_a_tool_takes_and_needs() -> None:
    tool = offered(word=Meta(description="A word."), most=Meta(ge=1))

    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {
            "word": {"type": "string", "description": "A word."},
            "most": {"type": "integer", "minimum": 1},
        },
        "additionalProperties": False,
        "required": ["word"],
    }


def test_a_tool_cannot_take_what_its_order_has_not() -> None:
    with pytest.raises(KeyError, match="nothing"):
        offered(nothing=Meta(description="Nothing."))


def test_every_tool_that_is_an_operation_s_is_described_by_one_feature() -> None:
    tools = [tool.key for feature in FEATURES for tool in feature.load_tools()]

    assert sorted(tools) == sorted(OF_OPERATIONS)


def test_the_tools_are_listed_in_one_order_whichever_feature_comes_first() -> None:
    tools = [OwnTool(name, "", "", LOOKS).offer(Ask) for name in reversed(OF_OPERATIONS)]

    assert [offer.key for offer in own_offers(tools)["tools"]] == [
        *OF_OPERATIONS,
        *(offer.key for offer in LIFE),
    ]
