#!/usr/bin/env bash
# Install packages of Debian for tests: scripts/debian.sh PACKAGE...
# A package must not start a daemon on a machine that only wants to run tests.
set -euo pipefail

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "install these yourself, as root: $*" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq || true
apt-get install -y -qq --no-install-recommends "$@" >/dev/null
