#!/usr/bin/env python3
"""Writes the fuzzer's seed inputs from the committed corpus: make_seeds.py CORPUS OUT.

One file per distinct graph, vector and set member, with the byte that chooses the reader
(tests/fuzz/whg1/whg1_fuzz.cc) in front.
"""

import base64
import hashlib
import json
import pathlib
import sys

LOWERINGS = ["conv", "hyper", "world", "gru", "mlp", "tflite"]


def main() -> None:
    corpus, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    seeds = set()
    for path in sorted(corpus.glob("*/*.jsonl")):
        for line in path.read_bytes().splitlines():
            if path.parent.name == "stage":
                seeds.add(b"\x05" + line)
            else:
                seeds.add(b"\x01" + base64.b64decode(json.loads(line)["graph"]))
                seeds.add(b"\x0d" + line)
    for path in sorted(corpus.glob("sets/*/*")):
        for index, name in enumerate(LOWERINGS):
            if path.parent.name.startswith(name):
                seeds.add(bytes([8 * index + 6]) + path.read_bytes())
        seeds.add(b"\x04" + path.read_bytes().rstrip(b"\n"))
    for seed in seeds:
        (out / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    print(f"{len(seeds)} seeds in {out}")


if __name__ == "__main__":
    main()
