from __future__ import annotations

import io
import json

import pytest

from tests.cli.conftest import Toolyard
from tests.cli.stand_in import SERVER, TOOL, StandIn
from toolyard.console.exits import Exit


def names(hub: StandIn) -> list[str]:
    return [tool["name"] for tool in hub.tools]


def called(hub: StandIn) -> object:
    return next(body for path, body in hub.asked if path == "/api/v1/call")


def test_tools_are_listed_with_the_first_line_of_what_they_do(
    toolyard: Toolyard, hub: StandIn
) -> None:
    done = toolyard("tools")

    assert done.code == Exit.OK
    assert done.out.splitlines()[1].split(None, 2) == ["files__read", "files", "Read a file."]


def test_words_server_and_limit_are_asked_for(toolyard: Toolyard, hub: StandIn) -> None:
    toolyard("tools", "read", "a file", "--server", "files", "--limit", "5")

    assert hub.asked[-1] == ("/api/v1/tools?query=read+a+file&server=files&limit=5", None)


def test_a_full_name_shows_the_tool_and_how_to_call_it(toolyard: Toolyard, hub: StandIn) -> None:
    properties = {
        "path": {"type": "string", "description": "Where it is."},
        "lines": {"type": "integer", "default": 10},
    }
    schema = {"type": "object", "properties": properties, "required": ["path"]}
    hub.tools = [{**TOOL, "inputSchema": schema}, {**TOOL, "name": "docs__read", "server": "docs"}]

    done = toolyard("tools", "files__read")

    assert (done.code, done.err) == (Exit.OK, "")
    assert done.out.splitlines() == [
        "files__read",
        "Read a file.",
        "All of it.",
        "",
        "PARAMETER  TYPE     REQUIRED  DEFAULT  DESCRIPTION",
        "path       string   yes                Where it is.",
        "lines      integer  no        10",
        "",
        "Call it: toolyard call files__read path=TEXT [lines=NUMBER]",
    ]


def test_a_name_that_only_one_tool_has_shows_it(toolyard: Toolyard, hub: StandIn) -> None:
    assert "Call it: toolyard call files__read" in toolyard("tools", "read").out


def test_a_name_that_several_tools_have_is_searched_for(toolyard: Toolyard, hub: StandIn) -> None:
    hub.tools = [TOOL, {**TOOL, "name": "docs__read", "server": "docs"}]

    done = toolyard("tools", "read")

    assert [line.split()[0] for line in done.out.splitlines()] == ["TOOL", *names(hub)]
    assert hub.asked[-1] == ("/api/v1/tools?query=read", None)


def test_a_tool_without_parameters_says_so(toolyard: Toolyard, hub: StandIn) -> None:
    hub.tools = [{"name": "clock__now", "server": "clock", "tool": "now"}]

    assert toolyard("tools", "now").out.splitlines() == [
        "clock__now",
        "",
        "It takes no parameters.",
        "",
        "Call it: toolyard call clock__now",
    ]


def test_one_tool_as_json_is_a_list_of_one(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("tools", "files__read", "--json").json == {"tools": [TOOL], "total": 1}


def test_tools_as_json_have_their_schemas(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("tools", "--json").json == {"tools": [TOOL], "total": 1}


def test_a_call_types_its_arguments_by_the_schema(toolyard: Toolyard, hub: StandIn) -> None:
    done = toolyard("call", "files", "read", "path=7", "lines=7")

    assert (done.code, done.out) == (Exit.OK, "hello\n")
    assert called(hub) == {
        "server": "files",
        "tool": "read",
        "arguments": {"path": "7", "lines": 7},
    }


def test_a_call_takes_the_full_name_of_a_tool(toolyard: Toolyard, hub: StandIn) -> None:
    done = toolyard("call", "files__read", "lines=7")

    assert (done.code, done.out) == (Exit.OK, "hello\n")
    assert called(hub) == {"server": "files", "tool": "read", "arguments": {"lines": 7}}


def test_a_call_without_arguments_needs_none(toolyard: Toolyard, hub: StandIn) -> None:
    assert toolyard("call", "files__read").out == "hello\n"
    assert called(hub) == {"server": "files", "tool": "read"}


def test_a_name_that_several_tools_have_calls_none(toolyard: Toolyard, hub: StandIn) -> None:
    hub.tools = [TOOL, {**TOOL, "name": "docs__read", "server": "docs"}]

    done = toolyard("call", "read", "lines=7")

    assert done.code == Exit.NOT_FOUND
    assert done.err.splitlines() == [
        "toolyard: 2 tools are called 'read'",
        "hint: name one of them: files__read, docs__read",
    ]


def test_an_unknown_full_name_gets_the_closest_named(toolyard: Toolyard, hub: StandIn) -> None:
    done = toolyard("call", "files__raed")

    assert done.code == Exit.NOT_FOUND
    assert done.err == "toolyard: there is no tool 'files__raed'\nhint: did you mean files__read?\n"


@pytest.mark.parametrize("name", ["files__read", "read"])
def test_a_word_that_is_no_argument_is_told_apart_from_a_tool(
    name: str, toolyard: Toolyard, hub: StandIn
) -> None:
    done = toolyard("call", name, "my notes.txt")

    assert done.code == Exit.USAGE
    assert done.err.splitlines() == [
        "toolyard: 'my notes.txt' is no argument; arguments are name=value",
        "hint: run: toolyard call files__read 'path=my notes.txt'",
    ]


def test_a_word_for_a_tool_without_parameters_is_too_many(toolyard: Toolyard, hub: StandIn) -> None:
    hub.tools = [{"name": "clock__now", "server": "clock", "tool": "now"}]

    done = toolyard("call", "clock__now", "please")

    assert done.code == Exit.USAGE
    assert done.err.splitlines()[1] == "hint: 'clock__now' takes no arguments"


def test_a_saved_input_goes_with_the_call(toolyard: Toolyard, hub: StandIn) -> None:
    toolyard("call", "files__read", "--input", "usual")

    assert called(hub) == {"server": "files", "tool": "read", "input": "usual"}


def test_a_call_takes_its_arguments_as_json(
    toolyard: Toolyard, hub: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolyard("call", "files", "read", "--arguments", '{"path": "a"}')
    assert called(hub) == {"server": "files", "tool": "read", "arguments": {"path": "a"}}

    hub.asked.clear()
    monkeypatch.setattr("sys.stdin", io.StringIO('{"path": "b"}'))
    toolyard("call", "files", "read", "--arguments", "-")
    assert called(hub) == {"server": "files", "tool": "read", "arguments": {"path": "b"}}


def test_the_whole_answer_is_given_as_json_if_asked(toolyard: Toolyard, hub: StandIn) -> None:
    hub.result = {"content": [], "structuredContent": {"a": 1}, "_meta": {"b": 2}}

    assert toolyard("--json", "call", "files", "read").json == hub.result
    assert toolyard("call", "files", "read", "--json").json == hub.result
    assert json.loads(toolyard("call", "files", "read").out) == {"a": 1}


def test_what_is_no_text_is_described(toolyard: Toolyard, hub: StandIn) -> None:
    hub.result = {
        "content": [
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///a"},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "inside"}},
            {"type": "hologram"},
        ]
    }

    assert toolyard("call", "files", "read").out.splitlines() == [
        "[image image/png, about 3 bytes]",
        "[resource file:///a]",
        "inside",
        "[hologram]",
    ]


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_an_error_of_a_tool_has_a_code_of_its_own(
    words: tuple[str, ...], toolyard: Toolyard, hub: StandIn
) -> None:
    hub.result = {"content": [{"type": "text", "text": "disk full"}], "isError": True}

    done = toolyard(*words, "call", "files", "read")

    assert done.code == Exit.REFUSED
    assert "disk full" in done.out
    assert ("answered with an error" in done.err) == (not words)


def test_an_unknown_tool_gets_the_closest_named(toolyard: Toolyard, hub: StandIn) -> None:
    done = toolyard("call", "files", "raed")

    assert done.code == Exit.NOT_FOUND
    assert done.err == ("toolyard: server 'files' has no tool 'raed'\nhint: did you mean read?\n")


def test_an_unknown_server_is_what_the_hub_says(toolyard: Toolyard, hub: StandIn) -> None:
    hub.refuse = (404, {"title": "unknown server 'flies'", "hint": "there are: files"})

    done = toolyard("--json", "call", "flies", "read")

    assert done.code == Exit.NOT_FOUND
    assert done.json == {
        "error": {
            "code": "not-found",
            "text": "unknown server 'flies'",
            "hint": "there are: files",
        }
    }


def test_a_server_that_has_not_said_what_it_offers_is_asked_all_the_same(
    toolyard: Toolyard, hub: StandIn
) -> None:
    hub.tools = []

    assert toolyard("call", "files", "read", "lines=7").code == Exit.OK
    assert called(hub) == {"server": "files", "tool": "read", "arguments": {"lines": 7}}


def test_an_argument_of_the_wrong_type_is_not_sent(toolyard: Toolyard, hub: StandIn) -> None:
    done = toolyard("call", "files", "read", "lines=many")

    assert done.code == Exit.USAGE
    assert "'lines' must be of type integer" in done.err
    assert [path for path, _ in hub.asked if "call" in path] == []


def test_servers_of_a_young_hub_get_time_to_say_what_they_offer(
    toolyard: Toolyard, hub: StandIn
) -> None:
    hub.status["uptime_s"] = 0.1
    waiting = [{**SERVER, "status": "starting"}]
    ready, hub.status["servers"] = hub.status["servers"], waiting
    hub.tools, offered = [], hub.tools

    def settle() -> None:
        hub.status["servers"], hub.tools = ready, offered

    hub.after(3, settle)

    assert "files__read" in toolyard("tools").out
