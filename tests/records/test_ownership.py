"""A file that decides what is run is refused if anybody else can change it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolyard.core.errors import ConfigError
from toolyard.features.servers.store import ServersFile
from toolyard.records.ownership import refuse_shared

STRANGER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def file(home: Path) -> Path:
    """A file in a folder of its own."""
    folder = home / "folder"
    folder.mkdir(mode=0o700)
    path = folder / "servers.json"
    path.write_text('{"mcpServers": {"a": {"command": "run"}}}')
    path.chmod(0o600)
    return path


def refused(path: Path) -> str:
    """Why it is not used; empty if it is."""
    try:
        refuse_shared(str(path))
    except ConfigError as error:
        assert error.hint
        return str(error)
    return ""


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o400])
def test_what_others_may_only_read_is_used(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert refused(file) == ""


def test_a_file_that_all_may_change_is_refused(file: Path) -> None:
    file.chmod(0o646)
    assert "it can be changed by others" in refused(file)


def test_a_folder_that_all_may_change_is_refused_unless_it_is_sticky(file: Path) -> None:
    file.parent.chmod(0o777)
    assert f"'{file.parent}' can be changed by others" in refused(file)
    file.parent.chmod(0o1777)
    assert refused(file) == ""
    file.parent.chmod(0o700)
    file.parents[1].chmod(0o777)
    assert f"'{file.parents[1]}' can be changed by others" in refused(file)
    file.parents[1].chmod(0o700)


def test_a_link_is_followed_to_what_it_leads_to(home: Path, file: Path) -> None:
    link = home / "link.json"
    link.symlink_to(file)
    assert refused(link) == ""
    file.parent.chmod(0o777)
    assert f"'{file.parent}'" in refused(link)


def test_a_link_that_others_can_replace_is_refused(home: Path, file: Path) -> None:
    opened = home / "open"
    opened.mkdir()
    opened.chmod(0o777)
    link = opened / "link.json"
    link.symlink_to(file)
    assert f"'{opened}' can be changed by others" in refused(link)


@as_root
def test_a_file_that_a_group_of_several_may_change_is_refused(file: Path) -> None:
    file.chmod(0o660)
    assert refused(file) == ""  # a group of its owner's name, with nobody else in it
    os.chown(file, -1, STRANGER)
    assert "it can be changed by others" in refused(file)


@as_root
def test_the_file_of_another_user_is_refused_wherever_it_is(home: Path, file: Path) -> None:
    os.chown(file, STRANGER, -1)
    file.parent.chmod(0o1777)
    assert "it belongs to another user" in refused(file)
    os.chown(file, 0, -1)
    link = home / "link.json"
    link.symlink_to(file)
    os.lchown(link, STRANGER, -1)
    assert "it belongs to another user" in refused(link)


def test_nothing_of_such_a_file_is_read(file: Path) -> None:
    file.chmod(0o666)

    loaded = ServersFile(file).load()

    assert (loaded.servers, loaded.readable) == ((), False)
    (problem,) = loaded.problems
    assert problem.code == "config-shared" and f"chmod o-w '{file}'" in problem.hint
