"""A corpus of our own making: texts with one secret or personal datum each, and texts with none."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
DICE = Random(20261117)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Positive(NamedTuple):
    """A text, and the part of it that must not be left."""

    kind: str
    text: str
    hidden: str


def body(letters: str, length: int) -> str:
    """Random letters with at least one digit, as keys have."""
    return "".join(DICE.choice(letters) for _ in range(length - 2)) + "7" + DICE.choice(letters)


def within(kind: str, values: list[str], *sentences: str) -> Iterator[Positive]:
    """Put each value into one of the sentences, by turns."""
    for number, value in enumerate(values):
        sentence = sentences[number % len(sentences)]
        yield Positive(kind, sentence.replace("{}", value), value)


EMAILS = [
    *("ann@acme.io", "bob.jones@mail.acme.co.uk", "c+tag@sub.domain.org", "d_e-f@firm-x.de"),
    *("x1@a.bc", "first.last@university.ac.jp", "info@muenchen.de", "UPPER@CASE.COM"),
    *("o%b@odd.net", "77@numbers.fr", "long.name.of.a.person@very.long.host.name.example.com"),
    *("root@localhost.localdomain", "me@my-site.photography", "a-b@c-d.travel", "q@ai.dev"),
    *("support+42@shop.store", "jane_doe@gov.br", "m.m@m.museum", "sales@x.company", "u@u.uk"),
]
PHONES = [
    *("+49 30 1234567", "+491701234567", "+1 415 555 2671", "+1 (415) 555-2671", "(415) 555-2671"),
    *(
        "415-555-2671",
        "+44 20 7946 0958",
        "+33 1 42 68 53 00",
        "0049 30 9018 20",
        "+81-3-1234-5678",
    ),
    *("+61 2 9374 4000", "+12025550143", "+41 44 668 18 00", "(212)555-0187", "+34 912 345 678"),
    *("+39 06 698 12345", "+55 11 91234-5678", "+31 20 123 4567", "+46 8 123 456 78"),
    *("+420 224 123 456",),
]
CARDS = [
    *("4111111111111111", "4012 8888 8888 1881", "5555-5555-5555-4444", "5105105105105100"),
    *("378282246310005", "3714 496353 98431", "6011111111111117", "6011 0009 9013 9424"),
    *("30569309025904", "38520000023237", "3530111333300000", "3566 0020 2036 0505"),
    *("2223003122003222", "2720 9999 9999 9996", "4242424242424242", "4000 0566 5566 5556"),
    *("5200828282828210", "6555900000604105", "6200000000000005", "5454-5454-5454-5454"),
]
IBANS = [
    *("DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "GB82 WEST 1234 5698 7654 32"),
    *("FR1420041010050500013M02606", "NL91ABNA0417164300", "CH93 0076 2011 6238 5295 7"),
    *("ES9121000418450200051332", "IT60X0542811101000000123456", "AT611904300234573201"),
    *("BE68539007547034", "PL61109010140000071219812874", "SE4550000000058398257466"),
    *("NO9386011117947", "DK5000400440116243", "FI2112345600000785", "PT50000201231234567890154"),
    *("IE29AIBK93115212345678", "LU280019400644750000", "CZ6508000000192000145399"),
    *("GR1601101250000000012300695",),
]


def tokens() -> list[str]:
    """Tokens of services, each of the shape that the service gives them."""
    shapes: list[tuple[str, str, int]] = [
        *(("ghp_", ALNUM, 36), ("gho_", ALNUM, 36), ("ghs_", ALNUM, 36), ("ghu_", ALNUM, 36)),
        *(("github_pat_", ALNUM, 60), ("glpat-", ALNUM, 20), ("xoxb-", ALNUM, 40)),
        *(("xoxp-", ALNUM, 50), ("xapp-1-", ALNUM, 40), ("sk-proj-", ALNUM, 48)),
        *(("sk-ant-api03-", ALNUM, 60), ("sk-", ALNUM, 48), ("sk_live_", ALNUM, 24)),
        *(("rk_test_", ALNUM, 24), ("AKIA", string.ascii_uppercase + "234567", 16)),
        *(("ASIA", string.ascii_uppercase + "234567", 16), ("AIza", ALNUM, 35)),
        *(("ya29.", ALNUM, 60), ("hf_", ALNUM, 34), ("npm_", ALNUM, 36), ("pypi-", ALNUM, 80)),
        *(("dop_v1_", HEX, 64), ("lin_api_", ALNUM, 40), ("figd_", ALNUM, 40), ("ntn_", ALNUM, 43)),
        *(("sntrys_", ALNUM, 60), ("tvly-", ALNUM, 32), ("ctx7sk-", ALNUM, 36), ("ty_", ALNUM, 43)),
        *(("shpat_", HEX, 32), ("GOCSPX-", ALNUM, 28), ("hvs.", ALNUM, 90), ("dapi", HEX, 32)),
        *(("AC", HEX, 32), ("SK", HEX, 32), ("key-", HEX, 32), ("gsk_", ALNUM, 52)),
        *(("dckr_pat_", ALNUM, 27), ("glsa_" + "a" * 31 + "7_", HEX, 8), ("r8_", ALNUM, 37)),
        *(("sq0atp-", ALNUM, 22), ("ATATT3", ALNUM, 180), ("nfp_", ALNUM, 36)),
    ]
    plain = [prefix + body(letters, length) for prefix, letters, length in shapes]
    jwt = f"eyJ{body(ALNUM, 30)}.eyJ{body(ALNUM, 80)}.{body(ALNUM, 43)}"
    sendgrid = f"SG.{body(ALNUM, 22)}.{body(ALNUM, 43)}"
    return [*plain, jwt, sendgrid, f"123456789:AA{body(ALNUM, 33)}"]


def keys() -> Iterator[Positive]:
    """Private keys in PEM and other wrappings, one of them cut short."""
    for name in ("RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED ", "DSA "):
        inside = "\n".join(body(ALNUM + "+/", 64) for _ in range(3))
        head, tail = (f"-----{word} {name}PRIVATE KEY-----" for word in ("BEGIN", "END"))
        yield Positive("key", f"cat id\n{head}\n{inside}\n{tail}\ndone", inside)
    inside = body(ALNUM, 64)
    yield Positive("key", f"-----BEGIN RSA PRIVATE KEY-----\n{inside}\n[truncated]", inside)
    escaped = (
        rf'{{"private_key": "-----BEGIN PRIVATE KEY-----\n{inside}\n-----END PRIVATE KEY-----"}}'
    )
    yield Positive("key", escaped, inside)
    pgp = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{inside}\n-----END PGP PRIVATE KEY BLOCK-----"
    yield Positive("key", pgp, inside)
    age = "AGE-SECRET-KEY-1" + body(string.ascii_uppercase + string.digits, 58)
    yield Positive("key", f"# created: today\n{age}", age)


def secrets() -> Iterator[Positive]:
    """Secrets that only their surroundings tell."""
    yield from within(
        "secret",
        ["hunter2", "correct-horse-battery", "S3cr3t!", "p4ssw0rd", "Tr0ub4dor&3", "letmein99"],
        "password={}",
        'DB_PASSWORD="{}"',
        '{"password": "{}"}',
        "MYSQL_PWD={} mysql -u root",
        "the password is {}",
        "passphrase: {}",
    )
    yield from within(
        "secret",
        [body(ALNUM, length) for length in (16, 20, 24, 32, 40, 12, 48, 18, 22, 30)],
        "API_KEY={}",
        "aws_secret_access_key = {}",
        '"clientSecret": "{}"',
        "https://api.acme.io/v1?api_key={}&page=2",
        "OPENAI_API_KEY: {}",
        "export TOKEN='{}'",
        "secret => {}",
        "refresh_token={}",
        "postgres://app:{}@db.acme.io:5432/main",
        r"{\"access_token\": \"{}\"}",
    )
    yield from within(
        "secret",
        [body(ALNUM, 20) for _ in range(4)],
        "redis://:{}@cache:6379",
        "x-api-key: {}",
        "signing_key: {}",
        "https://host/cb#ok?token={}",
    )
    yield from within(
        "token",
        [body(ALNUM, 40) for _ in range(4)],
        "Authorization: Bearer {}",
        "curl -H 'authorization: bearer {}'",
        "Authorization: Basic {}==",
        "Authorization: token {}",
    )


def positives() -> list[Positive]:
    """Every text with something to mask."""
    return [
        *within("email", EMAILS, "{}", "mail {} today", "From: Ann <{}>", '{"to":"{}"}', "({})."),
        *within("phone", PHONES, "{}", "call {} now", '{"n":"{}"}', "Office: {}, ask for Ann"),
        *within("card", CARDS, "{}", "charged {} today", '{"pan":"{}"}', "card {}, exp 12/30"),
        *within("iban", IBANS, "{}", "pay to {} please", '{"to":"{}"}', "IBAN: {}."),
        *within(
            "token", tokens(), "{}", "use {} here", '{"v":"{}"}', "x={}", "url?t={}&x=1", "'{}'"
        ),
        *keys(),
        *secrets(),
    ]


def own_texts() -> Iterator[str]:
    """Texts without anything to mask: the catalog's definitions, recorded answers, these docs."""
    for path in sorted((ROOT / "src/toolyard/features/catalog/bundled/official").glob("*.json")):
        yield from _strings(json.loads(path.read_bytes()))
    for path in sorted((ROOT / "tests/golden").rglob("*.json")):
        yield from _strings(json.loads(path.read_bytes()))


NEGATIVES = [
    *("2026-11-17T23:10:41+01:00", "1731884441123", "v1.2.3-rc.4+build.567", "10.0.0.1:8080"),
    *("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "sha256:" + "ab12" * 16),
    *("550e8400-e29b-41d4-a716-446655440000", "git@github.com:owner/name.git", "@scope/pkg@1.2.3"),
    *("ssh://git@gitlab.acme.io/group/name.git", "logo@2x.png", "1234-5678-9012-3456"),
    *("token: the access token of the account", "password: string", "max_tokens=4096"),
    *("nextPageToken: CAUQAA7b", '{"next_page_token": "CiAKGjBpNDd2Nmp2Zml2cXRwYjBpOXA"}'),
    *("Set the secret with `toolyard secret set NAME`.", "API_KEY=${API_KEY}", "token=$TOKEN"),
    *("api_key: your-api-key-here", "password = ********", "the password is wrong", "apiKey: null"),
    *("a bearer token is needed", "Bearer authentication", "Basic authentication is off"),
    *("sk-learn-contrib", "npm_lifecycle_event", "hf_transformers", "1 415 200 rows in 3.5 s"),
    *("total 4012888888881882", "order 1234567890123456", "12,345,678.90", "+1234", "+0200"),
    *("Python 3.12.4 (main, Jun 8 2024)", "lines 100-200-3000", "pid 415-55", "2024-11-17 10:00"),
    *(
        "SELECT id, token_count FROM usage",
        "secretary: Ann",
        "keyboard: qwerty12",
        "monkey=banana1",
    ),
    *("author=ann", "https://acme.io/search?author=ann&key=value", "author: Bob Jones"),
    *(
        "password_reset_url: https://acme.io/reset",
        "TOKEN_FILE=/run/secrets/token",
        "x@y",
        "a@b.c1",
    ),
    *("DE00123456789012345678", "FR with 27 letters", "GB82 is a number", "EUR 1000 0000 0000"),
]
"""Texts that look like something, and are not."""


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if "@example." not in value:  # an address all the same
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
