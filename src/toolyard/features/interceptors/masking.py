"""Masks secrets and personal data in texts and in the results of tools.

Results wait for it, and so does everybody else: a pattern that is looked for in whole texts begins
with the few letters that it can begin with, and looks back from there. Python finds those without
trying the pattern at every letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, Final

from toolyard.core.jsontypes import JsonObject
from toolyard.features.interceptors.numbers import is_card, is_iban
from toolyard.features.interceptors.secret_names import is_secret_under, is_stand_in, names_phone
from toolyard.records.secrets.mask import PARAMETER, USERINFO
from toolyard.records.secrets.readable_names import is_readable_name
from toolyard.records.secrets.token_shapes import MARKED_TOKEN, is_opaque

DEEPEST: Final = 64
"""Levels of a result that are looked into; what lies deeper is masked as a whole."""
MARKS: Final = {
    "email": "[email]",
    "phone": "[phone]",
    "card": "[card]",
    "iban": "[iban]",
    "token": "[token]",
    "key": "[private key]",
    "secret": "[secret]",
    "opaque": "[opaque]",
}
"""The text that stands for what was masked, by kind."""
PICTURES: Final = ("png", "jpg", "jpeg", "gif", "webp", "svg", "avif", "ico")
_MAIL_USER: Final = re.compile(r"(?<![\w.+%-])[A-Za-z0-9_+%-](?:[\w.+%-]{0,62}[\w+%-])?\Z")
_MAIL_HOST: Final = re.compile(r"@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w@-])(?!\.\w)")
_MAIL_USER_LONGEST: Final = 64
_REMOTE: Final = re.compile(r":(?!//)[\w~./-]+/|/")
"""The rest of the address of a repository, `git@host:owner/name` or `ssh://git@host/…`."""
_PHONE: Final = re.compile(
    r"[+\d(.)-](?:(?<![\w+.=/-].)(?:"
    r"(?<=\+)[1-9]\d{9,14}"
    r"|(?:(?<=\+)|(?<=0)0)[1-9]\d{0,2}(?:[ .-]?\(\d{1,4}\))?(?:[ .-]\d{1,8}){2,6}"
    r"|(?<=\()[2-9]\d\d\) ?[2-9]\d\d[-. ]\d{4}"
    r"|(?<=[2-9])\d\d-[2-9]\d\d-\d{4})"
    r"|(?<=tel:\+)[\d().-]{7,20}|(?<=tel:[\d().-])[\d().-]{6,19}"
    r")(?![\w-])(?!\.\d)"
)
_SPOKEN_PHONE: Final = re.compile(
    r"([tTpPmMcCfFwW](?<!\w.)(?i:"
    r"(?<=t)el(?:ephone)?|(?<=p)hone|(?<=m)obile|(?<=c)ell|(?<=f)ax|(?<=w)hatsapp)"
    r"(?i: no\.?| number)?\.?[\"']?:? ?[\"']?)"
    r"(\+?\(?\d[\d ()./-]{5,20}\d)(?!\w)"
)
_CARD: Final = re.compile(r"\d(?<![\w.+-].)(?:[ -]?\d){12,18}(?![\w-])(?!\.\d)")
_IBAN: Final = re.compile(
    r"[A-Z](?<![A-Za-z0-9].)[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"
)
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?!-----).|\n){0,20000}(?:-----END [A-Z0-9 ]{1,60}-----)?"
    r"|PuTTY-User-Key-File-\d:[\s\S]{0,20000}?Private-MAC: [0-9a-f]{40,64}"
    r"|AGE-SECRET-KEY-1[0-9A-Z]{40,70}"
)
_MORE_TOKENS: Final = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    r"SG\.[\w-]{16,32}\.[\w-]{32,64}"
    r"|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"
    r"|sq0(?:atp|csp)-[\w-]{22,43}"
    r"|GOCSPX-[\w-]{20,40}"
    r"|hv[sbr]\.[\w-]{20,200}"
    r"|dapi[a-f0-9]{32}"
    r"|dp\.(?:pt|st|ct|sa)\.[\w.-]{30,60}"
    r"|(?:AC|SK)[a-f0-9]{32}"
    r"|key-[a-f0-9]{32}"
    r"|\d{8,10}:AA[\w-]{33}"
    r"|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"
    r"|glsa_\w{32}_[a-f0-9]{8}"
    r"|gsk_\w{40,60}"
    r"|r8_\w{37,40}"
    r"|ATATT3[\w=-]{20,250}"
    r"|nfp_\w{36,40}"
    r"|PMAK-[a-f0-9]{24}-[a-f0-9]{34}"
    r"|dckr_pat_[\w-]{20,40}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){0,2}"
    r"|AccountKey=[A-Za-z0-9+/]{60,100}={0,2}"
    r")(?![A-Za-z0-9_])"
    r"|(?<=hooks\.slack\.com/services/)T\w{6,12}/B\w{6,12}/\w{16,32}"
    r"|(?<=/api/webhooks/)\d{16,20}/[\w-]{50,80}"
)
_BEARER: Final = re.compile(
    r"([bBtT](?<!\w.)(?i:(?<=b)(?:earer|asic)|(?<=t)oken)\s+)([A-Za-z0-9._~+/-]{12,4000}={0,2})"
)
_ASSIGNED: Final = re.compile(
    r"[pPsStTkKcC](?i:(?<=p)(?:ass(?:word|wd|wort|phrase)|wd)|(?<=s)ecret|(?<=t)oken|(?<=k)ey"
    r"|(?<=c)(?:onnection[_-]?string|redentials?))"
    r"([\\\"'`]{0,3}\s{0,2}(?:=>?|:| is)\s{0,2}[\\\"'`]{0,3})"
    r"([^\s\"'`\\,;&<>{}()\[\]]{4,4000})"
)
_NAME_LETTERS: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
)
_TOKEN_RUN: Final = re.compile(r"[\w.:=/+-]{11,}")
"""The longest texts in which tokens can stand, with what they are recognised by."""
_BETWEEN: Final = r"\s\"'`,;:=&?/<>(){}\[\]"
_DENSE_WORD: Final = re.compile(
    rf"[A-Za-z0-9+_](?<![^{_BETWEEN}].)[A-Za-z0-9+_]{{31,}}(?![^{_BETWEEN}])"
)
"""What may be opaque: a whole word, and long enough."""
Swap = Callable[[re.Match[str]], str]


class Masker:
    """Masks some kinds of data."""

    def __init__(self, kinds: Collection[str]) -> None:
        steps: dict[str, tuple[Callable[[str], str], ...]] = {
            "key": (_hide_keys,),
            "token": (_hide_tokens,),
            "secret": (_hide_secrets,),
            "iban": (_hide_ibans,),
            "card": (_hide_cards,),
            "email": (_hide_emails,),
            "phone": (_hide_phones,),
            "opaque": (_hide_opaque,),
        }
        self._kinds = frozenset(kinds)
        self._steps = [step for kind, of in steps.items() if kind in kinds for step in of]

    def mask(self, value: Any, name: str = "", depth: int = 0) -> Any:
        """The same value without such data; the very same object where there is none.

        `name` is what it stands under.
        """
        if isinstance(value, str):
            return self.mask_text(value, name)
        if isinstance(value, dict | list) and depth > DEEPEST:
            return MARKS["secret"]
        if isinstance(value, dict):
            return self._mask_members(value, depth)
        if isinstance(value, list):
            items = [self.mask(item, name, depth + 1) for item in value]
            is_same = all(before is after for before, after in zip(value, items, strict=True))
            return value if is_same else items
        if isinstance(value, int) and not isinstance(value, bool) and "card" in self._kinds:
            return MARKS["card"] if value > 10**13 and is_card(str(value)) else value
        return value

    def _mask_members(self, value: JsonObject, depth: int) -> JsonObject:
        skipped = _skipped(value)
        items = {
            name: item if name in skipped else self.mask(item, name, depth + 1)
            for name, item in value.items()
        }
        is_same = all(value[name] is item for name, item in items.items())
        return value if is_same else items

    def mask_text(self, text: str, name: str = "") -> str:
        """The same text without such data; `name` is what it stands under."""
        if name and "secret" in self._kinds and is_secret_under(name, text):
            return MARKS["secret"]
        if name and "phone" in self._kinds and names_phone(name) and _is_phone(text):
            return MARKS["phone"]
        for step in self._steps:
            text = step(text)
        return text


def _skipped(item: JsonObject) -> tuple[str, ...]:
    """The members of a content block that are pictures or sound, or name it."""
    if item.get("type") in ("image", "audio"):
        return ("data", "mimeType", "type")
    return ("blob",) if "blob" in item and "uri" in item else ()


def _hide_keys(text: str) -> str:
    if "PRIVATE KEY" not in text and "PuTTY-User" not in text and "AGE-SECRET" not in text:
        return text
    return _PRIVATE_KEY.sub(MARKS["key"], text)


def _hide_tokens(text: str) -> str:
    return _BEARER.sub(_bearer, _TOKEN_RUN.sub(_without_tokens, text))


def _without_tokens(match: re.Match[str]) -> str:
    return _MORE_TOKENS.sub(MARKS["token"], MARKED_TOKEN.sub(_marked, match[0]))


def _marked(match: re.Match[str]) -> str:
    """A mark of a service, followed by words, is the name of something."""
    rest = re.split("[-_.]", match[0], maxsplit=1)[-1]
    return match[0] if is_readable_name(rest) else MARKS["token"]


def _bearer(match: re.Match[str]) -> str:
    word = match[2]
    is_word = is_readable_name(word) or not any(map(str.isalpha, word))
    return match[0] if is_word else f"{match[1]}{MARKS['token']}"


def _hide_secrets(text: str) -> str:
    if "://" in text:
        text = USERINFO.sub(_password, text)
        text = PARAMETER.sub(_parameter, text)
    return _ASSIGNED.sub(_assigned, text)


def _password(match: re.Match[str]) -> str:
    return match[0] if is_stand_in(match[2]) else f"{match[1]}:{MARKS['secret']}@"


def _parameter(match: re.Match[str]) -> str:
    if not is_secret_under(match[2], match[3], is_sure=False):
        return match[0]
    return f"{match[1]}{MARKS['secret']}"


def _name_end(text: str) -> str:
    """The letters at the end of a text that a name may have."""
    at = len(text)
    while at and text[at - 1] in _NAME_LETTERS:
        at -= 1
    return text[at:]


def _assigned(match: re.Match[str]) -> str:
    between, value = match[1], match[2]
    word = match.string[match.start() : match.start(1)]
    before = match.string[max(0, match.start() - 60) : match.start()]
    name = _name_end(before) + word
    # What follows `=` or stands in quotes is a value; after a colon or `is` it may be prose.
    is_sure = "=" in between or between[-1:] in "\"'`"
    value = value.rstrip(".") if value.endswith(".") else value
    if not is_secret_under(name, value, is_sure=is_sure):
        return match[0]
    return f"{word}{between}{MARKS['secret']}{match[2][len(value) :]}"


def _hide_ibans(text: str) -> str:
    return _IBAN.sub(
        lambda match: MARKS["iban"] if is_iban(match[0].replace(" ", "")) else match[0], text
    )


def _hide_cards(text: str) -> str:
    def swap(match: re.Match[str]) -> str:
        digits = match[0].replace(" ", "").replace("-", "")
        return MARKS["card"] if is_card(digits) else match[0]

    return _CARD.sub(swap, text)


def _hide_emails(text: str) -> str:
    pieces, end = [], 0
    for host in _MAIL_HOST.finditer(text):
        at = host.start()
        user = _MAIL_USER.search(text, max(end, at - _MAIL_USER_LONGEST), at)
        if user is None:
            continue
        is_remote = user[0] == "git" and _REMOTE.match(text, host.end())
        is_picture = host[0].rpartition(".")[2].lower() in PICTURES
        if not is_remote and not is_picture:
            pieces += [text[end : user.start()], MARKS["email"]]
            end = host.end()
    return "".join([*pieces, text[end:]]) if pieces else text


def _hide_phones(text: str) -> str:
    text = _PHONE.sub(lambda match: MARKS["phone"] if _is_phone(match[0]) else match[0], text)
    return _SPOKEN_PHONE.sub(
        lambda match: f"{match[1]}{MARKS['phone']}" if _is_phone(match[2]) else match[0], text
    )


def _is_phone(text: str) -> bool:
    return 7 <= sum(map(str.isdigit, text)) <= 15 and not any(map(str.isalpha, text))


def _hide_opaque(text: str) -> str:
    return _DENSE_WORD.sub(lambda match: MARKS["opaque"] if is_opaque(match[0]) else match[0], text)
