"""Reports the profiles of the user's folder, so that they are on the picture like all else."""

from __future__ import annotations

from typing import Final

from toolyard.core.model import Report
from toolyard.sources.followed import Followed
from toolyard.stores.profiles import LoadedProfiles, ProfilesFolder

SOURCE: Final = "profiles"
LOOK_SECONDS: Final = 0.2
"""How often the folder is looked at; a handful of files, so looking costs microseconds."""


def follow_profiles(folder: ProfilesFolder) -> Followed[LoadedProfiles]:
    """A source of all profiles of a folder.

    One whose file cannot be read just now stands as it was: a slip of the pen must neither show
    what was hidden nor take away what is in use.
    """
    return Followed(SOURCE, folder, _report, LOOK_SECONDS)


def _report(loaded: LoadedProfiles, before: Report) -> Report:
    stand = tuple(each for each in before.profiles if each.name in loaded.broken)
    profiles = sorted((*loaded.profiles, *stand), key=lambda profile: profile.name)
    return Report(SOURCE, problems=loaded.problems, profiles=tuple(profiles))
