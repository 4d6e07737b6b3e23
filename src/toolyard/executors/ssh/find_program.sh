# Checks that the program in _ty_p can be executed here, before the shell becomes it: a shell reports a
# missing program only after that. Names begin with _ty, so that none is a variable of the server.
case $_ty_p in
  */*) [ -f "$_ty_p" ] && [ -x "$_ty_p" ] || { echo toolyard-shell missing "$PATH"; exit 127; } ;;
  *) _ty_p=$(command -v "$_ty_p") || { echo toolyard-shell missing "$PATH"; exit 127; } ;;
esac
_ty=
case $_ty_p in */*) { IFS= read -r _ty < "$_ty_p"; } 2>/dev/null ;; esac
case $_ty in
  '#!'*) set -- ${_ty#??}; [ -x "$1" ] || { echo toolyard-shell script "$1"; exit 126; } ;;
esac
