#!/bin/sh
# The smallest MCP server: it needs nothing but a shell. Its tool `ping` returns "pong"; `reach` returns
# the HTTP status of an address. Any other method gets an error, so that a client which begins with the
# newest revision tries an older one.
while IFS= read -r line; do
  case "$line" in *'"id":'*) ;; *) continue ;; esac
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"probe","version":"1"}}' ;;
    *'"tools/list"'*) say '{"tools":[{"name":"ping","inputSchema":{"type":"object"}},{"name":"reach","inputSchema":{"type":"object"}}]}' ;;
    *'"reach"'*)
      url=${line#*'"url":"'}; url=${url%%'"'*}
      if command -v curl >/dev/null 2>&1; then code=$(curl -s -o /dev/null -m 5 -w '%{http_code}' "$url")
      elif command -v wget >/dev/null 2>&1; then wget -q -T 5 -O /dev/null "$url" && code=200 || code=000
      elif command -v python3 >/dev/null 2>&1; then code=$(python3 -c 'import sys,urllib.request as u; print(u.urlopen(sys.argv[1],timeout=5).status)' "$url" 2>/dev/null || echo 000)
      else code=unknown; fi
      say "{\"content\":[{\"type\":\"text\",\"text\":\"$code\"}]}" ;;
    *'"ping"'*) say '{"content":[{"type":"text","text":"pong"}]}' ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
  esac
done
