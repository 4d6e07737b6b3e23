#!/usr/bin/env bash
# Write requirements/*.txt: every dependency of every supported Python and platform, with hashes.
# The files name packages and hashes only; where they come from is the installer's business.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=.cache/lock
if [ ! -x "$tool/bin/uv" ]; then
  "${PYTHON:-python3}" -m venv "$tool"
  "$tool/bin/python" -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'
fi

compile() {
  local out=$1
  shift
  # --no-config and --no-header: nothing of the machine that made a lock may show in it.
  "$tool/bin/uv" --no-config pip compile --quiet --universal --python-version 3.11 \
    --generate-hashes --no-header --output-file "$out" "$@"
  echo "wrote $out: $(grep -c '==' "$out") packages"
}

compile requirements/runtime.txt pyproject.toml --group build --extra docker --extra kubernetes --extra otel --extra ssh --extra team "$@"
# The runtime lock binds the development one, so that tests run what users get.
compile requirements/dev.txt pyproject.toml --group dev --extra docker --extra kubernetes --extra otel --extra ssh --extra team --constraint requirements/runtime.txt "$@"
# What only the tests of the page, and only the site of the docs need: nobody else fetches it.
compile requirements/ui.txt --group ui --constraint requirements/dev.txt "$@"
compile requirements/docs.txt --group docs --constraint requirements/dev.txt "$@"
# What only the container image has, and what only the one with launchers has.
compile requirements/image.txt --group image --constraint requirements/runtime.txt "$@"
compile requirements/launchers.txt --group launchers --constraint requirements/dev.txt "$@"
