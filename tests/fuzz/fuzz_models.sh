#!/bin/bash
# fuzz_models.sh FUZZER model|engine FOLDER SECONDS: libFuzzer from the real models. Exits with 77, "skipped", without HELX_MODELS.
set -euo pipefail
fuzzer=$1 kind=$2 folder=$3 seconds=$4
if [ -z "${HELX_MODELS:-}" ]; then
  echo "HELX_MODELS is not set"
  [ "${HELX_REQUIRE_MODELS:-0}" = 1 ] && exit 1
  exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
board=()
[ "$kind" = engine ] && board=(--board-byte)
python3 "$here/model_seeds.py" "$HELX_MODELS" "$folder/seeds" "${board[@]}"
mkdir -p "$folder/found"
cd "$folder"
exec "$fuzzer" -max_total_time="$seconds" -max_len=49153 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 found seeds
