"""Small line charts as SVG: sizes along a logarithmic axis, figures from zero or in powers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 62, 46
COLOURS = ("#0d7d6c", "#b4560f", "#4b5bb5", "#7a7a7a")
LETTER = 6.5
"""The width of a letter, more or less."""
TEXT = 'font-family="sans-serif" font-size="12" fill="#333"'


@dataclass(frozen=True)
class Point:
    """A figure at a size: the median, with the lowest and the highest round."""

    size: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """What is drawn in one colour."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Chart:
    """A chart with its words."""

    title: str
    sizes: str
    figures: str
    curves: Sequence[Curve]
    is_logarithmic: bool = False

    def draw(self) -> str:
        """Return it as SVG."""
        sizes = sorted({point.size for curve in self.curves for point in curve.points})
        marks = self._marks()
        parts = [_head(self.title, self.figures)]
        parts += [self._grid(mark, marks) for mark in marks]
        parts += [self._size(size, sizes) for size in sizes]
        parts.append(_text(LEFT + _wide() / 2, HEIGHT - 8, self.sizes, "middle"))
        for number, curve in enumerate(self.curves):
            parts += self._curve(curve, COLOURS[number % len(COLOURS)], sizes, marks)
        parts += self._legend()
        return "\n".join([*parts, "</svg>\n"])

    def _marks(self) -> list[float]:
        """The figures at which the grid has lines."""
        highs = [point.high for curve in self.curves for point in curve.points]
        if self.is_logarithmic:
            lows = [point.low for curve in self.curves for point in curve.points]
            first, last = math.floor(math.log10(min(lows))), math.ceil(math.log10(max(highs)))
            return [10.0**power for power in range(first, max(last, first + 1) + 1)]
        step = _round_step(max(highs) / 4)
        return [step * number for number in range(math.ceil(max(highs) / step) + 1)]

    def _across(self, size: float, sizes: Sequence[float]) -> float:
        first, last = math.log(sizes[0]), math.log(sizes[-1])
        share = (math.log(size) - first) / (last - first) if last > first else 0.5
        return LEFT + 12 + share * (_wide() - 24)

    def _down(self, value: float, marks: Sequence[float]) -> float:
        if self.is_logarithmic:
            low, high = math.log(marks[0]), math.log(marks[-1])
            share = (math.log(max(value, marks[0])) - low) / (high - low)
        else:
            share = value / marks[-1]
        return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)

    def _grid(self, mark: float, marks: Sequence[float]) -> str:
        down = self._down(mark, marks)
        line = _line(LEFT, down, WIDTH - RIGHT, down, "#ddd")
        return line + _text(LEFT - 6, down + 4, f"{mark:,.6g}", "end")

    def _size(self, size: float, sizes: Sequence[float]) -> str:
        return _text(self._across(size, sizes), HEIGHT - BOTTOM + 18, f"{size:,.0f}", "middle")

    def _curve(
        self, curve: Curve, colour: str, sizes: Sequence[float], marks: Sequence[float]
    ) -> list[str]:
        """A line through the medians, with a bar from the lowest to the highest round at each."""
        places = [
            (self._across(point.size, sizes), self._down(point.value, marks), point)
            for point in curve.points
        ]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down, _ in places)
        parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>']
        for across, down, point in places:
            ends = self._down(point.low, marks), self._down(point.high, marks)
            parts.append(_line(across, ends[0], across, ends[1], colour))
            parts.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>')
        return parts

    def _legend(self) -> list[str]:
        """The names of the curves, one after the other."""
        parts, across = [], 12.0
        for number, curve in enumerate(self.curves):
            parts.append(_line(across, 46, across + 14, 46, COLOURS[number % len(COLOURS)], 2))
            parts.append(_text(across + 18, 50, curve.name))
            across += 34 + LETTER * len(curve.name)
        return parts


def _wide() -> int:
    """The width of what is inside the axes."""
    return WIDTH - LEFT - RIGHT


def _round_step(step: float) -> float:
    """The next of 1, 2, 5, 10 and so on."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(power * round_ for round_ in (1, 2, 5, 10) if power * round_ >= step)


def _head(title: str, figures: str) -> str:
    """The frame. Its ground is white, for a page may be dark."""
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff"/>\n'
        f'<g font-weight="bold">{_text(12, 20, title)}</g>\n{_text(12, 36, figures)}'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(across: float, down: float, words: str, anchor: str = "start") -> str:
    place = f'x="{across:.1f}" y="{down:.1f}" text-anchor="{anchor}"'
    return f"<text {place} {TEXT}>{escape(words)}</text>"
