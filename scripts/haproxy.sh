#!/usr/bin/env bash
# Install what `make test-fleet` balances with: HAProxy from Debian. It is neither started nor
# enabled here; the tests start their own on loopback and take it down again.
set -euo pipefail

if command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ]; then
  exit 0
fi
exec "$(dirname "$0")/debian.sh" haproxy
