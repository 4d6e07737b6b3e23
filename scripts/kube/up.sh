#!/usr/bin/env bash
# Start a cluster of one node from what build.sh made, in a network namespace of its own, with an
# engine of its own, so that nothing of this machine is touched. Needs root.
#
# usage: up.sh STATE_DIRECTORY [cache directory]
# Then:  STATE_DIRECTORY/kubeconfig, STATE_DIRECTORY/docker.sock, image python:local; Services are
#        reached from here by their addresses, and from pods by their names, too
set -euo pipefail

state=${1:?state directory}
cache=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/toolyard-kube}
space=toolyard-kube
here=10.197.0.1
node=10.197.0.2
services=10.96.0.0/16

say() { echo "kube: $*" >&2; }
fail() { say "$*"; exit 77; }

[ "$(id -u)" = 0 ] || fail "needs root, for a network namespace and an engine"
for each in dockerd runc etcd kubectl openssl ip nsenter socat iptables conntrack python3; do
  command -v "$each" >/dev/null || fail "needs $each"
done
[ -x "$cache/bin/kubelet" ] && [ -x "$cache/bin/kube-proxy" ] || fail "not built; run build.sh first"
[ ! -e "/run/netns/$space" ] || fail "there is one already; run down.sh first"

mkdir -p "$state"/{log,pid}
scripts=$(cd "$(dirname "$0")" && pwd)
state=$(realpath "$state")
bin=$(realpath "$cache/bin")
cd "$state"
# Places a kubelet writes to whatever it is told: those that are not there yet go with it again.
for each in /var/log/pods /var/log/containers /var/lib/dockershim /var/lib/kubelet \
  /usr/libexec/kubernetes /sys/fs/cgroup/*/kubepods; do
  [ -e "$each" ] || echo "$each"
done >strays

begin() {
  local name=$1
  shift
  setsid nsenter "--net=/run/netns/$space" "$@" >"log/$name.log" 2>&1 </dev/null &
  echo $! >"pid/$name"
}

until_true() { # tries, then the command
  local tries=$1
  shift
  while ! "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { tail -n 5 log/*.log >&2; fail "gave up waiting for: $*"; }
    sleep 0.2
  done
}

make_network() {
  ip netns add "$space"
  ip link add tykube0 type veth peer name tykube1 netns "$space"
  ip addr add "$here/24" dev tykube0
  ip link set tykube0 up
  ip -n "$space" addr add "$node/24" dev tykube1
  ip -n "$space" link set tykube1 up
  ip -n "$space" link set lo up
}

make_keys() {
  local curve="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
  {
    openssl genrsa -out accounts.key 2048
    openssl rsa -in accounts.key -pubout -out accounts.pub
    # shellcheck disable=SC2086
    openssl req -x509 $curve -days 30 -keyout ca.key -out ca.crt -subj /CN=toolyard-kube
    # shellcheck disable=SC2086
    openssl req $curve -keyout kubelet-client.key -out kubelet-client.csr -subj /O=system:masters/CN=api
    openssl x509 -req -in kubelet-client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out kubelet-client.crt
  } 2>/dev/null
  token=$(openssl rand -hex 16)
  (umask 077 && echo "$token,admin,admin,\"system:masters\"" >tokens.csv)
}

# Where root may not lower a score of the out-of-memory killer, no sandbox would start.
make_runtime() {
  cat >runtime <<X
#!/bin/sh
bundle="" before=""
for each in "\$@"; do
  case "\$before" in --bundle | -b) bundle="\$each" ;; esac
  before="\$each"
done
[ -z "\$bundle" ] || sed -i -E 's/"oomScoreAdj":-[0-9]+/"oomScoreAdj":0/' "\$bundle/config.json"
exec $(command -v runc) "\$@"
X
  chmod +x runtime
}

write_kubeconfig() {
  (umask 077 && cat >kubeconfig) <<X
apiVersion: v1
kind: Config
clusters: [{name: local, cluster: {server: "https://$node:16443", certificate-authority: "$state/certs/apiserver.crt"}}]
users: [{name: admin, user: {token: "$token"}}]
contexts: [{name: local, context: {cluster: local, user: admin}}]
current-context: local
X
}

write_kubelet() {
  cat >kubelet.yaml <<X
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node
readOnlyPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "$state/ca.crt"}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
enforceNodeAllocatable: []
failSwapOn: false
resolvConf: /dev/null
clusterDNS: ["$node"]
clusterDomain: cluster.local
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: "100Mi", nodefs.available: "1%", imagefs.available: "1%"}
X
}

write_proxy() {
  cat >proxy.yaml <<X
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: "$state/kubeconfig"}
mode: iptables
clusterCIDR: 172.17.0.0/16
hostnameOverride: node
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
X
}

# An image of this machine's own Python: no registry is asked.
make_python_image() {
  local root prefix version libs
  root=$(mktemp -d)
  prefix=$(python3 -c 'import sys; print(sys.base_prefix)')
  version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  libs=$root/lib/$(gcc -print-multiarch)
  mkdir -p "$root"/usr/local/{bin,lib} "$root"/{lib64,tmp,etc,bin,proc,sys,dev} "$libs"
  cp -L "$prefix/bin/python$version" "$root/usr/local/bin/python3"
  tar -C "$prefix/lib" --exclude=__pycache__ --exclude=test --exclude=site-packages --exclude=idlelib \
    --exclude=tkinter --exclude='config-*' --exclude=ensurepip -cf - "python$version" | tar -C "$root/usr/local/lib" -xf -
  {
    find "$prefix/bin/python$version" "$prefix/lib/python$version/lib-dynload" -type f -print0 |
      xargs -0 ldd 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*' || true
    dpkg -L libc6 libgcc-s1 zlib1g | grep '/lib/[^/]*/[^/]*\.so' || true
  } | sort -u | while read -r each; do if [ -f "$each" ]; then cp -L "$each" "$libs/"; fi; done
  cp -L /lib64/ld-linux-*.so.2 "$root/lib64/"
  cp -L "$(command -v dash)" "$root/bin/sh"
  printf 'root:x:0:0:root:/:/bin/sh\n' >"$root/etc/passwd"
  chmod 1777 "$root/tmp"
  tar -C "$root" -c . | docker -H "unix://$state/docker.sock" import \
    -c 'ENV PATH=/usr/local/bin:/bin' -c 'ENV PYTHONUNBUFFERED=1' -c 'CMD ["python3"]' - python:local >/dev/null
  rm -rf "$root"
}

make_pause_image() {
  mkdir -p pause
  cp "$bin/pause" pause/
  tar -C pause -c . | docker -H "unix://$state/docker.sock" import -c 'ENTRYPOINT ["/pause"]' - pause:local >/dev/null
}

make_network
make_keys
make_runtime
begin dockerd dockerd --data-root "$state/docker" --exec-root "$state/exec" -p "$state/pid/engine" \
  -H "unix://$state/docker.sock" --add-runtime "lenient=$state/runtime" --default-runtime lenient
begin etcd etcd --data-dir "$state/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
  --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
cat >api.sh <<X
#!/bin/sh
exec "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --bind-address=$node --advertise-address=$node \\
  --secure-port=16443 --cert-dir="$state/certs" --service-cluster-ip-range=$services \\
  --service-account-key-file="$state/accounts.pub" --service-account-signing-key-file="$state/accounts.key" \\
  --service-account-issuer=https://kubernetes.default.svc --token-auth-file="$state/tokens.csv" \\
  --authorization-mode=Node,RBAC --allow-privileged=true --endpoint-reconciler-type=none \\
  --client-ca-file="$state/ca.crt" --kubelet-client-certificate="$state/kubelet-client.crt" \\
  --kubelet-client-key="$state/kubelet-client.key" --kubelet-preferred-address-types=InternalIP
X
chmod +x api.sh
begin apiserver ./api.sh
write_kubeconfig
write_kubelet
export KUBECONFIG=$state/kubeconfig
until_true 300 kubectl get --raw /readyz
begin controllers "$bin/kube-controller-manager" --kubeconfig=kubeconfig --service-account-private-key-file=accounts.key \
  --root-ca-file=certs/apiserver.crt --use-service-account-credentials --bind-address=127.0.0.1 --port=0 \
  --cert-dir="$state/controllers" --leader-elect=false
begin scheduler "$bin/kube-scheduler" --kubeconfig=kubeconfig --bind-address=127.0.0.1 --port=0 \
  --cert-dir="$state/scheduler" --leader-elect=false
until_true 100 docker -H "unix://$state/docker.sock" version
make_pause_image
make_python_image
begin kubelet "$bin/kubelet" --kubeconfig=kubeconfig --config=kubelet.yaml --root-dir="$state/kubelet" \
  --cert-dir="$state/kubelet-pki" --container-runtime=docker --docker-endpoint="unix://$state/docker.sock" \
  --pod-infra-container-image=pause:local --hostname-override=node --node-ip="$node"
write_proxy
# The engine lets nothing through that it does not know, and Services it does not.
nsenter "--net=/run/netns/$space" iptables --policy FORWARD ACCEPT
begin proxy "$bin/kube-proxy" --config=proxy.yaml
begin dns python3 "$scripts/dns.py" "$node" "$state"
ip route replace "$services" via "$node"
until_true 300 sh -c 'kubectl get nodes | grep -q " Ready"'
until_true 100 kubectl get serviceaccount default
say "ready: KUBECONFIG=$state/kubeconfig"
