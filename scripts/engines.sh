#!/usr/bin/env bash
# Install what `make test-executors` runs servers on: a docker daemon and an ssh daemon.
# Neither is started or enabled here; the tests start their own and take them down again.
set -euo pipefail

missing=()
command -v dockerd >/dev/null || missing+=(docker.io)
command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || missing+=(openssh-server)
command -v ip >/dev/null || missing+=(iproute2)
if [ ${#missing[@]} -eq 0 ]; then
  echo "all there"
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "install these yourself, as root: ${missing[*]}" >&2
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
apt-get install -y -qq --no-install-recommends "${missing[@]}"
