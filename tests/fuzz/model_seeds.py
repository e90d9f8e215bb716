#!/usr/bin/env python3
"""Seeds for the fuzz targets of models: the small real models, and the damaged ones.

  model_seeds.py MODELS_DIR OUT_DIR [--board-byte]

Writes every .tflite file of at most 48 KiB. With --board-byte each begins with a byte that chooses the board, as
engine_fuzz.cc reads it.
"""
import argparse
import os

LIMIT_BYTES = 48 << 10
BOARDS = 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models")
    parser.add_argument("out")
    parser.add_argument("--board-byte", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    count = 0
    for folder, _, names in sorted(os.walk(options.models)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith(".tflite") or os.path.getsize(path) > LIMIT_BYTES:
                continue
            with open(path, "rb") as file:
                data = file.read()
            if options.board_byte:
                data = bytes([count % BOARDS]) + data
            with open(os.path.join(options.out, os.path.relpath(path, options.models).replace("/", "_")), "wb") as file:
                file.write(data)
            count += 1
    print(f"{count} seeds")


if __name__ == "__main__":
    main()
