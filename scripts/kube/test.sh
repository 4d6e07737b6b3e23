#!/usr/bin/env bash
# Run the tests that need a cluster: build one into the cache if there is none, and the images of the
# chart, start it, run, stop.
# Says why and leaves with 0 where a cluster cannot be had.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}

skip() {
  echo "skipped: no cluster on this machine, as said above" >&2
  exit 0
}

"$here/build.sh"
case $? in 0) ;; 77) skip ;; *) exit 1 ;; esac
images=${XDG_CACHE_HOME:-$HOME/.cache}/toolyard-image
"$here/images.sh" "$images"
case $? in 0) ;; 77) images="" ;; *) exit 1 ;; esac
state=$(mktemp -d /tmp/toolyard-kube.XXXXXX)
trap '"$here/down.sh" "$state"; rm -rf "$state"' EXIT
"$here/up.sh" "$state"
case $? in 0) ;; 77) skip ;; *) exit 1 ;; esac
TOOLYARD_KUBE=$state TOOLYARD_KUBE_IMAGES=$images "$python" -m pytest -m k8s "$@"
