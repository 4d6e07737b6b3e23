#!/usr/bin/env bash
# Print a folder with the compose plugin of docker, to be used as DOCKER_CONFIG: the plugin of this
# machine, or Debian's, which is newer than this release and is unpacked into the cache.
set -euo pipefail

cache=$(cd "$(dirname "$0")/.." && pwd)/.cache/compose
plugin=$cache/cli-plugins/docker-compose
release=trixie

if [ -x "$plugin" ]; then
  echo "$cache"
  exit 0
fi
mkdir -p "$cache/cli-plugins"
for folder in "$HOME/.docker" /usr/local/lib/docker /usr/local/libexec/docker /usr/lib/docker /usr/libexec/docker; do
  if [ -x "$folder/cli-plugins/docker-compose" ]; then
    ln -sf "$folder/cli-plugins/docker-compose" "$plugin"
    echo "$cache"
    exit 0
  fi
done

missing() { echo "install this yourself: docker compose" >&2; exit 77; }
command -v apt-get >/dev/null || missing
mirror=$(find /etc/apt -name '*.sources' -o -name '*.list' | xargs cat |
  sed -nE 's|^[^#]*[ :]([a-z+]+://[^ ]*/debian)/?( .*)?$|\1|p' | sort -u | sed q)
[ -n "$mirror" ] || missing
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$work/sources.list"
options=(-qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o Acquire::Languages=none
  -o APT::Sandbox::User=root)
apt-get "${options[@]}" update >&2 || missing
(cd "$work" && apt-get "${options[@]}" download docker-compose >&2) || missing
dpkg -x "$work"/docker-compose_*.deb "$work/unpacked"
install -m 755 "$work/unpacked/usr/libexec/docker/cli-plugins/docker-compose" "$plugin"
echo "$cache"
