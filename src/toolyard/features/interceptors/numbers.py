"""Numbers that can be told by their check digits: payment cards and bank accounts."""

from __future__ import annotations

import re
from typing import Final

_BRANDS: Final = re.compile(
    r"4\d{15}"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:30[0-5]|3[689]\d)\d{11}"  # Diners
    r"|(?:6011|64[4-9]\d|65\d\d|62\d\d)\d{12}"  # Discover, UnionPay
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
)
_COUNTRIES: Final = {
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU",
    31: "MT SC",
    32: "LC",
}
"""Countries, by the characters of their account numbers."""
_IBAN_LENGTHS: Final = {
    country: length for length, names in _COUNTRIES.items() for country in names.split()
}


def is_card(digits: str) -> bool:
    """Tell whether digits are the number of a payment card: a brand's, with the right check."""
    return _BRANDS.fullmatch(digits) is not None and _luhn(digits)


def is_iban(text: str) -> bool:
    """Tell whether a text without blanks is an IBAN."""
    if len(text) != _IBAN_LENGTHS.get(text[:2], 0):
        return False
    moved = text[4:] + text[:4]
    return int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) << (place & 1)
        total += number - 9 if number > 9 else number
    return total % 10 == 0
