#!/usr/bin/env bash
# Stop what up.sh started, and remove its state; what build.sh made stays.
#
# usage: down.sh STATE_DIRECTORY
set -uo pipefail

[ -d "${1:?state directory}/pid" ] || exit 0
state=$(realpath "$1")
export KUBECONFIG=$state/kubeconfig DOCKER_HOST=unix://$state/docker.sock

stop() {
  local pid
  pid=$(cat "$state/pid/$1" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null
  for _ in $(seq 50); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null
}

kubectl delete pods --all -A --grace-period=1 --timeout=20s >/dev/null 2>&1
for each in dns proxy kubelet controllers scheduler apiserver etcd; do stop "$each"; done
docker ps -aq 2>/dev/null | xargs -r docker rm -f >/dev/null 2>&1
stop dockerd
awk -v under="$state/" 'index($2, under) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount 2>/dev/null
while read -r each; do
  case $each in
    */kubepods) find /sys/fs/cgroup/*/kubepods -depth -type d -exec rmdir {} + 2>/dev/null ;;
    *) rm -rf "$each" ;;
  esac
done <"$state/strays"
ip netns del toolyard-kube 2>/dev/null
ip link del tykube0 2>/dev/null
rm -rf "$state"
echo "kube: stopped" >&2
