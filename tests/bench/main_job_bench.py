#!/usr/bin/env python3
"""What the service costs on top of the compiler and the emulator, as ratios measured side by side.

  main_job_bench.py BUILD_DIR MODELS_DIR [--rounds N]

For each of ten models: an uncached `helxctl submit --wait` (kernels warm) against replaying the very commands that job
recorded (build/commands.json, timing.json), in turn, and the ratio of the sums of medians. Then an identical request
answered from the store against `helxctl version`. Prints a table and the ratios; judges nothing.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

MODELS = ["mlperf_kws_dscnn_int8", "mlperf_vww_mobilenetv1_025_96_int8", "mlperf_ic_resnet8_int8",
          "mlperf_ad_autoencoder_int8", "tflm_hello_world_int8", "tflm_micro_speech_int8", "tflm_person_detect_int8",
          "arduino_magic_wand_int8", "tflm_simple_add_int8", "tinyengine_lenet_300_100_ptq"]


class Service:
    def __init__(self, build):
        self.bin = os.path.join(build, "bin")
        self.folder = tempfile.mkdtemp(prefix="helx-bench.")
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "LC_ALL": "C.UTF-8",
                    "XDG_CACHE_HOME": os.path.join(build, "test-cache")}
        self.helxd = subprocess.Popen(
            [self.bin + "/helxd", "--listen", "127.0.0.1:0", "--insecure", "--workers", "2", "--data-dir",
             self.folder + "/data"], stdout=subprocess.PIPE, stderr=open(self.folder + "/log", "w"), env=self.env, text=True)
        self.address = self.helxd.stdout.readline().split()[1]

    def helxctl(self, *arguments):
        return subprocess.run([self.bin + "/helxctl", "--server", self.address, *arguments], cwd=self.folder, env=self.env,
                              check=True, capture_output=True, text=True).stdout

    def stop(self):
        self.helxd.terminate()
        self.helxd.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def timed(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def loader_file(request, bundle):
    """The loader block of worker/runner/loader_block.h and the inputs after it."""
    acquisition = request["acquisition"]
    sets = request["tensors"]["input_sets"]
    data = b""
    for s, tensors in enumerate(sets):
        for i, _ in enumerate(tensors):
            raw = open(f"{bundle}/tensors/inputs/{s}/input-{i}.bin", "rb").read()
            data += raw + bytes(-len(raw) % 16)
    words = struct.pack("<12I", 0x4c584c48, 1, acquisition["warmup"], acquisition["samples"],
                        int(acquisition["state"] == "carry"), int(acquisition["capture"]), 0xa5a5a5a5, len(sets), len(data), 0,
                        100_000_000_000 & 0xffffffff, 100_000_000_000 >> 32)
    block = words + struct.pack("<I", zlib.crc32(words))
    return block + bytes(64 - len(block)) + data


class Replay:
    """A job's compiler and emulator commands, ready to run again outside the service."""

    def __init__(self, bundle, folder):
        commands = json.load(open(bundle + "/build/commands.json"))
        timing = json.load(open(bundle + "/timing.json"))
        work = re.match(r"(/tmp/helx-action\.\w+)/", commands[0]["directory"] + "/").group(1)
        here = folder + "/replay"
        shutil.rmtree(here, ignore_errors=True)
        for part in ("model", "link"):
            os.makedirs(f"{here}/{part}")
            for name in os.listdir(bundle + "/build/src"):
                shutil.copy(f"{bundle}/build/src/{name}", f"{here}/{part}/{name}")
        subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".helx_weights", bundle + "/build/model.elf",
                        here + "/model/weights.bin"], check=True)
        request = json.load(open(bundle + "/request.json"))["request"]
        open(here + "/loader.bin", "wb").write(loader_file(request, bundle))
        self.commands = [([a.replace(work, here) for a in c["argv"]], c["directory"].replace(work, here)) for c in commands]
        argv = []
        for argument in timing["argv"]:
            argument = re.sub(r"file=[^,]*loader\.bin", f"file={here}/loader.bin", argument)
            argv.append(f"{here}/link/model.elf" if argument.endswith("/model.elf") else argument)
        self.commands.append((argv, here))

    def run(self):
        for argv, directory in self.commands:
            done = subprocess.run(argv, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True)
            if done.returncode != 0:
                sys.exit(f"replaying {argv[0]} failed: {done.stderr.decode(errors='replace')[:2000]}")
        self.stream = done.stdout


def experiment(models, name):
    meta = json.load(open(f"{models}/{name}/meta.json"))
    inputs = "".join(
        f"        - {{index: {i}, name: {json.dumps(t['name'])}, dtype: {t['dtype'].lower()}, shape: {t['shape']}, "
        f"file: {models}/{name}/case0/input-{i}.bin}}\n" for i, t in enumerate(meta["inputs"]))
    return (f"name: {name}\nmodel: {models}/{name}/model.tflite\ndefaults:\n  fvp:\n    tensor_io:\n      inputs:\n{inputs}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    build, models = os.path.abspath(options.build), os.path.abspath(options.models)
    service = Service(build)
    try:
        sums = {"job": 0.0, "replay": 0.0}
        print(f"{'model':40} {'job ms':>8} {'replay ms':>10} {'ratio':>6}")
        for name in MODELS:
            document = f"{service.folder}/{name}.yaml"
            open(document, "w").write(experiment(models, name))
            bundle = f"{service.folder}/out/{name}"
            service.helxctl("run", "-c", document, "-o", "out")
            jobs, replays = [], []
            for _ in range(options.rounds):
                jobs.append(timed(lambda: service.helxctl("submit", document, "--wait", "--no-cache")))
                # The uncached job's own record: with nothing reused, every command is in it.
                service.helxctl("results", "fetch", name, "-o", bundle)
                replay = Replay(bundle, service.folder)
                replays.append(timed(replay.run))
            job, other = statistics.median(jobs), statistics.median(replays)
            sums["job"] += job
            sums["replay"] += other
            print(f"{name:40} {job * 1e3:8.0f} {other * 1e3:10.0f} {job / other:6.2f}", flush=True)
        print(f"{'sum':40} {sums['job'] * 1e3:8.0f} {sums['replay'] * 1e3:10.0f} {sums['job'] / sums['replay']:6.2f}")

        document = f"{service.folder}/{MODELS[0]}.yaml"
        cached, version = [], []
        for _ in range(4 * options.rounds):
            cached.append(timed(lambda: service.helxctl("submit", document, "--wait")))
            version.append(timed(lambda: service.helxctl("version")))
        ratio = statistics.median(c / v for c, v in zip(cached, version))
        print(f"identical request from the store {statistics.median(cached) * 1e3:.1f} ms, helxctl version "
              f"{statistics.median(version) * 1e3:.1f} ms, ratio {ratio:.2f}")
        with open(f"/proc/{service.helxd.pid}/status") as status:
            rss = re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)
        print(f"helxd RSS after this: {int(rss) / 1024:.1f} MiB")
    finally:
        service.stop()


if __name__ == "__main__":
    main()
