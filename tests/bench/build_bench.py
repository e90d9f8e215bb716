#!/usr/bin/env python3
"""From a model to its image, and to the verdict whether it can have one.

  build_bench.py BUILD_DIR MODELS_DIR [--rounds N] [--models a,b]

For every model below 1 MiB: an uncached `helxctl build` (kernels warm) against replaying the compiler commands that this very
build recorded (build/commands.json), in turn. Then `helxctl freeze` of every model and of every damaged file
(MODELS_DIR/_malformed), each a document that was never frozen before. Prints a table, the ratio of the sums of medians, and
medians over all models; judges nothing.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from main_job_bench import Service, timed  # noqa: E402

LIMIT_BYTES = 1 << 20


def model_files(models):
    return {name: f"{models}/{name}/model.tflite" for name in sorted(os.listdir(models))
            if os.path.exists(f"{models}/{name}/model.tflite")}


def document(service, name, path, samples):
    """Samples make it a document of its own; it only builds."""
    text = (f"name: {name}\nmodel: {json.dumps(path)}\ndefaults:\n  samples: {samples}\n  fvp: {{enabled: false}}\n")
    file = f"{service.folder}/{name}.yaml"
    with open(file, "w", encoding="utf-8") as out:
        out.write(text)
    return file


def exit_code(service, *arguments):
    done = subprocess.run([service.bin + "/helxctl", "--server", service.address, *arguments], cwd=service.folder,
                          env=service.env, capture_output=True, text=True)
    if done.returncode not in (0, 2):
        sys.exit(f"helxctl {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.returncode


class CompilerReplay:
    """A build's compiler commands, ready to run again outside of the service."""

    def __init__(self, bundle, folder):
        with open(bundle + "/build/commands.json", encoding="utf-8") as file:
            commands = json.load(file)
        work = commands[0]["directory"].rsplit("/", 1)[0]
        here = folder + "/replay"
        subprocess.run(["rm", "-rf", here], check=True)
        for part in ("model", "link"):
            os.makedirs(f"{here}/{part}")
            subprocess.run(f"cp {bundle}/build/src/* {here}/{part}", shell=True, check=True)
        subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".helx_weights", bundle + "/build/model.elf",
                        here + "/model/weights.bin"], check=True)
        self.commands = [([a.replace(work, here) for a in c["argv"]], c["directory"].replace(work, here)) for c in commands]

    def run(self):
        for argv, directory in self.commands:
            done = subprocess.run(argv, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True)
            if done.returncode != 0:
                sys.exit(f"replaying {argv[0]} failed: {done.stderr.decode(errors='replace')[:2000]}")


def bench_builds(service, files, rounds):
    ours, theirs = {}, {}
    print(f"{'model':44} {'build ms':>9} {'replay ms':>10} {'ratio':>6}")
    for number, (name, path) in enumerate(files.items()):
        if os.path.getsize(path) >= LIMIT_BYTES:
            continue
        if exit_code(service, "freeze", "-c", document(service, name, path, 1), "-o", "frozen") == 2:
            continue
        builds, replays = [], []
        for r in range(rounds):
            file = document(service, name, path, 2 + r)
            builds.append(timed(lambda: service.helxctl("build", "-c", file, "-o", "out", "--no-cache")))
            replay = CompilerReplay(f"{service.folder}/out/{name}", service.folder)
            replays.append(timed(replay.run))
        if number == 0:
            builds = builds[1:] or builds  # the first compiled the board's kernels
        ours[name], theirs[name] = statistics.median(builds), statistics.median(replays)
        print(f"{name:44} {ours[name] * 1e3:9.0f} {theirs[name] * 1e3:10.0f} {ours[name] / theirs[name]:6.2f}", flush=True)
    ratios = [ours[n] / theirs[n] for n in ours]
    print(f"{len(ours)} models: build / replay of the sums {sum(ours.values()) / sum(theirs.values()):.2f}, median ratio "
          f"{statistics.median(ratios):.2f}, median build {statistics.median(ours.values()) * 1e3:.0f} ms, slowest "
          f"{max(ours.values()) * 1e3:.0f} ms ({max(ours, key=ours.get)})")


def bench_verdicts(service, title, files):
    times, refused = [], 0
    for name, path in files.items():
        file = document(service, name.replace("_", "x", 1) if name.startswith("_") else name, path, 900)
        def verdict():
            nonlocal refused
            refused += exit_code(service, "freeze", "-c", file, "-o", "frozen") == 2
        times.append(timed(verdict))
    print(f"{title}: {len(times)} verdicts, {refused} refusals, median {statistics.median(times) * 1e3:.0f} ms, slowest "
          f"{max(times) * 1e3:.0f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", dest="only", default="")
    options = parser.parse_args()
    models = os.path.abspath(options.models)
    files = model_files(models)
    if options.only:
        files = {name: files[name] for name in options.only.split(",")}
    damaged = {os.path.splitext(name)[0]: f"{models}/_malformed/{name}"
               for name in sorted(os.listdir(models + "/_malformed")) if name.endswith(".tflite")}
    service = Service(os.path.abspath(options.build))
    try:
        bench_builds(service, files, options.rounds)
        bench_verdicts(service, "freeze, real models", files)
        bench_verdicts(service, "freeze, damaged files", damaged)
    finally:
        service.stop()


if __name__ == "__main__":
    main()
