"""The line of a server's stderr that says why it failed.

What launchers and runtimes write around an error (adverts, progress, stack frames, the version of
Node) is not shown: the log has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolyard.core.errors import ToolyardError
from toolyard.core.failure_hints import find_cause

LINE_CHARS: Final = 300
"""Characters of a server's own words that are shown."""
RECENT: Final = 25
"""The lines among which the reason is looked for if a server ended that had been ready."""
_MARGIN: Final = re.compile(r"^\s*[|+] ?")
"""What Python draws beside the tracebacks of a group of exceptions."""
_NOISE: Final = re.compile(
    r"""
    npm[ ](?:notice|warn|WARN)\b
    | npm[ ](?:error|ERR!)(?:[ ]\d+)?$
    | npm[ ](?:error|ERR!)[ ](?:code|errno|syscall|path|dest)\b
    | npm[ ](?:error|ERR!).*complete[ ]log[ ]of[ ]this[ ]run
    | Need[ ]to[ ]install[ ]the[ ]following | Ok[ ]to[ ]proceed
    | (?:Resolved|Prepared|Installed|Downloading|Downloaded|Building|Built|Updating|Using)[ ]
    | at[ ]\S.*(?:\(|:\d+|<anonymous>) | Require[ ]stack: | -[ ]/
    | Node\.js[ ]v\d | Bun[ ]v\d | (?:node:|file://|/)\S+:\d+$
    | \(node:\d+\)[ ]\S*Warning | \(Use[ ]`node[ ]--trace
    | throw[ ] | triggerUncaughtException | [^\w]*(?:\d+[^\w]*)?$
    | (?:code|errno|syscall|path|url|requireStack|address|port|hostname):[ ]
    | (?:Base)?ExceptionGroup: | During[ ]handling[ ] | The[ ]above[ ]exception[ ]
    | (?:\S+[ ]+){0,3}\[?(?:INFO|DEBUG)\b
    """,
    re.VERBOSE,
)
"""Beginnings of lines that do not say why a server failed."""
_ERROR: Final = re.compile(
    r"(?i:error|err!|exception|fatal|panic|usage:|"
    r"\b(?:cannot|can't|could not|failed|failure|unable to|denied|refused|not found|missing"
    r"|required|invalid|aborted)\b)"
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The line that says why a server failed, and the action that helps; each empty if unknown."""

    line: str = ""
    hint: str = ""


def diagnose(lines: Iterable[str]) -> Diagnosis:
    """Return the line that says why a server failed: of a known cause, or else the first error."""
    telling = list(_telling(lines))
    line, hint = find_cause(telling)
    return Diagnosis(line or next(filter(_ERROR.search, telling), ""), hint)


def explain(error: ToolyardError, lines: Sequence[str]) -> None:
    """Add to an error what a server wrote before it failed, and what to do; once.

    Without an error line, its last words are better than nothing; its only words are the reason.
    """
    if error.trace or not lines:
        return
    error.trace = tuple(lines)
    diagnosis, words = diagnose(lines), tuple(_telling(lines))
    if diagnosis.line or len(words) == 1:
        error.args = (f"{error}: {diagnosis.line or words[0]}",)
    elif words:
        error.args = (f"{error}; its last words: {words[-1]}",)
    error.hint = error.hint or diagnosis.hint


def _telling(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines that may tell why a server failed, without what is drawn beside them."""
    in_traceback = False
    for line in lines:
        text = _MARGIN.sub("", line)
        in_traceback = "Traceback (" in text or (in_traceback and text[:1].isspace())
        text = text.strip()
        if not in_traceback and not _NOISE.match(text):
            yield text[:LINE_CHARS]
