"""Writes `deploy/kubernetes/`: the chart as plain manifests, for those who do without Helm.

    python scripts/manifests.py

Each file names the digest of the chart it was made from, so that a test sees a forgotten run even
where there is no Helm.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "helm" / "toolyard"
TARGET = ROOT / "deploy" / "kubernetes"
OPTIONS = ("autoscaling", "metrics")
RENDERINGS: dict[str, tuple[str, ...]] = {
    "toolyard.yaml": (),
    "with-postgresql.yaml": ("--set=database.bundled=true",),
    "options.yaml": (
        "--set=autoscaling.enabled=true",
        "--set=serviceMonitor.enabled=true",
        *(f"--show-only=templates/{option}.yaml" for option in OPTIONS),
    ),
}
"""The arguments of Helm, by the file they make."""
HEAD = """\
# Made by scripts/manifests.py from deploy/helm/toolyard; change that instead.
# Chart: sha256 {digest}
"""


def digest() -> str:
    """The digest of everything the chart is made of."""
    sha = hashlib.sha256()
    for file in sorted(path for path in CHART.rglob("*") if path.is_file()):
        sha.update(f"{file.relative_to(CHART)}\n".encode() + file.read_bytes())
    return sha.hexdigest()


def find_helm() -> str:
    """The path of Helm, built if need be; empty if it cannot be had."""
    done = subprocess.run([ROOT / "scripts" / "helm.sh"], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def render(helm: str, *arguments: str) -> str:
    """The chart as Helm renders it."""
    command = [helm, "template", "toolyard", str(CHART), "--namespace=toolyard", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Write every rendering."""
    helm = find_helm()
    if not helm:
        print("there is no Helm, and none can be built", file=sys.stderr)
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, arguments in RENDERINGS.items():
        text = HEAD.format(digest=digest()) + render(helm, *arguments)
        (TARGET / name).write_text(text, "utf-8")
        print(f"wrote {(TARGET / name).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
