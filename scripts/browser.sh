#!/usr/bin/env bash
# See to it that the page can be tested: playwright, a chromium and, where npm is, axe-core.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}

if ! "$python" -c 'import playwright' 2>/dev/null; then
  "$python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/ui.txt
fi

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium ..."
    apt-get install -y --no-install-recommends chromium >/dev/null 2>&1 ||
      { apt-get update >/dev/null && apt-get install -y --no-install-recommends chromium >/dev/null; }
  else
    echo "chromium is missing; on Debian and Ubuntu: apt install chromium" >&2
    exit 1
  fi
fi

axe=.cache/axe
if [ ! -f "$axe/node_modules/axe-core/axe.min.js" ]; then
  if command -v npm >/dev/null; then
    mkdir -p "$axe"
    npm install --silent --no-audit --no-fund --prefix "$axe" axe-core@4 ||
      echo "axe-core could not be installed; accessibility is not checked"
  else
    echo "npm is missing; accessibility is not checked"
  fi
fi
