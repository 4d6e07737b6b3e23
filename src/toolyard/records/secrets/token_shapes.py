"""Secrets that can be told by their look: tokens that services begin with a mark of their own."""

from __future__ import annotations

import re
from typing import Final

_MARKS: Final = (
    r"gh[opsur]_[A-Za-z0-9]{8,}",
    r"github_pat_[A-Za-z0-9_]{8,}",
    r"gl(?:pat|dt|rt|ptt|cbt)-[\w.-]{8,}",
    r"xox[abeoprs]-[\w-]{8,}",
    r"xapp-(?=[\w-]*\d)[\w-]{8,}",
    r"sk-(?=[\w-]*\d)[\w-]{8,}",
    r"[sr]k_(?:live|test)_\w{8,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"AIza[\w-]{20,}",
    r"ya29\.[\w.-]{8,}",
    r"hf_[A-Za-z0-9]{8,}",
    r"npm_[A-Za-z0-9]{8,}",
    r"pypi-(?=[\w-]*\d)[\w-]{16,}",
    r"do[opr]_v1_[a-f0-9]{8,}",
    r"lin_api_\w{8,}",
    r"figd_[\w-]{8,}",
    r"ntn_\w{8,}",
    r"sntry[su]_[\w=+/-]{8,}",
    r"tvly-[\w-]{8,}",
    r"ctx7sk-[\w-]{8,}",
    r"ty_[\w-]{16,}",
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
)
"""Packages are called `sk-…`, `pypi-…` and `xapp-…`, too; keys of these services have digits."""
MARKED_TOKEN: Final = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(_MARKS)})(?![A-Za-z0-9_])")
_HEX: Final = re.compile(r"[a-f0-9]{32,}|[A-F0-9]{32,}")
_DENSE: Final = re.compile(r"[A-Za-z0-9+_]{32,}={0,2}")


def is_marked_token(text: str) -> bool:
    """Tell whether a text is a token of a well-known service."""
    return MARKED_TOKEN.fullmatch(text) is not None


def is_opaque(text: str) -> bool:
    """Tell whether a text is so dense that it can hardly be anything but a key.

    Names of models and versions have hyphens and dots; a UUID is seldom a secret.
    """
    if _HEX.fullmatch(text):
        return any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    kinds = (str.isdigit, str.islower, str.isupper)
    return bool(_DENSE.fullmatch(text)) and all(any(map(kind, text)) for kind in kinds)
