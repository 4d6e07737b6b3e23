#!/usr/bin/env bash
# Print the path of Helm: the one of this machine, or one that is built into the cache with Go.
set -euo pipefail

version=v4.3.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/toolyard-helm

if command -v helm; then
  exit 0
fi
if [ ! -x "$cache/helm" ]; then
  command -v go >/dev/null || { echo "install this yourself: helm" >&2; exit 77; }
  GOBIN=$cache CGO_ENABLED=0 GOFLAGS=-trimpath go install "helm.sh/helm/v4/cmd/helm@$version" >&2
fi
echo "$cache/helm"
