#!/usr/bin/env bash
# Make a base for the Dockerfile where no registry can be reached: Debian with Python, from the
# mirror, the certificates and the settings of pip that this machine uses.
#
# usage: image_base.sh FILE.tar
# Then:  docker import FILE.tar toolyard-base && docker build --build-arg PYTHON=toolyard-base .
set -euo pipefail

file=${1:?file of the image}
if ! command -v mmdebstrap >/dev/null; then
  "$(dirname "$0")/debian.sh" mmdebstrap || exit 77
fi
mkdir -p "$(dirname "$file")"
hooks=(--customize-hook='copy-in /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs')
[ ! -f /etc/pip.conf ] || hooks+=(--customize-hook='copy-in /etc/pip.conf /etc')
mmdebstrap --quiet --format=tar --variant=apt --include=ca-certificates,python3,python3-pip,python3-venv \
  "${hooks[@]}" bookworm "$file.part"
mv "$file.part" "$file"
echo "made $file: $(du -h "$file" | cut -f1)" >&2
