"""Texts that were written without a look at the patterns of masking, and change none of them.

Whoever mends a pattern because of one of these moves that text to `mask_corpus.py`, and writes
another here.
"""

from __future__ import annotations

from typing import Final

_MIXED: Final = "Zq7RtY3mKp9LwXc2VbN8"
PERSONAL: Final = (
    ("Contact: {}", "maria.lopez+invoices@mail.example.co.uk"),
    ("<a href='mailto:{}'>write</a>", "o'brien@example.ie"),
    ("From: Jörg Weiß <{}>", "joerg.weiss@web-example.de"),
    ('{"to":["{}"]}', "x_y-z@sub.domain.example"),
    ("mail {}, or call", "info@xn--bcher-kva.example"),
    ("Ring me at {} after six", "+44 20 7946 0958"),
    ("Tel. {}", "030 / 1234 5678"),
    ("phone={}", "(415) 555-0132"),
    ("His number is {}.", "+49 (0)151 23456789"),
    ("fax: {}", "0033 1 23 45 67 89"),
    ("mobile {}", "07700 900123"),
    ("cell: {} ext. 12", "415.555.0199"),
    ("Paid with {}", "4242 4242 4242 4242"),
    ("card {} exp 12/29", "5555555555554444"),
    ("Amex {}", "3782 822463 10005"),
    ('{"pan":"{}"}', "6011-1111-1111-1117"),
    ("number {}, cvc 123", "4000-0566-5566-5556"),
    ("IBAN {}", "DE89 3704 0044 0532 0130 00"),
    ("pay to {} please", "GB82WEST12345698765432"),
    ("konto: {}", "FR14 2004 1010 0505 0001 3M02 606"),
    ("{} is mine", "CH93 0076 2011 6238 5295 7"),
)
SECRETS: Final = (
    ("token {} leaked", "ghp" + "_" + _MIXED + "aB3dE6gH9jK2mN5p"),
    ("GITLAB={}", "glpat" + "-" + _MIXED),
    ("slack {}", "xoxb" + "-123456789012-123456789012-" + _MIXED + "abcd"),
    ("key {} of stripe", "sk" + "_live_" + _MIXED + "Fg45"),
    ("aws {}", "AKIA" + "Z7RTY3MKP9LWXC2V"),
    ("openai {}", "sk" + "-proj-" + _MIXED * 3),
    ("google {}", "AIza" + "Sy" + _MIXED + "QwErTy12345ab"),
    ("npm {}", "npm" + "_" + _MIXED + "aB3dE6gH9jK2mN5p"),
    ("Authorization: Bearer {}", _MIXED * 2),
    ("Authorization: Basic {}", "YWxhZGRpbjpvcGVuc2VzYW1lMTIz"),
    ("jwt {}", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + _MIXED * 2),
    ("postgres://app:{}@db.example:5432/x", "Tr0ub4dor-n3"),
    ("https://example.com/cb?access_token={}&x=1", _MIXED),
    ('{"clientSecret": "{}"}', "n0t-a-r3al-0ne"),
    ("DB_PASSWORD={}", "correcthorse9"),
    ("password: {}", "hunter2hunter2"),
    ('<add key="ApiKey" value="{}"/>', _MIXED),
    ("--token {}", _MIXED),
    ("X-Api-Key: {}", _MIXED),
    ("my passphrase is {}", "blue-otter-lamp-77"),
    ("PIN: {}", "493817"),
    ("machine api.example login me password {}", "sup3rs3cret"),
    ("aws_secret_access_key = {}", _MIXED * 2),
)
PLAIN: Final = (
    "Version 4.2.4.2 of 2026-11-18 replaces 4.2.4.1.",
    "Order 4242424242424243 was shipped.",
    "The commit 3f786850e387550fdab836ed7e6dc881de23001b fixes it.",
    "id: 550e8400-e29b-41d4-a716-446655440000",
    "Coordinates 52.520008, 13.404954; altitude 34 m.",
    "@decorator(at=3) def call(): pass",
    "See user@host in the manual of ssh.",
    "npm install @scope/package@1.2.3",
    "Chapter 12, pages 345-678, ISBN 978-3-16-148410-0",
    "1700000000 is a time in seconds, 1700000000000 in milliseconds.",
    "The password must have twelve characters.",
    "token: the next word of a model",
    "Set the variable API_KEY before you start.",
    "password=<your password>",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "Invoice 2026-000123456 of 18/11/2026: 1,234.56 EUR",
    "git clone git@github.com:example/project.git",
    "10.0.0.1:8080 and 192.168.178.24/24",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    'ETag: W/"5d8c72a5edda8d6a:1700000000"',
    "0x7fffffffffffffff is 9223372036854775807",
    "GB is the code of a country and WEST a direction.",
    "DE00 1234 5678 9012 3456 78 is no account.",
    "next_page_token: CAESBgoEOgIIAQ",
    "passwords are hashed with bcrypt, cost 12",
)
