"""Whatever servers offer, clients of both eras can read the lists; what fits is not touched."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp_types import _v2025_11_25 as legacy
from mcp_types import _v2026_07_28 as modern
from pydantic import BaseModel

from tests.examples import examples
from toolyard.core.model import Offer, Offers
from toolyard.core.shapes import KEYS, shaped, unfit

MODELS: dict[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "tools": (legacy.Tool, modern.Tool),
    "prompts": (legacy.Prompt, modern.Prompt),
    "resources": (legacy.Resource, modern.Resource),
    "templates": (legacy.ResourceTemplate, modern.ResourceTemplate),
}
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-2, 2)
    | st.text('a1 é"', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=5,
)
TEXT = st.text(max_size=8)
ICON = {"src": TEXT, "mimeType": TEXT, "sizes": st.lists(TEXT), "theme": st.just("dark")}
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(TEXT, st.fixed_dictionaries({"type": st.just("string")})),
        "required": st.lists(TEXT),
        "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
        "additionalProperties": st.booleans(),
    },
)
COMMON = {"title": TEXT, "description": TEXT, "_meta": st.dictionaries(TEXT, ANYTHING)}
RESOURCE = {
    **COMMON,
    "name": TEXT,
    "mimeType": TEXT,
    "size": st.integers(0),
    "annotations": {
        "audience": st.lists(st.sampled_from(["user", "assistant"])),
        "priority": st.floats(0, 1),
        "lastModified": st.just("2024-02-29T15:00:58Z"),
    },
}
GOOD: dict[str, dict[str, Any]] = {
    "tools": {
        **COMMON,
        "inputSchema": SCHEMAS,
        "outputSchema": SCHEMAS,
        "annotations": {"title": TEXT, **dict.fromkeys(HINTS, st.booleans())},
        "execution": {"taskSupport": st.sampled_from(["required", "optional", "forbidden"])},
    },
    "prompts": COMMON,
    "resources": RESOURCE,
    "templates": RESOURCE,
}
LISTS: dict[str, dict[str, tuple[dict[str, Any], str]]] = {
    "tools": {"icons": (ICON, "src")},
    "resources": {"icons": (ICON, "src")},
    "templates": {"icons": (ICON, "src")},
    "prompts": {
        "icons": (ICON, "src"),
        "arguments": ({"name": TEXT, "description": TEXT, "required": st.booleans()}, "name"),
    },
}


def members(shape: dict[str, Any], *needed: str, sloppy: bool) -> st.SearchStrategy[Any]:
    """Objects of a shape; sloppy ones may have anything anywhere, or miss what is needed."""
    values = {
        name: members(value, sloppy=sloppy) if isinstance(value, dict) else value
        for name, value in shape.items()
    }
    if sloppy:
        values = {name: value | ANYTHING for name, value in values.items()}
    must = {} if sloppy else {name: values.pop(name) for name in needed}
    return st.fixed_dictionaries(must, optional=values)


@st.composite
def offers(draw: st.DrawFn, *, sloppy: bool) -> tuple[str, Offer]:
    """A kind, and an offer of it."""
    kind = draw(st.sampled_from(list(GOOD)))
    needed = {"tools": ("inputSchema",), "prompts": ()}.get(kind, ("name",))
    fields = draw(members(GOOD[kind], *needed, sloppy=sloppy))
    for name, (shape, key) in LISTS[kind].items():
        items = st.lists(members(shape, key, sloppy=sloppy), max_size=2)
        if draw(st.booleans()):
            fields[name] = draw(items | ANYTHING if sloppy else items)
    fields |= {"x-other": draw(ANYTHING), KEYS[kind]: "a://b"}
    return kind, Offer("a://b", json.dumps(fields).encode())


def is_read(model: BaseModel) -> bool:
    """Whether a client that takes nothing for something else reads this: nulls are no values."""
    known = model.model_fields_set & type(model).model_fields.keys()
    values = [getattr(model, name) for name in known]
    inner = [v for value in values for v in (value if isinstance(value, list) else [value])]
    return None not in values and all(is_read(v) for v in inner if isinstance(v, BaseModel))


def check(kind: str, raw: bytes, era: int) -> None:
    """See that the official types read an offer."""
    assert is_read(MODELS[kind][era].model_validate_json(raw, strict=True)), raw


@pytest.mark.slow
@examples(300)
@example(("resources", Offer("a://b", b'{"size":0.0,"uri":"a://b","x-other":1}')))
@given(offers(sloppy=True))
def test_every_offer_is_made_to_fit_both_eras(offered: tuple[str, Offer]) -> None:
    kind, offer = offered
    shape = shaped(kind, offer, "c://d")
    for raw, era in ((shape.legacy, 0), (shape.modern, 1)):
        check(kind, raw, era)
        fields = json.loads(raw)
        assert fields[KEYS[kind]] == "c://d"
        assert fields["x-other"] == json.loads(offer.raw)["x-other"]


@pytest.mark.slow
@examples(300)
@given(offers(sloppy=False))
def test_an_offer_that_fits_stays_the_bytes_it_was(offered: tuple[str, Offer]) -> None:
    kind, offer = offered
    shape = shaped(kind, offer, offer.key)
    assert (shape.legacy, shape.modern, shape.wraps) == (offer.raw, offer.raw, False)


def tool(**fields: Any) -> Offer:
    """A tool with these members."""
    return Offer("t", json.dumps({"name": "t", **fields}).encode())


@pytest.mark.parametrize(
    ("said", "read_as"),
    [
        ({}, {"inputSchema": {"type": "object"}}),
        ({"inputSchema": {}}, {"inputSchema": {"type": "object"}}),
        ({"inputSchema": None}, {"inputSchema": {"type": "object"}}),
        (
            {"inputSchema": {"anyOf": [{"type": "object"}]}},
            {"inputSchema": {"anyOf": [{"type": "object"}], "type": "object"}},
        ),
        (
            {"inputSchema": {"type": ["object", "null"], "properties": {"a": True, "b": False}}},
            {
                "inputSchema": {
                    "type": "object",
                    "properties": {"a": {}, "b": {"not": {}}},
                }
            },
        ),
    ],
)
def test_arguments_are_always_an_object(said: dict[str, Any], read_as: dict[str, Any]) -> None:
    offer = tool(**said)
    assert json.loads(shaped("tools", offer, "t").legacy) == {"name": "t", **read_as}
    assert unfit(Offers(tools=(offer,))) == frozenset()


@pytest.mark.parametrize("type_", ["string", "array", ["array", "null"], 7])
def test_a_tool_whose_arguments_are_something_else_is_of_no_use(type_: Any) -> None:
    good, bad = tool(inputSchema={"type": "object"}), tool(inputSchema={"type": type_})
    assert unfit(Offers(tools=(good,))) == frozenset()
    assert unfit(Offers(tools=(bad,))) == {"t"}


def test_only_what_does_not_fit_is_left_out() -> None:
    offer = tool(
        inputSchema={"type": "object"},
        description=None,
        annotations={"readOnlyHint": "yes", "destructiveHint": True, "own": None},
        icons=[{"src": "a", "sizes": "48x48"}, {"sizes": []}, "b"],
        own=None,
    )
    assert json.loads(shaped("tools", offer, "t").legacy) == {
        "name": "t",
        "inputSchema": {"type": "object"},
        "annotations": {"destructiveHint": True, "own": None},
        "icons": [{"src": "a", "sizes": ["48x48"]}],
        "own": None,
    }


def test_a_resource_without_a_name_is_called_by_its_uri() -> None:
    offer = Offer("file:///x", b'{"uri":"file:///x","name":null,"mimeType":null}')
    raw = shaped("resources", offer, "file:///x").legacy
    assert json.loads(raw) == {"uri": "file:///x", "name": "file:///x"}


# What a tool returns.


def test_an_offer_under_another_name_takes_no_more_memory_than_its_bytes() -> None:
    text = json.dumps({"name": "a", "description": "x" * 1300, "inputSchema": {"type": "object"}})
    offer, count = Offer("a", text.encode()), 100

    tracemalloc.start()
    shapes = [shaped("tools", offer, f"server__a{number:03}") for number in range(count)]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert taken / count < len(shapes[0].modern) + 250


def test_only_legacy_clients_get_anything_in_an_object() -> None:
    output = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {"$ref": "#/$defs/node"},
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"$ref": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
                "default": {"$ref": "#/of/its/own"},
            }
        },
        "examples": [{"$ref": "#"}],
    }
    shape = shaped("tools", tool(inputSchema={"type": "object"}, outputSchema=output), "t")
    assert json.loads(shape.modern)["outputSchema"] == output
    assert shape.wraps
    node = {
        "type": "object",
        "properties": {
            "$ref": {"type": "string"},
            "next": {"$ref": "#/properties/result/$defs/node"},
        },
        "default": {"$ref": "#/of/its/own"},
    }
    assert json.loads(shape.legacy)["outputSchema"] == {
        "$schema": output["$schema"],
        "type": "object",
        "properties": {
            "result": {
                **output,
                "items": {"$ref": "#/properties/result/$defs/node"},
                "$defs": {"node": node},
            }
        },
        "required": ["result"],
    }


UNSOUND: list[Any] = [
    True,
    "x",
    {"type": "object", "properties": {"a": {"type": "strin"}}},
    {"type": "object", "properties": {"a": None}},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
    {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}},
    {"type": "object", "properties": {"a": {"pattern": "(?P<year>x)"}}},
    {"type": "object", "properties": {"a": {"pattern": "\\Z"}}},
    {"type": "object", "properties": {"a": {"pattern": "a)"}}},
    {"type": "object", "properties": {"a": {"pattern": "[z-a]"}}},
    {"type": "object", "properties": {"a": {"pattern": "a{12,2}"}}},
    {"type": "object", "properties": {"a": {"pattern": "(?=a)*"}}},
    {"type": "object", "properties": {"a": {"enum": []}}},
    {"type": "object", "patternProperties": {"(": {}}},
    {"type": "object", "id": "x"},
]


@pytest.mark.parametrize("output", UNSOUND, ids=str)
def test_an_output_schema_that_cannot_be_compiled_is_kept_from_legacy_clients(output: Any) -> None:
    offer = tool(inputSchema={"type": "object"}, outputSchema=output)
    assert "outputSchema" not in json.loads(shaped("tools", offer, "t").legacy)


SOUND: list[Any] = [
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/b~1c"}}, "$defs": {"b/c": True}},
    {"type": "object", "properties": {"a": {"$ref": "#"}}},
    {"type": "object", "properties": {"a": {"$ref": "#b"}}, "$defs": {"b": {"$anchor": "b"}}},
    {"type": "object", "properties": {"a": {"pattern": "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"}}},
    {"type": "object", "properties": {"a": {"pattern": "^(?:[A-Z]{2,}|[\\w,a-]{1,64})$"}}},
    {"type": "object", "properties": {"id": {"type": ["string", "null"], "format": "own"}}},
    {"type": "object", "dependencies": {"a": ["b"]}, "unknown": None},
    {"$id": "https://example.com/x", "type": "object", "additionalProperties": False},
]


@pytest.mark.parametrize("output", SOUND, ids=str)
def test_an_output_schema_that_can_be_compiled_is_not_touched(output: Any) -> None:
    offer = tool(inputSchema={"type": "object"}, outputSchema=output)
    assert shaped("tools", offer, "t").legacy == offer.raw
