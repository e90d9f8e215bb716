#!/bin/sh
# wai-verify as a wasm32-wasip2 component: component_test.sh WAI_VERIFY.wasm CORPUS. jco (npm's
# @bytecodealliance/jco) wraps the command in the component's interfaces and runs it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/run" "$folder/empty"
jco new "$1" --wasi-command -o "$folder/wai-verify.component.wasm"

# jco gives a component no folder on its own; this module, beside the shim jco links into its
# output folder, gives it the corpus and nothing else of the disk but an empty folder.
cat > "$folder/run/folders.mjs" <<'MODULE'
import { _setPreopens } from '@bytecodealliance/preview2-shim/filesystem';
_setPreopens({ '/corpus': process.env.HELX_CORPUS, '/empty': process.env.HELX_EMPTY });
MODULE
export HELX_CORPUS="$2" HELX_EMPTY="$folder/empty"
component() {
  jco run --jco-dir "$folder/run" --jco-import "$folder/run/folders.mjs" \
    "$folder/wai-verify.component.wasm" "$@"
}

component vectors verify /corpus
# What the command refuses, the component refuses: an empty folder is not the corpus.
if component vectors verify /empty; then
  echo "an empty folder was accepted"
  exit 1
fi
