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
exec "$(dirname "$0")/debian.sh" "${missing[@]}"
