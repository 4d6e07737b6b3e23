"""Times in zones and days between dates."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import NotRequired, TypedDict
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from toolyard.example.errors import ArgumentError, closest


class Moment(TypedDict):
    """A moment as it is written in a zone."""

    zone: str
    time: str
    weekday: str
    abbreviation: str
    utc_offset: str
    daylight_saving: bool


ConvertedTime = TypedDict(
    "ConvertedTime",
    {"from": Moment, "to": Moment, "days_later": int, "note": NotRequired[str]},
)
"""A moment in two zones; `from` is a word of Python, so this is no class."""


class DaySpan(TypedDict):
    """The days between two dates."""

    days: int
    weeks_and_days: str
    weekdays: int


@cache
def zone_names() -> tuple[str, ...]:
    """All zones this system knows, sorted."""
    return tuple(sorted(available_timezones()))


def zone_of(name: str) -> ZoneInfo:
    """The zone called `name`.

    Raises:
        ArgumentError: There is none; names the closest.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    if not zone_names():
        raise ArgumentError("this system has no time zone database; pip install tzdata brings one")
    cities = {zone.rpartition("/")[2].replace("_", " ").casefold(): zone for zone in zone_names()}
    city = name.replace("_", " ").casefold().strip()
    hint = f"; did you mean {cities[city]}?" if city in cities else ""
    hint = hint or closest(name, list(zone_names())) or "; use an IANA name such as Europe/Paris"
    raise ArgumentError(f"unknown time zone '{name}'{hint}")


def shown(moment: datetime, zone: str) -> Moment:
    """A moment as it is written in a zone."""
    offset = moment.strftime("%z")
    return {
        "zone": zone,
        "time": moment.isoformat(timespec="seconds"),
        "weekday": moment.strftime("%A"),
        "abbreviation": moment.tzname() or "",
        "utc_offset": f"{offset[:3]}:{offset[3:5]}",
        "daylight_saving": bool(moment.dst()),
    }


def time_in(zone: str) -> Moment:
    """The time in a zone now."""
    return shown(datetime.now(zone_of(zone)), zone)


def convert_time(time: str, from_zone: str, to_zone: str) -> ConvertedTime:
    """A local time of one zone in another."""
    origin, target = zone_of(from_zone), zone_of(to_zone)
    local = parse_time(time, origin)
    try:
        converted = local.astimezone(target)
    except OverflowError:
        raise ArgumentError(f"'{time}' is outside the years 1 to 9999 in {to_zone}") from None
    result: ConvertedTime = {
        "from": shown(local, from_zone),
        "to": shown(converted, to_zone),
        "days_later": (converted.date() - local.date()).days,
    }
    if note := doubt(local):
        result["note"] = note
    return result


def parse_time(text: str, zone: ZoneInfo) -> datetime:
    """A local time in a zone, today if only the time of day is given.

    Raises:
        ArgumentError: It cannot be read, or carries an offset of its own.
    """
    try:
        if len(text) <= len("HH:MM:SS"):
            today = datetime.now(zone).date()
            moment = datetime.combine(today, time.fromisoformat(text))
        else:
            moment = datetime.fromisoformat(text)
    except ValueError:
        form = "write YYYY-MM-DDTHH:MM, or HH:MM for today"
        raise ArgumentError(f"cannot read the time '{text}'; {form}") from None
    if moment.tzinfo is not None:
        raise ArgumentError(f"the time '{text}' has an offset; leave it out, from_zone says it")
    return moment.replace(tzinfo=zone)


def doubt(local: datetime) -> str:
    """A note on a local time that clock changes skip or repeat; mostly empty."""
    if local.utcoffset() == local.replace(fold=1).utcoffset():
        return ""
    back = local.astimezone(UTC).astimezone(local.tzinfo)
    if back.replace(tzinfo=None) != local.replace(tzinfo=None):
        return "this local time is skipped when clocks go forward"
    return "this local time happens twice when clocks go back; the first is meant"


def days_between(start: str, end: str) -> DaySpan:
    """The days from one date to another, the first counted and the last not."""
    first, last = parse_date(start), parse_date(end)
    days = (last - first).days
    sign = -1 if days < 0 else 1
    weeks, rest = divmod(abs(days), 7)
    early = min(first, last)
    odd = sum((early + timedelta(weeks=weeks, days=day)).weekday() < 5 for day in range(rest))
    return {
        "days": days,
        "weeks_and_days": f"{'-' * (sign < 0)}{weeks} weeks and {rest} days",
        "weekdays": sign * (weeks * 5 + odd),
    }


def parse_date(text: str) -> date:
    """A date.

    Raises:
        ArgumentError: It cannot be read.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentError(f"cannot read the date '{text}'; write YYYY-MM-DD") from None
