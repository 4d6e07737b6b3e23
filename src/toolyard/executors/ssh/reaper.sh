# Ends what one connection started, once that connection is gone. Runs in the shell at its far end, with the
# variables hub, owner and connection set: parts of the environment of the processes that it may end.
#
# It reads `add PID`, `del PID`, `stop KEY MARK PID ROUNDS`, `sweep KEY` and `memory KEY PID,PID,...`, and
# answers `KEY ...`; to `memory` with `PID:KIB` for each session. A round is half a second.
#
# A process is ours when it leads or belongs to the session of a pid that was added, when it carries the
# mark, or when one of these is its ancestor. A pid counts only while its start time is the one that was
# seen when it was added. Standard input ends with the connection, however that ends.
trap '' HUP INT TERM PIPE
exec 2>/dev/null
cd /
added=
# A group needs the dashes, and the kill of busybox takes them for a number.
send() { case $2 in -*) kill -s "$1" -- "$2" ;; *) kill -s "$1" "$2" ;; esac; }
start_of() { IFS= read -r stat < "/proc/$1/stat" || return; set -- ${stat##*) }; echo "${20}"; }
entry_of() { for entry in $added; do case $entry in "$1":*) echo "$entry" ;; esac; done; }
sessions() {
  for entry; do
    pid=${entry%%:*}
    [ -d "/proc/$pid" ] && [ "$(start_of "$pid")" != "${entry#*:}" ] || echo "$pid"
  done
}
marked() {
  set -- "$1" "$2" $(grep -lF -e "$1" /proc/[0-9]*/environ)
  with=$2; shift 2
  [ $# -eq 0 ] || if [ "$with" ]; then grep -LF -e "$with" "$@"; else echo "$@"; fi
}
family() {
  cat /proc/[0-9]*/status | awk -v roots="$1" -v marked="$2" '
    BEGIN { split(roots, r, " "); for (i in r) session[r[i]]; split(marked, m, " ") }
    /^State:/ { dead = $2 ~ /[ZX]/ }
    /^Pid:/ { pid = $2 }
    /^PPid:/ { if (!dead) parent[pid] = $2 }
    /^NSsid:/ { if (!dead && ($2 in session || pid in session)) ours[pid] }
    END {
      for (i in m) ours[m[i]]
      do {
        more = 0
        for (p in parent) if (!(p in ours) && parent[p] in ours) { ours[p]; more = 1 }
      } while (more)
      for (p in ours) if (p in parent) print p
    }'
}
ours() {
  mark=$1 without=$2; shift 2
  if [ -r /proc/self/status ]; then
    pids=$(marked "$mark" "$without" | tr -cs '0-9' ' ')
    family "$(sessions "$@" | tr '\n' ' ')" "$pids"
  else
    for entry; do send 0 "-${entry%%:*}" && echo "-${entry%%:*}"; done
  fi
}
nap() {
  for tick in 1 2 3 4 5; do
    sleep 0.1 || sleep 1
    alive=; for process; do send 0 "$process" && alive=1; done
    [ "$alive" ] || return
  done
}
end() {
  rounds=$1 round=0; shift
  while [ $round -lt $((rounds + 10)) ]; do
    left=$(ours "$@")
    [ "$left" ] || return
    signal=
    [ $round -eq 0 ] && signal=TERM
    [ $round -ge "$rounds" ] && signal=KILL
    [ -z "$signal" ] || for process in $left; do send $signal "$process"; done
    nap $left
    round=$((round + 1))
  done
}
sweep() {
  for process in $(ours "$hub" "$owner"); do
    echo "$process($(tr -cd 'A-Za-z0-9._-' < "/proc/$process/comm"))"
  done | tr '\n' ' '
  end 2 "$hub" "$owner"
}
memory() {
  if [ -r /proc/self/status ]; then
    cat /proc/[0-9]*/status |
      awk '/^Pid:/ { its = $2 } /^NSsid:/ { its = $2 } /^VmRSS:/ { print its, $2 }'
  else
    ps -A -o pgid= -o rss=
  fi | awk -v wanted="$1" '
    BEGIN { split(wanted, w, ","); for (i in w) session[w[i]] }
    $1 in session { kib[$1] += $2 }
    END { for (s in kib) printf "%s:%d ", s, kib[s] }'
}
echo 0
while read -r verb key mark pid rounds; do
  case $verb in
    add) added="$added $key:$(start_of "$key")" ;;
    del) gone=$(entry_of "$key"); left=
         for entry in $added; do [ "$entry" = "$gone" ] || left="$left $entry"; done; added=$left ;;
    stop) { end "$rounds" "$mark" '' $(entry_of "$pid"); echo "$key"; } & ;;
    memory) { sizes=$(memory "$mark"); echo "$key $sizes"; } & ;;
    sweep) { swept=$(sweep); echo "$key $swept"; } & ;;
  esac
done
end 6 "$connection" '' $added
