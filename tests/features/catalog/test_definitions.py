from __future__ import annotations

import json
from typing import Any

import pytest

from toolyard.core.errors import ConfigError
from toolyard.core.model import Command, Url
from toolyard.features.catalog.advice import advise
from toolyard.features.catalog.model import Definition, DefinitionError, check_name
from toolyard.features.catalog.reading import read_definition

RUNTIME = {"command": "npx", "args": ["-y", "thing"]}


def read(**fields: Any) -> Definition:
    return read_definition(json.dumps({"name": "thing", "runtime": RUNTIME} | fields).encode())


def trouble(**fields: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read(**fields)
    return str(caught.value)


def test_all_fields_are_read() -> None:
    definition = read(
        version="1.2.3",
        title="Thing",
        description="Does things.",
        category="utility",
        tags=["a", "b"],
        icon="x.svg",
        links={"homepage": "https://example.com"},
        repository="https://github.com/a/b",
        authorization={
            "type": "api_key",
            "url": "https://example.com/key",
            "variables": [{"name": "KEY", "required": True, "secret": True}],
        },
        package={"type": "npm", "name": "thing", "version": "1.2.3"},
        runtime=RUNTIME | {"env": {"A": "b"}, "cwd": "/tmp", "timeout": 30000},
    )

    assert definition.endpoint == Command(("npx", "-y", "thing"), (("A", "b"),), "/tmp")
    assert definition.timeout == 30
    assert dict(definition.links) == {
        "homepage": "https://example.com",
        "repository": "https://github.com/a/b",
    }
    assert definition.authorization.kind == "api_key"
    assert [each.name for each in definition.authorization.variables] == ["KEY"]
    assert definition.package is not None
    assert definition.package.kind == "npm"
    assert definition.offers() is None
    assert list(advise(definition)) == []


@pytest.mark.parametrize(
    ("runtime", "endpoint"),
    [
        ({"transport": "stdio", "command": "a"}, Command(("a",))),
        ({"transport": "http", "url": "https://a/b"}, Url("https://a/b")),
        ({"transport": "streamable-http", "url": "https://a/b"}, Url("https://a/b")),
        ({"transport": "sse", "url": "https://a/b"}, Url("https://a/b", "sse")),
        ({"transport": "remote", "url": "https://a/b", "command": "a"}, Url("https://a/b")),
        ({"type": "local", "url": "https://a/b", "command": "a"}, Command(("a",))),
        ({"url": "https://a", "headers": {"X": "1"}}, Url("https://a", "http", (("X", "1"),))),
    ],
)
def test_every_transport_is_understood(runtime: Any, endpoint: Any) -> None:
    assert read(runtime=runtime).endpoint == endpoint


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "a/../../b",
        "..",
        ".",
        "",
        ".hidden",
        "a\\b",
        "a\0b",
        "x" * 65,
        "nul",
        "COM1.x",
        "-x",
    ],
)
def test_a_name_that_is_no_name_of_a_file_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError, match="cannot name a server"):
        check_name(name)
    assert "name" in trouble(name=name)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"runtime": None}, "does not say how the server is started"),
        ({"runtime": {}}, "neither 'command' nor 'url'"),
        ({"runtime": {"command": ""}}, "neither 'command' nor 'url'"),
        ({"runtime": {"transport": "stdio"}}, "needs a 'command'"),
        ({"runtime": {"transport": "sse"}}, "needs a 'url'"),
        ({"runtime": {"transport": "carrier pigeon"}}, "is unknown"),
        ({"runtime": {"url": "ftp://a"}}, "not an http address"),
        ({"runtime": {"url": "http://a", "headers": {"a b": "1"}}}, "the header 'a b'"),
        ({"runtime": {"url": "http://a", "headers": {"a": "1\r\nb: 2"}}}, "the header 'a'"),
        ({"runtime": {"command": "a", "env": {"A=B": "1"}}}, "cannot name a variable"),
        ({"runtime": {"command": "a\0b"}}, "NUL"),
        ({"runtime": {"command": "a", "timeout": -1}}, "not a number above 0"),
        ({"runtime": []}, "'runtime' is not an object"),
        ({"tools": {}}, "'tools' is not a list"),
        ({"tags": "a"}, "'tags' is not a list"),
        ({"title": ["a"]}, "'title' is not text"),
        ({"authorization": {"type": "magic"}}, "'magic' is unknown"),
        ({"authorization": {"env_var": "A B"}}, "cannot name a variable"),
        ({"package": {"type": "floppy"}}, "'floppy' are unknown"),
        ({"package": {"type": "binary", "sha256": "abc"}}, "is no SHA-256"),
        ({"description": "x" * 5_000_000}, "'description' has 5000000 characters"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(fields: Any, sentence: str) -> None:
    assert sentence in trouble(**fields)


def test_tools_are_kept_to_the_letter() -> None:
    tool = b'{"name":"t","x":1E400,"y":1.0,"z":12345678901234567890123,"u":"\\u00e9","name":"t"}'
    text = b'{"name":"thing","runtime":{"command":"a"},"tools":[' + tool + b"]}"

    offers = read_definition(text).offers()

    assert offers is not None
    assert [each.raw for each in offers.tools] == [tool]


def test_a_tool_on_several_lines_is_put_on_one_and_else_left_alone() -> None:
    text = b'{"name":"thing","runtime":{"command":"a"},"tools":[{\n "name": "t",\r\n "x": 1.0}]}'

    offers = read_definition(text).offers()

    assert offers is not None
    assert [each.raw for each in offers.tools] == [b'{"name":"t","x":1.0}']


def test_tools_that_cannot_be_used_are_left_out_and_named() -> None:
    loop = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    tree = {"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}}
    deep: Any = {"$ref": "#"}
    for _ in range(200):
        deep = {"not": deep}
    definition = read(
        tools=[
            {"name": "good", "inputSchema": tree | {"$ref": "#/$defs/n"}},
            {"name": "good"},
            {"name": "loop", "inputSchema": loop | {"$ref": "#/$defs/a"}},
            {"name": "self", "inputSchema": {"$ref": "#"}},
            {"name": "deep", "inputSchema": deep},
            {"name": "huge", "description": "x" * 5_000_000},
            {"title": "nameless"},
            7,
        ]
    )

    offers = definition.offers()
    assert offers is not None
    assert [each.key for each in offers.tools] == ["good"]
    said = "\n".join(definition.notes)
    for words in ("is there twice", "leads back to itself", "nested deeper", "bytes", "no name"):
        assert words in said
    assert len(definition.notes) == 7


def test_a_file_of_an_older_catalog_loads_as_it_is() -> None:
    definition = read_definition(
        json.dumps(
            {
                "$schema": "../../schemas/x.json",
                "name": "search",
                "version": "1.0.0",
                "source": "official",
                "icon_background": {"light": "#fff"},
                "homepage": "https://example.com",
                "documentation": "https://example.com/docs",
                "authorization": {
                    "type": "bearer_token",
                    "required": True,
                    "env_var": "SEARCH_KEY",
                    "display_name": "Search key",
                    "help_url": "https://example.com/key",
                    "validation": {"pattern": "^k"},
                },
                "tools": [{"name": "web_search", "inputSchema": {"type": "object"}}],
                "package": {"type": "docker", "image": "example/search", "version": "^1.0.0"},
                "runtime": {
                    "transport": "stdio",
                    "command": "npx",
                    "args": ["-y", "search"],
                    "cwd": None,
                    "timeout": 60000,
                    "healthCheck": {"enabled": True, "interval": 5},
                },
                "metadata": {"author": "x", "verified_at": "2026-01-23T10:00:00Z"},
            }
        ).encode()
    )

    assert definition.authorization.kind == "bearer"
    (variable,) = definition.authorization.variables
    assert (variable.name, variable.required, variable.secret) == ("SEARCH_KEY", True, True)
    assert variable.url == "https://example.com/key"
    assert definition.package is not None
    assert (definition.package.kind, definition.package.name) == ("oci", "example/search")
    assert definition.timeout == 60
    assert definition.verification is not None
    assert definition.verification.verified_at == "2026-01-23T10:00:00Z"
    assert definition.verification.peer() is None


def test_advice_is_given_and_never_in_the_way() -> None:
    definition = read(name="Thing_1", version="latest", category="magic", description="short")

    said = "\n".join(advise(definition))

    for words in ("lower case", "not like 1.2.3", "category", "no title", "10 to 200", "no link"):
        assert words in said
