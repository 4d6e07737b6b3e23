"""An interrupt is heard where it is asked for, and nowhere else."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from toolyard.console.interrupts import SIGNALS, Interrupts


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interrupt_is_raised_where_it_is_asked_for(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    with Interrupts() as interrupts:
        interrupts.check()
        signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        with pytest.raises(KeyboardInterrupt):
            interrupts.pause(60)

    assert signal.getsignal(number) == before


def test_an_interrupt_ends_a_pause() -> None:
    with Interrupts() as interrupts:
        timer = threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            interrupts.pause(60)
        timer.join()


def test_more_interrupts_than_anybody_counts_are_one() -> None:
    with Interrupts() as interrupts:
        for _ in range(70_000):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
