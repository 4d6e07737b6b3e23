"""A million inputs for the parsers of what strangers send.

    python tests/stress/fuzz.py [--inputs 1000000] [--seed N] [--engine atheris|random] [PARSER ...]

Each parser gets its share. An input is taken, or refused with the one error that its parser
promises; it takes a bounded time of the processor, and the process a bounded memory. Where atheris
is installed (`pip install atheris`), it guides the inputs by the lines that they reach; otherwise
they are made by chance, of inputs that are right.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

LONGEST = 4096
"""Bytes of an input."""
MOST_SECONDS = 1.0
"""Seconds of the processor for one input."""
MOST_MIB = 256
"""Memory of the process, with all that it has loaded."""
HANG_SECONDS = 60
PARSING = [
    "tests.stress.parsers",
    "toolyard.doors.http",
    "toolyard.records.jsonc",
    "toolyard.records.secrets.expand",
    "toolyard.relay.uris",
    "toolyard.wire",
]
"""Where atheris looks which lines are reached."""


class FuzzError(Exception):
    """An input that a parser did not take well, and what it did."""


def changed(chance: random.Random, seeds: tuple[bytes, ...], words: tuple[bytes, ...]) -> bytes:
    """Make an input of one that is right."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 6)):
        at, size = chance.randint(0, len(data)), chance.randint(0, 12)
        match chance.randrange(6):
            case 0:
                del data[at : at + size]
            case 1:
                data[at:at] = chance.choice(words)
            case 2:
                data[at : at + size] = chance.randbytes(size)
            case 3:
                data[at:at] = data[at : at + size] * chance.randint(1, 8)
            case 4:
                other = chance.choice(seeds)
                data[at:] = other[chance.randint(0, len(other)) :]
            case _:
                if at < len(data):
                    data[at] ^= 1 << chance.randrange(8)
    return bytes(data[:LONGEST])


def by_chance(name: str, inputs: int, seed: int) -> str:
    """Try inputs of our own making; what it came to.

    Raises:
        FuzzError: A parser raised what it does not promise, or took too long.
    """
    from tests.stress.parsers import PARSERS, WORDS

    parser, seeds = PARSERS[name]
    chance, taken, worst = random.Random(f"{seed} {name}"), 0, 0.0
    for number in range(inputs):
        data = changed(chance, seeds, WORDS)
        began = time.thread_time()
        try:
            taken += parser(data)
        except Exception as error:
            raise FuzzError(f"{name}, input {number} of seed {seed}: {data!r}") from error
        took = time.thread_time() - began
        worst = max(worst, took)
        if took > MOST_SECONDS:
            raise FuzzError(f"{name}, input {number} of seed {seed} took {took:.2f} s: {data!r}")
    return f"{taken:,} taken, slowest {worst * 1000:.1f} ms"


def guided(name: str, inputs: int, seed: int) -> None:
    """Let atheris make the inputs, in this process, which ends with that."""
    import atheris

    with atheris.instrument_imports(include=PARSING):
        from tests.stress.parsers import PARSERS, WORDS

    parser, seeds = PARSERS[name]

    def one(data: bytes) -> None:
        began = time.thread_time()
        parser(data)
        if (took := time.thread_time() - began) > MOST_SECONDS:
            raise FuzzError(f"{name} took {took:.2f} s: {data!r}")

    place = Path(tempfile.mkdtemp(prefix="ty-fuzz-"))
    inputs_of = [place / f"seed-{number}" for number in range(len(seeds))]
    for path, data in zip(inputs_of, seeds, strict=True):
        path.write_bytes(data)
    quoted = ('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in WORDS)
    dictionary = place / "words"
    dictionary.write_text("\n".join(quoted) + "\n")
    flags = {"runs": inputs, "seed": seed, "max_len": LONGEST, "timeout": HANG_SECONDS}
    more = {
        "rss_limit_mb": MOST_MIB * 2,
        "print_final_stats": 1,
        "dict": dictionary,
        "seed_inputs": ",".join(map(str, inputs_of)),
        "artifact_prefix": f"{place}/found-",
    }
    words = [f"-{flag}={value}" for flag, value in {**flags, **more}.items()]
    atheris.Setup([sys.argv[0], *words], one)
    atheris.Fuzz()


def by_atheris(name: str, inputs: int, seed: int) -> str:
    """Run atheris in a process of its own; what it came to.

    Raises:
        FuzzError: A parser raised what it does not promise, took too long or too much.
    """
    words = ["--inputs", str(inputs), "--seed", str(seed), "--engine", "atheris", "--here", name]
    command = [sys.executable, str(Path(__file__)), *words]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    figures = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    if done.returncode or int(figures.get("number_of_executed_units", 0)) < inputs:
        raise FuzzError(f"{name}, seed {seed}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
    covered = re.findall(r"cov: (\d+)", done.stderr)[-1]
    return f"{covered} edges, peak {figures['peak_rss_mb']} MiB"


def main() -> int:
    """Give each parser its share."""
    has_atheris = importlib.util.find_spec("atheris") is not None
    parser = argparse.ArgumentParser()
    parser.add_argument("parsers", nargs="*", metavar="PARSER", help="all if none is named")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 31))
    engines = ("atheris", "random")
    parser.add_argument("--engine", choices=engines, default=engines[not has_atheris])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        guided(options.parsers[0], options.inputs, options.seed)
    from tests.stress.parsers import PARSERS  # not before: in that process, it is instrumented

    run = by_atheris if options.engine == "atheris" else by_chance
    names = options.parsers or list(PARSERS)
    share = -(-options.inputs // len(names))
    for name in names:
        print(f"  {name}: {run(name, share, options.seed)}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    is_small = peak <= MOST_MIB
    print(
        f"{'ok  ' if is_small else 'FAIL'} {share * len(names):,} inputs to {len(names)} parsers,"
        f" engine {options.engine}, seed {options.seed}: one error type each, at most"
        f" {MOST_SECONDS:g} s of the processor, peak memory {peak} MiB"
    )
    return 0 if is_small else 1


if __name__ == "__main__":
    sys.exit(main())
