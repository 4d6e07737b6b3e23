"""The command that adds an optional part is one that works where it is read."""

from __future__ import annotations

from pathlib import Path

from toolyard.installation import how_to_add

RECEIPT = """
[tool]
requirements = [{ name = "toolyard", extras = ["login", "ssh"] }, { name = "other" }]
entrypoints = [{ name = "toolyard", install-path = "bin/toolyard" }]
"""


def test_in_an_environment_of_ones_own_it_is_pip(tmp_path: Path) -> None:
    assert how_to_add("docker", prefix=tmp_path) == "install it: pip install 'toolyard[docker]'"
    assert "'toolyard[docker,ssh]'" in how_to_add("docker", "ssh", prefix=tmp_path)


def test_a_tool_of_uv_is_installed_anew_with_what_it_had(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT)

    command = "install it: uv tool install 'toolyard[login,ssh,docker]'"
    assert how_to_add("docker", prefix=tmp_path) == command
    assert how_to_add("ssh", prefix=tmp_path).endswith("'toolyard[login,ssh]'")
    (tmp_path / "uv-receipt.toml").write_text("[[[")
    assert how_to_add("docker", prefix=tmp_path).endswith("uv tool install 'toolyard[docker]'")


def test_what_uvx_runs_is_started_with_it() -> None:
    place = Path("cache/uv/archive-v0/XJ3kq")

    assert how_to_add("login", prefix=place).startswith(
        "start it as: uvx --from 'toolyard[login]' toolyard,"
    )


def test_pipx_is_told_the_packages(tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")

    hint = how_to_add("docker", "ssh", prefix=tmp_path)

    assert hint.startswith("install it: pipx inject toolyard 'aiodocker")
    assert "'asyncssh" in hint
    assert "kubernetes" not in hint
