"""Names of packages, images, models and files are no secrets; keys are, whatever they look like."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from toolyard.core.model import Command
from toolyard.records.secrets.extraction import take_secrets
from toolyard.records.secrets.mask import looks_random
from toolyard.records.secrets.plain_secrets import without_secrets

NAMES = Path(__file__).with_name("plain_words.txt").read_text().splitlines()
LETTERS, LARGE, SMALL = string.ascii_letters, string.ascii_uppercase, string.ascii_lowercase
ALPHABETS = {
    "base62": LETTERS + string.digits,
    "base64url": LETTERS + string.digits + "-_",
    "base64": LETTERS + string.digits + "+/",
    "base36": SMALL + string.digits,
    "base32": LARGE + "234567",
    "hexadecimal": string.hexdigits.lower(),
}


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len(set(NAMES)) >= 200


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_not_hidden_and_not_moved(name: str) -> None:
    command = Command(("npx", "-y", name), (("PLAIN", name),))

    assert looks_random(name) is False
    assert without_secrets(command) == command
    assert take_secrets(command, lambda *_: "moved") == command


@pytest.mark.parametrize(
    "key",
    [
        *("ghp_notARealTokenOnlyForThisTest0123", "github_pat_11ABCDEFG0notReal_0123456789"),
        *("glpat-notAReal0Token12345", "xoxb-0000-not-a-real-token", "xapp-1-A0NOTREAL-1-abc"),
        *("sk-proj-notAReal0123456789abcdefghij", "sk-ant-api03-notAReal0123456789"),
        *("sk_test_notAReal0123456789", "AKIAABCDEFGHIJKLMN12", "AIzaSyNotAReal0123456789abcdefgh"),
        *("hf_notARealTokenOnlyForThisTest", "npm_notARealTokenOnlyForThisTest0123"),
        *("pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw", "lin_api_notARealTokenOnlyForThis0123"),
        *("figd_notARealTokenOnly-0123456789", "ntn_0123456789notARealTokenOnly"),
        *("tvly-dev-notAReal0123456789", "ctx7sk-01234567-89ab-cdef-0123-456789abcdef"),
        *("dop_v1_0123456789abcdef0123456789abcdef", "sntrys_notAReal0123456789"),
        *("0123456789abcdef0123456789abcdef", "123e4567-e89b-12d3-a456-426614174000"),
        *("hunter2hunter2hunter2", "kJ8x2LmQ9vRt4WzN7bYc", "a1b2c3d4e5f6g7h8i9j0"),
        *("Zx9-Qw7-Lk2-Vb5-Nm1", "SG.notAReal0Key1.aB3dE5fG7hI9jK1lM3nO5pQ7"),
        *("00Dxx0000001gPL!AR8AQJXg5oj8jXSgxJfA0lBog", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"),
    ],
)
def test_a_key_is_hidden(key: str) -> None:
    assert looks_random(key) is True


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
@pytest.mark.parametrize("length", [24, 32, 40])
def test_hardly_any_random_key_is_taken_for_a_name(alphabet: str, length: int) -> None:
    dice = random.Random(7)
    keys = ["".join(dice.choices(alphabet, k=length)) for _ in range(1_000)]
    mixed = [key for key in keys if set(key) & set(LETTERS) and set(key) & set(string.digits)]

    taken_for_names = [key for key in mixed if not looks_random(key) and key[0] not in "/~."]

    assert len(taken_for_names) <= 5
