"""Sharing a process of a server between sessions: what was tried, seen, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["shareable", "not", "unknown"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One question that two sessions asked, over one process and over two."""

    what: str
    comparable: bool
    """Two fresh processes answer alike; else nothing can be told from it."""
    leaks: bool
    """Over one process the second session was answered otherwise than by a fresh one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The trials with a server, and what was seen."""

    server: str
    """Its `name@source`."""
    launch: str
    """The fingerprint of how it was started; started otherwise, it has to be tried again."""
    version: str
    """The version it told of itself."""
    tried_at: str
    trials: tuple[Trial, ...] = ()
    untried: tuple[str, ...] = ()
    """Tools that may change something, and were not called."""
    lists: bool = True
    """Both sessions were offered the same, before and after."""
    crossed: int = 0
    """Messages of the server that reached the other session."""
    unattributed: int = 0
    """Messages that could not be attributed to either, and went to nobody."""
    greeted_again: str = ""
    """The fate of a second `initialize` over the same pipe."""

    @property
    def verdict(self) -> Verdict:
        """The conclusion from all that."""
        return "not" if self._faults else "unknown" if self._gaps else "shareable"

    @property
    def gist(self) -> Tried:
        """As much of it as resolving needs."""
        return Tried(self.launch, {"shareable": True, "not": False}.get(self.verdict))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons for it, in words for people."""
        compared = sum(trial.comparable for trial in self.trials)
        same = f"{compared} questions were answered alike over one process and over two"
        return self._faults or self._gaps or (same,)

    @property
    def _faults(self) -> tuple[str, ...]:
        leaks = [f"{trial.what} shows what the other session did" for trial in self.trials]
        faults = [text for text, trial in zip(leaks, self.trials, strict=True) if trial.leaks]
        if not self.lists:
            faults.append("what it offers to one session depends on the other")
        if self.crossed:
            faults.append(f"{self.crossed} of its messages reached the wrong session")
        return tuple(faults)

    @property
    def _gaps(self) -> tuple[str, ...]:
        gaps = []
        if not any(trial.comparable for trial in self.trials):
            gaps.append("it has nothing that can be asked without arguments and answers alike")
        if self.untried:
            names = ", ".join(self.untried[:5]) + (" and more" if len(self.untried) > 5 else "")
            gaps.append(f"tools that may change something were not called: {names}")
        return tuple(gaps)


@dataclass(frozen=True, slots=True)
class Asking:
    """Questions that a server was seen to ask without saying whom."""

    launch: str
    """The fingerprint of how it was started; started otherwise, it may not ask."""
    question: str = ""
    """The first one that it asked on behalf of a call; empty if there was none."""
    roots: bool = False
    """It asked outside of all calls for its client's folders."""

    @property
    def reason(self) -> str:
        """The reason why sessions are better off with processes of their own."""
        if not self.question:
            return "it asks for its client's folders outside of calls"
        return f"it asks ({self.question}) without saying for which call"

    @property
    def consequences(self) -> tuple[str, ...]:
        """The consequences for those who share a process of it, in words for people."""
        texts = []
        if self.question:
            texts.append(
                f"it asks ({self.question}) without saying for which call, so clients that share"
                ' it call one at a time; with "mode": "per_session" each session has its own'
            )
        if self.roots:
            texts.append(
                "it asks for its client's folders outside of calls, so each session of a client"
                " that has folders gets a process of its own"
            )
        return tuple(texts)

    def also(self, before: Asking | None) -> Asking:
        """Together with what was seen before, unless it was started otherwise then."""
        if before is None or before.launch != self.launch:
            return self
        return Asking(self.launch, before.question or self.question, before.roots or self.roots)


@dataclass(frozen=True, slots=True)
class Tried:
    """As much of the evidence as resolving needs."""

    launch: str
    shareable: bool | None
