"""The profiles that were written, on the picture like all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolyard.core.model import Report
from toolyard.core.profiles import Profile
from toolyard.features.profiles.store import ProfileCodec, ProfileRecords
from toolyard.records.followed import Followed
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "profiles"


def parts(yard: Yard) -> Iterable[object]:
    """The profiles; as files they are in a folder beside the servers file."""
    folder = yard.part(Settings).config_file.parent / "profiles"
    yield ProfileRecords(yard.part(RecordPlaces).folder("profile", folder, ProfileCodec()))


def sources(yard: Yard) -> Sequence[Followed[Profile]]:
    """The source of all profiles.

    One that cannot be read just now stands as it was: a slip of the pen must neither show what was
    hidden nor take away what is in use.
    """
    return [Followed(SOURCE, yard.part(ProfileRecords), _report)]


def _report(kept: Kept[Profile], before: Report) -> Report:
    stand = [profile for profile in before.profiles if profile.name in kept.troubles]
    profiles = sorted((*kept.values.values(), *stand), key=lambda profile: profile.name)
    return Report(SOURCE, problems=kept.problems, profiles=tuple(profiles))
