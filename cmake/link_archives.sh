#!/bin/bash
# link_archives.sh LINKER ARGUMENTS...: links with the archives of gRPC, Protocol Buffers and Abseil instead of their shared
# libraries, when all of them are installed: a command that runs for milliseconds spends most of them in relocating some fifty
# libraries otherwise. Mixing the two would give the program two copies of what they share, so it is all or none.
set -euo pipefail
arguments=()
for argument in "$@"; do
  case $argument in
    */libgrpc*.so* | */libgpr.so* | */libupb.so* | */libaddress_sorting.so* | */libabsl_*.so* | */libprotobuf.so*)
      archive=${argument%%.so*}.a
      [ -e "$archive" ] || exec "$@"
      argument=$archive
      ;;
  esac
  arguments+=("$argument")
done
exec "${arguments[@]}"
