from __future__ import annotations

from toolyard.executors.local.environment import environment


def test_only_the_allowed_of_ours_pass() -> None:
    ours = {
        "PATH": "/bin",
        "HOME": "/here",
        "LC_ALL": "C",
        "XDG_CONFIG_HOME": "/c",
        "https_proxy": "http://proxy",
        "SSL_CERT_FILE": "/ca",
        "TOOLYARD_TOKEN": "secret",
        "OPENAI_API_KEY": "secret",
        "LD_PRELOAD": "/evil.so",
        "PYTHONPATH": "/elsewhere",
        "SSH_AUTH_SOCK": "/agent",
        "MY_PATH": "/no",
    }

    assert set(environment((), ours=ours)) == {
        "PATH",
        "HOME",
        "LC_ALL",
        "XDG_CONFIG_HOME",
        "https_proxy",
        "SSL_CERT_FILE",
    }


def test_declared_values_win_over_ours_and_marks_over_both() -> None:
    env = environment(
        (("PATH", "/declared"), ("TOOLYARD_OWNER", "forged")),
        marks=(("TOOLYARD_OWNER", "hub"),),
        ours={"PATH": "/ours"},
    )

    assert env == {"PATH": "/declared", "TOOLYARD_OWNER": "hub"}


def test_there_is_always_a_path() -> None:
    assert environment((), ours={})["PATH"]


def test_a_value_shaped_like_a_shell_function_does_not_pass() -> None:
    assert "LC_X" not in environment((), ours={"LC_X": "() { :; }; evil"})
