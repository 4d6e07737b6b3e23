#!/usr/bin/env bash
# Make the images that the chart wants, as files for an engine without a registry: the hub from the
# Dockerfile, and PostgreSQL from Debian, with the variables of the usual image. Needs root.
#
# usage: images.sh FOLDER
# Then:  FOLDER/toolyard.tar (toolyard:latest), FOLDER/postgres.tar (postgres:17)
set -euo pipefail

folder=${1:?folder for the images}
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$folder"
folder=$(realpath "$folder")

say() { echo "kube: $*" >&2; }
fail() { say "$*"; exit 77; }

[ "$(id -u)" = 0 ] || fail "needs root, for an engine"
for each in dockerd docker runc; do command -v "$each" >/dev/null || fail "needs $each"; done
[ -f "$folder/base.tar" ] || "$root/scripts/image_base.sh" "$folder/base.tar"

state=$(mktemp -d)
export DOCKER_HOST=unix://$state/docker.sock DOCKER_BUILDKIT=0
dockerd --data-root "$state/data" --exec-root "$state/exec" -p "$state/pid" -H "$DOCKER_HOST" \
  --bridge none --iptables=false >"$state/log" 2>&1 </dev/null &
engine=$!
stop() {
  kill "$engine" 2>/dev/null
  wait "$engine" 2>/dev/null
  awk -v under="$state/" 'index($2, under) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount 2>/dev/null
  rm -rf "$state"
}
trap stop EXIT
for _ in $(seq 600); do
  docker version >/dev/null 2>&1 && break
  kill -0 "$engine" 2>/dev/null || { cat "$state/log" >&2; fail "the engine did not start"; }
  sleep 0.2
done

docker import "$folder/base.tar" toolyard-base >/dev/null
say "building toolyard:latest"
docker build --quiet --network host --build-arg PYTHON=toolyard-base --target slim --tag toolyard:latest "$root" >/dev/null
docker save toolyard:latest -o "$folder/toolyard.tar.part"
mv "$folder/toolyard.tar.part" "$folder/toolyard.tar"
if [ ! -f "$folder/postgres.tar" ]; then
  say "building postgres:17, which is Debian's"
  docker build --quiet --network host --tag postgres:17 --file "$root/scripts/kube/postgres.Dockerfile" "$root/scripts/kube" >/dev/null
  docker save postgres:17 -o "$folder/postgres.tar.part"
  mv "$folder/postgres.tar.part" "$folder/postgres.tar"
fi
say "made: $(ls -sh "$folder" | tr '\n' ' ')"
