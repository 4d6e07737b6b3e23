"""The profiles of the user's folder, on the picture like all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolyard.core.model import Report
from toolyard.features.profiles.store import LoadedProfiles, ProfilesFolder
from toolyard.settings import Settings
from toolyard.sources.followed import Followed
from toolyard.yard import Yard

SOURCE: Final = "profiles"
LOOK_SECONDS: Final = 0.2
"""How often the folder is looked at; a handful of files, so looking costs microseconds."""


def parts(yard: Yard) -> Iterable[object]:
    """The folder of profiles, beside the servers file."""
    yield ProfilesFolder(yard.part(Settings).config_file.parent / "profiles")


def sources(yard: Yard) -> Sequence[Followed[LoadedProfiles]]:
    """The source of all profiles of the folder.

    One whose file cannot be read just now stands as it was: a slip of the pen must neither show
    what was hidden nor take away what is in use.
    """
    return [Followed(SOURCE, yard.part(ProfilesFolder), _report, LOOK_SECONDS)]


def _report(loaded: LoadedProfiles, before: Report) -> Report:
    stand = tuple(profile for profile in before.profiles if profile.name in loaded.broken)
    profiles = sorted((*loaded.profiles, *stand), key=lambda profile: profile.name)
    return Report(SOURCE, problems=loaded.problems, profiles=tuple(profiles))
