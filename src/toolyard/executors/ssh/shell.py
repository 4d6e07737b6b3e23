"""What is said to the shell on a remote host: how to start a server, and what ends it for sure.

Everything goes over the stdin of one constant command, so neither arguments nor environment pass
through the login shell there, and no value is ever on a command line where `ps` shows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from toolyard.core.errors import StartError
from toolyard.core.placement import Run
from toolyard.core.sites import Placement

# One line without backslash, newline or exclamation mark: csh and fish read it as sh does.
LOADER: Final = (
    "exec sh -c 'echo toolyard-shell $$; while IFS= read -r _ty; do eval \"$_ty\"; done' toolyard"
)
SIGN: Final = b"toolyard-shell "
"""How a line of ours begins; whatever a profile there prints before does not."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Names of ours begin with `_ty`, so that none is one the server declares.
_NEWLINE = r"_ty_n=$(printf '\n_'); _ty_n=${_ty_n%_}"


def lines(texts: Iterable[str]) -> bytes:
    """Give the lines as the shell there reads them."""
    return os.fsencode("".join(f"{text}\n" for text in (_NEWLINE, *texts)))


def word(text: str) -> str:
    """Give the text as one word of sh, on one line."""
    return "'" + text.replace("'", "'\"'\"'").replace("\n", "'\"$_ty_n\"'") + "'"


def launch(run: Run, marks: Iterable[tuple[str, str]]) -> bytes:
    """Give what turns the waiting shell into the server: folder, environment, program.

    It says `ok` before it does, or what is wrong: `cwd`, `missing PATH`, `script INTERPRETER`,
    `limit NAME`.

    Raises:
        StartError: The command cannot be a command.
    """
    _check(run)
    command = run.command
    texts = [f"export {name}={word(value)}" for name, value in (*command.env, *marks)]
    if command.cwd is not None:
        texts.append(f"cd {word(command.cwd)} 2>/dev/null || {{ {_say('cwd')}; exit 126; }}")
    texts += [f"_ty_p={word(command.argv[0])}", f"eval {word(_LOOK)}"]
    # Last: what looks for the program is not to be short of processes or memory.
    texts += [*_limits(run.placement), _say("ok"), "unset _ty_p"]
    return lines([*texts, "exec " + " ".join(map(word, command.argv))])


def refusal(run: Run, host: str, said: str, noise: str) -> StartError:
    """Give why the shell there did not become the server, by what it said and by other noise."""
    start = f'cannot start "{run.name}": '
    kind, _, rest = said.partition(" ")
    program = run.command.argv[0]
    if kind == "cwd":
        folder = run.command.cwd
        return StartError(
            f'{start}its working folder "{folder}" does not exist on {host}',
            "create the folder there or correct `cwd`",
        )
    if kind == "missing" and "/" in program:
        return StartError(
            f'{start}"{program}" is no program on {host}', "install it there or correct the path"
        )
    if kind == "missing":
        return StartError(
            f'{start}"{program}" was not found on the PATH of {host}',
            f"install it there or give its full path; looked in {', '.join(rest.split(':'))}",
        )
    if kind == "script":
        return StartError(
            f'{start}"{program}" asks for "{rest}", which {host} has not', "install that there"
        )
    if kind == "limit":
        return StartError(
            f"{start}the shell of {host} cannot limit its {rest}",
            f'remove "{rest}" from its `executor`, or run it where that can be limited',
        )
    return StartError(
        f"{start}the shell of {host} did not start it: {noise or 'it says nothing'}",
        "try the command there by hand",
    )


def warden(hub: str, owner: str, trunk: str) -> bytes:
    """Give the program that ends what a connection started once that connection is gone.

    The marks are parts of the environment of the processes it may end: all of this hub, all of
    this start of it, all of this connection.
    """
    names = f"hub={word(hub)} owner={word(owner)} trunk={word(trunk)}"
    return lines([names, f"eval {word(_WARDEN)}", "exit"])


def _limits(placement: Placement) -> Iterator[str]:
    """Lines that set what it may use; a limit of the host that is lower stays and will do.

    Memory is that which is private and writable, as for local servers. Shells differ in the
    letter for processes; in those that know the first, the second means something else.
    """
    for name, letters, most in (
        ("descriptors", "-n", placement.descriptors),
        ("processes", "-u -p", placement.processes),
        ("memory", "-d", placement.memory << 10),
    ):
        if most:
            is_set = f'ulimit $_ty {most:d} || [ "$(ulimit -H $_ty)" -le {most:d} ]'
            attempt = f"for _ty in {letters}; do {{ {is_set}; }} 2>/dev/null && break; done"
            yield f"{attempt} || {{ {_say(f'limit {name}')}; exit 126; }}"


def _say(text: str) -> str:
    return f"echo {SIGN.decode().strip()} {text}"


def _check(run: Run) -> None:
    command = run.command
    if not command.argv or not command.argv[0]:
        raise StartError(
            f'cannot start "{run.name}": its command is empty', "name a program to run"
        )
    if any("\0" in text for text in (*command.argv, command.cwd or "")):
        raise StartError(
            f'cannot start "{run.name}": its command holds a zero byte',
            "remove it from the command",
        )
    for name, value in command.env:
        if not _NAME.fullmatch(name) or "\0" in value:
            raise StartError(
                f'cannot start "{run.name}": the environment variable {name!r} cannot be set there',
                "names consist of letters, digits and underscores, values hold no zero byte",
            )


# A shell tells a missing program only after it has become it, so look before.
_LOOK: Final = f"""
case $_ty_p in
  */*) [ -f "$_ty_p" ] && [ -x "$_ty_p" ] || {{ {_say('missing "$PATH"')}; exit 127; }} ;;
  *) _ty_p=$(command -v "$_ty_p") || {{ {_say('missing "$PATH"')}; exit 127; }} ;;
esac
_ty=
case $_ty_p in */*) {{ IFS= read -r _ty < "$_ty_p"; }} 2>/dev/null ;; esac
case $_ty in
  '#!'*) set -- ${{_ty#??}}; [ -x "$1" ] || {{ {_say('script "$1"')}; exit 126; }} ;;
esac
"""

# Hears `add PID`, `del PID`, `stop KEY MARK PID ROUNDS`, `sweep KEY` and `taken KEY PID,PID,…`;
# answers `KEY …`, the last with `PID:KIB` for the memory of each session. A round is half a second.
# Ours is who leads or is in the session of a pid that was added, who carries the mark, and all
# their descendants; a pid counts only while its start time is that of the one added. Its input
# ends with the connection, however that ends.
_WARDEN: Final = r"""
trap '' HUP INT TERM PIPE
exec 2>/dev/null
cd /
known=
# A group needs the dashes, and the kill of busybox takes them for a number.
send() { case $2 in -*) kill -s "$1" -- "$2" ;; *) kill -s "$1" "$2" ;; esac; }
start_of() { IFS= read -r stat < "/proc/$1/stat" || return; set -- ${stat##*) }; echo "${20}"; }
entry_of() { for each in $known; do case $each in "$1":*) echo "$each" ;; esac; done; }
sessions() {
  for each; do
    pid=${each%%:*}
    [ -d "/proc/$pid" ] && [ "$(start_of "$pid")" != "${each#*:}" ] || echo "$pid"
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
    found=$(marked "$mark" "$without" | tr -cs '0-9' ' ')
    family "$(sessions "$@" | tr '\n' ' ')" "$found"
  else
    for each; do send 0 "-${each%%:*}" && echo "-${each%%:*}"; done
  fi
}
nap() {
  for tick in 1 2 3 4 5; do
    sleep 0.1 || sleep 1
    alive=; for each; do send 0 "$each" && alive=1; done
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
    [ -z "$signal" ] || for each in $left; do send $signal "$each"; done
    nap $left
    round=$((round + 1))
  done
}
sweep() {
  for each in $(ours "$hub" "$owner"); do
    echo "$each($(tr -cd 'A-Za-z0-9._-' < "/proc/$each/comm"))"
  done | tr '\n' ' '
  end 2 "$hub" "$owner"
}
taken() {
  if [ -r /proc/self/status ]; then
    cat /proc/[0-9]*/status |
      awk '/^Pid:/ { its = $2 } /^NSsid:/ { its = $2 } /^VmRSS:/ { print its, $2 }'
  else
    ps -A -o pgid= -o rss=
  fi | awk -v wanted="$1" '
    BEGIN { split(wanted, w, ","); for (i in w) known[w[i]] }
    $1 in known { kib[$1] += $2 }
    END { for (s in kib) printf "%s:%d ", s, kib[s] }'
}
echo 0
while read -r verb key mark pid rounds; do
  case $verb in
    add) known="$known $key:$(start_of "$key")" ;;
    del) gone=$(entry_of "$key"); kept=
         for each in $known; do [ "$each" = "$gone" ] || kept="$kept $each"; done; known=$kept ;;
    stop) { end "$rounds" "$mark" '' $(entry_of "$pid"); echo "$key"; } & ;;
    taken) { found=$(taken "$mark"); echo "$key $found"; } & ;;
    sweep) { swept=$(sweep); echo "$key $swept"; } & ;;
  esac
done
end 6 "$trunk" '' $known
"""
