"""The system's keyring: read, written, and never replaced by something that keeps plain text."""

from __future__ import annotations

from typing import Any, Final

from toolyard.core.errors import SecretError

KEYRING_SERVICE: Final = "toolyard"
NO_KEYRING: Final = (
    "give it with --file PATH, which keeps it in a file only you can read, "
    "or put it into the environment and write ${env:NAME}"
)


class NoKeyringError(SecretError):
    """This system has no keyring that can keep a secret."""

    def __init__(self) -> None:
        super().__init__("this system has no keyring to keep secrets in", NO_KEYRING)


def find_keyring() -> Any:
    """Return the module `keyring`, if it has a place that keeps secrets as such.

    Raises:
        NoKeyringError: There is none; one that writes plain text does not count.
    """
    try:
        import keyring  # slow to import, and most never need it

        backend = keyring.get_keyring()
        usable = backend.priority > 0
    except Exception as error:  # backends raise errors of their own libraries too
        raise NoKeyringError() from error
    if not usable or "Plaintext" in type(backend).__name__:
        raise NoKeyringError()
    return keyring


def has_keyring() -> bool:
    """Tell whether this system has a keyring that can keep a secret."""
    try:
        find_keyring()
    except NoKeyringError:
        return False
    return True


def read_keyring(name: str) -> str:
    """Return a secret of the system's keyring.

    Raises:
        SecretError: There is no keyring, it does not open, or has no such secret.
    """
    try:
        import keyring  # slow to import, and most never need it

        secret = keyring.get_password(KEYRING_SERVICE, name)
    except Exception as error:  # backends raise errors of their own libraries too
        raise SecretError(
            f"the keyring cannot be read for '{name}': {type(error).__name__}",
            "unlock or install a keyring, or use an environment variable or ${file:PATH} instead",
        ) from error
    if secret is None:
        raise SecretError(f"the keyring has no secret '{name}'", f"run: toolyard secret set {name}")
    return secret


def write_keyring(name: str, value: str) -> None:
    """Put a value into the keyring.

    Raises:
        SecretError: It does not take it.
    """
    keyring = find_keyring()
    try:
        keyring.set_password(KEYRING_SERVICE, name, value)
    except Exception as error:
        raise SecretError(
            f"the keyring did not take '{name}': {type(error).__name__}",
            "unlock it, or keep the secret in a file: --file PATH",
        ) from error


def delete_keyring(name: str) -> None:
    """Take a value out of the keyring; no harm if there is none.

    Raises:
        SecretError: It does not let go of it.
    """
    keyring = find_keyring()
    try:
        if keyring.get_password(KEYRING_SERVICE, name) is not None:
            keyring.delete_password(KEYRING_SERVICE, name)
    except Exception as error:
        raise SecretError(
            f"the keyring did not let go of '{name}': {type(error).__name__}", "unlock it"
        ) from error
