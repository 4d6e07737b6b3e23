from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from toolyard.core.model import Command, Url
from toolyard.features.catalog.model import Definition, DefinitionError
from toolyard.features.catalog.reading import read_definition
from toolyard.features.catalog.server_json import to_server


def read(**fields: Any) -> Definition:
    server = {"name": "io.github.someone/weather", "description": "Weather.", "version": "1.0.2"}
    return read_definition(json.dumps(server | fields).encode())


def test_an_npm_package_with_inputs_becomes_a_command_with_references() -> None:
    definition = read(
        title="Weather",
        repository={"url": "https://github.com/someone/weather", "source": "github"},
        websiteUrl="https://example.com",
        packages=[
            {
                "registryType": "npm",
                "identifier": "@someone/weather",
                "version": "1.0.2",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "valueHint": "city name", "isRequired": True},
                    {"type": "named", "name": "--units", "default": "metric"},
                    {"type": "named", "name": "--quiet", "description": "optional, so not there"},
                    {
                        "type": "named",
                        "name": "--at",
                        "value": "{place}:${x}:{unknown}",
                        "variables": {"place": {"isRequired": True}},
                    },
                ],
                "environmentVariables": [
                    {"name": "WEATHER_KEY", "isRequired": True, "isSecret": True},
                    {"name": "LOG", "value": "no"},
                    {"name": "EXTRA"},
                ],
            }
        ],
    )

    assert (definition.name, definition.full_name) == ("weather", "io.github.someone/weather")
    assert definition.endpoint == Command(
        (
            *("npx", "-y", "@someone/weather@1.0.2", "${CITY_NAME}", "--units"),
            *("${UNITS:-metric}", "--at", "${PLACE}:$${x}:{unknown}"),
        ),
        (("WEATHER_KEY", "${WEATHER_KEY}"), ("LOG", "no")),
    )
    assert definition.authorization.kind == "api_key"
    needed = [each.name for each in definition.authorization.variables if each.required]
    assert sorted(needed) == ["CITY_NAME", "PLACE", "WEATHER_KEY"]
    assert dict(definition.links)["homepage"] == "https://example.com"


@pytest.mark.parametrize(
    ("package", "argv"),
    [
        ({"registryType": "pypi", "identifier": "w", "version": "2"}, ("uvx", "w@2")),
        ({"registry_type": "pypi", "identifier": "w", "version": "2"}, ("uvx", "w@2")),
        ({"registry_name": "npm", "name": "w", "version": "2"}, ("npx", "-y", "w@2")),
        ({"registryType": "cargo", "identifier": "w"}, ("w",)),
        ({"registryType": "nuget", "identifier": "W", "version": "2"}, ("dnx", "W@2", "--yes")),
        (
            {
                "registryType": "oci",
                "identifier": "docker.io/a/w:2",
                "version": "2",
                "environmentVariables": [{"name": "KEY", "isRequired": True}],
            },
            ("docker", "run", "-i", "--rm", "-e", "KEY", "docker.io/a/w:2"),
        ),
        (
            {
                "registryType": "npm",
                "identifier": "w",
                "runtime_hint": "bunx",
                "runtime_arguments": [{"type": "named", "name": "--silent", "value": "1"}],
            },
            ("bunx", "--silent", "1", "w"),
        ),
    ],
)
def test_every_kind_of_package_has_its_runner(package: Any, argv: tuple[str, ...]) -> None:
    endpoint = read(packages=[package]).endpoint

    assert isinstance(endpoint, Command)
    assert endpoint.argv == argv


def test_a_remote_becomes_an_address() -> None:
    remote = {
        "type": "streamable-http",
        "url": "https://{tenant}.example.com/mcp",
        "variables": {"tenant": {"default": "eu"}},
        "headers": [
            {
                "name": "Authorization",
                "value": "Bearer {token}",
                "variables": {"token": {"isRequired": True, "isSecret": True}},
            }
        ],
    }

    assert read(remotes=[remote]).endpoint == Url(
        "https://${TENANT:-eu}.example.com/mcp", "http", (("Authorization", "Bearer ${TOKEN}"),)
    )


def test_a_package_that_we_cannot_run_gives_way_to_a_remote() -> None:
    packages = [
        {
            "registryType": "mcpb",
            "identifier": "https://example.com/w.mcpb",
            "fileSha256": "0" * 64,
        },
        {"registryType": "npm", "identifier": "w", "transport": {"type": "sse", "url": "http://x"}},
    ]

    assert read(packages=packages, remotes=[{"type": "sse", "url": "https://a/sse"}]).endpoint == (
        Url("https://a/sse", "sse")
    )
    with pytest.raises(DefinitionError, match="'mcpb' are not fetched"):
        read(packages=packages)


@pytest.mark.parametrize("identifier", ["--eval=1", "-c", "a b", "", "a;b", "$(x)"])
def test_a_package_that_would_be_read_as_a_flag_is_refused(identifier: str) -> None:
    with pytest.raises(DefinitionError, match="cannot name a package"):
        read(packages=[{"registryType": "npm", "identifier": identifier}])


def test_a_definition_is_written_as_a_server_json_without_values() -> None:
    definition = read_definition(
        json.dumps(
            {
                "name": "thing",
                "version": "1.0.0",
                "description": "x" * 150,
                "links": {"repository": "https://github.com/a/b"},
                "package": {"type": "npm", "name": "thing", "version": "1.0.0"},
                "runtime": {"command": "npx", "args": ["-y", "thing"], "env": {"K": "secret"}},
            }
        ).encode()
    )

    server = msgspec.to_builtins(to_server(definition))

    assert server["name"] == "local.toolyard/thing"
    assert len(server["description"]) == 100
    assert server["packages"][0]["environmentVariables"] == [
        {"name": "K", "isRequired": False, "isSecret": False}
    ]
    assert "secret" not in json.dumps(server)
    again = read_definition(json.dumps(server).encode())
    assert isinstance(again.endpoint, Command)
    assert again.endpoint.argv == ("npx", "-y", "thing@1.0.0")
