#!/bin/sh
# Write the root of an image to stdout as a tar: this machine's own Python and what it links to.
# Nothing is pulled, nothing installed. Usage: image.sh PYTHON
set -e
exec 3>&1 >&2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
prefix=$("$1" -c 'import sys; print(sys.base_prefix)')
version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
mkdir -p "$root/usr/local/bin" "$root/usr/local/lib" "$root/bin" "$root/etc" "$root/tmp" \
  "$root/proc" "$root/sys" "$root/dev"
cp -L "$prefix/bin/python$version" "$root/usr/local/bin/python3"
tar -C "$prefix/lib" --exclude=__pycache__ --exclude=test --exclude=site-packages \
  --exclude=idlelib --exclude=tkinter --exclude='config-*' --exclude=ensurepip \
  -cf - "python$version" | tar -C "$root/usr/local/lib" -xf -
cp -L "$(command -v dash || command -v sh)" "$root/bin/sh"
# Every library goes to the path it has here, so that the loader finds it without a cache.
{
  ldd "$prefix/bin/python$version" "$root/bin/sh"
  find "$prefix/lib/python$version/lib-dynload" -name '*.so' -exec ldd {} + 2>/dev/null
} | grep -o '/[^ ]*\.so[^ ]*' | grep -v lib-dynload | sort -u | while read -r library; do
  [ -f "$library" ] || continue
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
printf 'root:x:0:0::/:/bin/sh\nserver:x:1000:1000::/tmp:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nserver:x:1000:\n' >"$root/etc/group"
chmod 755 "$root"
chmod 1777 "$root/tmp"
tar -C "$root" -c . >&3
