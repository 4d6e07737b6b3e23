#!/usr/bin/env bash
# Install what `make test-fleet` balances with: HAProxy from Debian. It is neither started nor
# enabled here; the tests start their own on loopback and take it down again.
set -euo pipefail

if command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "install this yourself, as root: haproxy" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# A package must not start a daemon on a machine that only wants to run tests.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq || true
apt-get install -y -qq --no-install-recommends haproxy >/dev/null
