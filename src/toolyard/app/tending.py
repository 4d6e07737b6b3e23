"""Sources run for ever, whatever becomes of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from toolyard.core.errors import ToolyardError
from toolyard.core.model import Event, Problem, SourceFailed
from toolyard.core.ports import Source
from toolyard.core.problems import ProblemCode

log = logging.getLogger(__name__)

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0


async def tend(source: Source, post: Callable[[Event], None]) -> None:
    """Run a source for ever: trouble becomes a problem on the picture, and a pause."""
    pause = FIRST_PAUSE
    while True:
        began = time.monotonic()
        try:
            await source.run(post)
            return
        except ToolyardError as error:
            problem = Problem(ProblemCode.SOURCE_FAILED, str(error), error.hint, source.name)
        except Exception as error:
            log.exception("a source failed", extra={"source": source.name})
            text = f"source {source.name!r} failed: {error!r}"
            problem = Problem(
                ProblemCode.SOURCE_FAILED,
                text,
                "it is started again; please report this",
                source.name,
            )
        post(SourceFailed(source.name, problem))
        pause = (
            FIRST_PAUSE
            if time.monotonic() - began > LONGEST_PAUSE
            else min(pause * 2, LONGEST_PAUSE)
        )
        await asyncio.sleep(pause)
