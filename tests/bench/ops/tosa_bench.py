#!/usr/bin/env python3
"""Multiply-accumulates per second of TOSA's reference model and of the interpreter, side by side.

    python3 -m venv VENV && VENV/bin/pip install tosa-tools
    tosa_bench.py VENV HELX_OPS_BENCH

tosa-tools generates one int8 convolution of each kind with its own random data and runs it; then
helx_ops_bench runs a convolution of the same dims in acc32. The processor's time counts, less that
of a convolution too small to matter, which is what starting the reference model costs; the best of
three runs is shown.
"""

import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

RUNS = 3
# Operator, input shape [N, H, W, C], kernel, greatest padding.
CASES = [("conv2d", "1,32,32,128", "3,3", 1), ("conv2d", "1,32,32,512", "1,1", 0),
         ("depthwise_conv2d", "1,64,64,64", "3,3", 1)]
TINY = ("conv2d", "1,4,4,1", "1,1", 0)


def generate(tools, folder, operator, shape, kernel, padding):
    """Generates the convolutions of a case; gives the folder of the most padded one."""
    command = ["tosa_verif_build_tests", "-o", folder, "--filter", f"^{operator}$",
               "--test-type", "positive", "--target-dtype", "int8", "--profile", "tosa-pro-int",
               "--target-shape", shape, "--conv-kernel", kernel, "--max-conv-stride", "1",
               "--max-conv-padding", str(padding), "--max-conv-dilation", "1",
               "--no-special-tests", "--num-rand-permutations", "1"]
    subprocess.run(command, check=True, env=tools, stdout=subprocess.DEVNULL)
    return max(path.parent for path in pathlib.Path(folder).rglob("desc.json")
               if f"pad{str(padding) * 4}_" in str(path))


def seconds(tools, folder):
    """The least processor time of a run."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["tosa_reference_model", "--test_desc", "desc.json"], cwd=folder,
                       check=True, env=tools, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def interpreter(bench, given):
    """MAC/s of helx_ops_bench on one convolution."""
    text = subprocess.run([bench, "--benchmark_filter=GivenConv", "--benchmark_format=json", given],
                          check=True, capture_output=True).stdout
    return json.loads(text)["benchmarks"][0]["MAC/s"]


def main():
    tools = {**os.environ, "PATH": f"{pathlib.Path(sys.argv[1]).resolve() / 'bin'}:"
                                   + os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as name:
        start = seconds(tools, generate(tools, f"{name}/tiny", *TINY))
        for index, case in enumerate(CASES):
            folder = generate(tools, f"{name}/{index}", *case)
            tensors = json.loads((folder / "desc.json").read_bytes())["meta"]["data_gen"]["tensors"]
            weights = tensors["const-0"]["shape"]
            height, width = map(int, case[1].split(",")[1:3])
            # Strides of 1 and a padding of half the kernel: as many outputs as inputs.
            macs = height * width * math.prod(weights)
            spent = seconds(tools, folder) - start
            cin = int(case[1].split(",")[3])
            depthwise = case[0] == "depthwise_conv2d"
            # conv2d's weights are [OC, KH, KW, IC], depthwise_conv2d's [KH, KW, C, M].
            cout = cin * weights[3] if depthwise else weights[0]
            given = f"{cin},{cout},{cin if depthwise else 1},{case[2].split(',')[0]},{height}"
            theirs, ours = macs / spent, interpreter(sys.argv[2], given)
            print(f"{case[0]} {case[1]}, weights {weights}: {macs / 1e6:.0f} MMAC in {spent:.3f} s: "
                  f"{theirs / 1e9:.4f} GMAC/s; the interpreter {ours / 1e9:.2f}: "
                  f"{ours / theirs:.0f} x", flush=True)


if __name__ == "__main__":
    main()
