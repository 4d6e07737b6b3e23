#!/usr/bin/env bash
# Run a command where there is no network but loopback, if the system allows it. Chromium gives up its
# requests (ERR_NETWORK_CHANGED) whenever an interface comes or goes, and containers beside the tests make
# interfaces all the time.
#
#   scripts/alone.sh COMMAND [WORD ...]
set -euo pipefail
readonly inside='ip link set lo up && exec "$@"'
if unshare -n -- sh -c "$inside" sh true 2>/dev/null; then
  exec unshare -n -- sh -c "$inside" sh "$@"
fi
exec "$@"
