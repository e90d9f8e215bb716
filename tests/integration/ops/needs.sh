#!/bin/sh
# needs.sh VARIABLE PROGRAM... -- COMMAND...: runs COMMAND when every PROGRAM is on the path.
# Otherwise it exits 77, which CTest counts as skipped, or 1 when VARIABLE is 1 in the environment:
# an environment that promises the programs must not skip.
variable=$1
shift
while [ "$1" != -- ]; do
  if ! command -v "$1" >/dev/null; then
    echo "$1 is not installed; install it, or unset $variable to skip"
    eval "required=\${$variable:-0}"
    [ "$required" = 1 ] && exit 1
    exit 77
  fi
  shift
done
shift
exec "$@"
