#!/usr/bin/env bash
# Build a whole Kubernetes (1.20.2) from the source package of Debian 12, with no image registry and
# no Go module proxy at hand. Takes 7 minutes on two idle cores; what it makes stays in the cache, and a
# build that was stopped goes on where it was.
#
# usage: build.sh [cache directory]
set -euo pipefail

cache=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/toolyard-kube}
programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy)
packages="golang-go jq rsync dpkg-dev bsdextrautils etcd-server docker.io socat conntrack iptables gcc libc6-dev"

say() { echo "kube: $*" >&2; }
fail() { say "$*"; exit 77; } # 77: cannot be had on this machine, which is no failure of ours

is_built() {
  local each
  for each in "${programs[@]}" pause; do [ -x "$cache/bin/$each" ] || return 1; done
}

check_tools() {
  local each
  [ -x /usr/lib/go-1.19/bin/go ] || fail "needs Go 1.19: apt-get install --no-install-recommends $packages"
  for each in jq rsync dpkg-source gcc make; do
    command -v "$each" >/dev/null || fail "needs $each: apt-get install --no-install-recommends $packages"
  done
}

# The source package comes from the mirror this machine already uses, over lists of its own.
fetch() {
  local mirror options
  mirror=$(find /etc/apt -name '*.sources' -o -name '*.list' | xargs cat |
    sed -nE 's|^[^#]*[ :]([a-z+]+://[^ ]*/debian)/?( .*)?$|\1|p' | sort -u | sed q)
  [ -n "$mirror" ] || fail "found no mirror of Debian in /etc/apt"
  mkdir -p apt/lists/partial apt/archives/partial
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main" >apt/sources.list
  options=(-qq -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt")
  apt-get "${options[@]}" update || fail "the mirror does not answer"
  apt-get "${options[@]}" source --download-only kubernetes || fail "the mirror has no source of kubernetes"
  rm -rf src unpacked
  dpkg-source -x kubernetes_*.dsc unpacked >/dev/null
  mv unpacked src
}

compile() {
  cd src
  mkdir -p .go/src/k8s.io
  ln -sfn ../../.. .go/src/k8s.io/kubernetes
  printf "KUBE_GIT_%s\n" "COMMIT='0'" "TREE_STATE='archive'" "VERSION='v1.20.2'" "MAJOR='1'" "MINOR='20'" >../version
  PATH=/usr/lib/go-1.19/bin:$PATH GOROOT=/usr/lib/go-1.19 GOPATH=$PWD/.go GOCACHE=$PWD/.gocache \
    CGO_ENABLED=0 GOPROXY=off GOFLAGS= GOGC=400 KUBE_GIT_VERSION_FILE=$PWD/../version \
    make WHAT="${programs[*]/#/cmd/}"
  mkdir -p "$cache/bin"
  gcc -Os -static -o "$cache/bin/pause" build/pause/linux/pause.c
  cp _output/bin/kube* "$cache/bin/"
  cd ..
}

if is_built; then
  say "already built in $cache/bin"
  exit 0
fi
check_tools
mkdir -p "$cache"
work=$cache/build
mkdir -p "$work"
exec 9>"$work/lock"
flock -n 9 || fail "somebody else builds in $work"
cd "$work"
if [ ! -d src ]; then
  say "fetching the source"
  fetch
fi
say "building in $work; this takes a while"
compile
chmod -R u+w "$work"
rm -rf "$work"
say "built: $(du -sh "$cache/bin" | cut -f1) in $cache/bin"
