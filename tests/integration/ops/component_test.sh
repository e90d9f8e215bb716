#!/bin/sh
# wai-verify as a wasm32-wasip2 component: component_test.sh WAI_VERIFY.wasm CORPUS. jco (npm's
# @bytecodealliance/jco) wraps the command in the component's interfaces and runs it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
jco new "$1" --wasi-command -o "$folder/wai-verify.component.wasm"
jco run "$folder/wai-verify.component.wasm" vectors verify "$2"
# What the command refuses, the component refuses: an empty folder is not the corpus.
mkdir "$folder/empty"
if jco run "$folder/wai-verify.component.wasm" vectors verify "$folder/empty"; then
  echo "an empty folder was accepted"
  exit 1
fi
