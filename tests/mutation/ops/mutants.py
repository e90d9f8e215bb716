#!/usr/bin/env python3
"""Mutation test of core/ops: mutants.py REPOSITORY WORK [--count N] [--seed S] [--report FILE].

Enumerates every mutant of the arithmetic, bounds, loader, run, stage operators and lowerings
(integer constants +-1, comparisons, arithmetic and logical operators, shifts, min/max, roundings),
samples N by a fixed seed, and for each builds core/ops with the one change and runs

  1. `wai-verify vectors verify` on the committed corpus, then
  2. the unit and property tests of core/ops (without the tests of the corpus itself).

A mutant is killed by the first that fails; one that does not compile is replaced by the next in
the sample's order. WORK keeps objects and results, so that an interrupted run continues.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys

SOURCES = [
    "core/ops/integers.h", "core/ops/integers.cc", "core/ops/params.h", "core/ops/bounds.cc",
    "core/ops/convolution.cc", "core/ops/evaluate.cc", "core/ops/shape_rule.cc",
    "core/ops/whg1.cc", "core/ops/load.cc", "core/ops/run.cc", "core/ops/npu.cc",
    "core/ops/phase_form.cc", "core/ops/stage/rans64.cc", "core/ops/stage/mans.cc",
    "core/ops/stage/integer_lists.cc", "core/ops/stage/fields.h", "core/ops/lower/forms.cc",
    "core/ops/lower/lowering.cc", "core/ops/lower/whm.cc", "core/ops/lower/recurrent.cc",
    "core/ops/lower/binary_float.cc", "core/ops/lower/tfq.cc", "core/ops/lower/tfq_judge.cc",
    "core/ops/lower/tfq_lower.cc",
]
TESTS = "tests/unit/core/ops"
FLAGS = ["-std=c++20", "-O0", "-w"]

# Binary operators as clang-format writes them, with their replacements.
OPERATORS = {
    " < ": [" <= "], " <= ": [" < "], " > ": [" >= "], " >= ": [" > "], " == ": [" != "],
    " != ": [" == "], " + ": [" - "], " - ": [" + "], " * ": [" + "], " / ": [" * "],
    " % ": [" / "], " << ": [" >> "], " >> ": [" << "], " && ": [" || "], " || ": [" && "],
    " += ": [" -= "], " -= ": [" += "], " & ": [" | "], " | ": [" & "],
}
WORDS = {
    "std::min": ["std::max"], "std::max": ["std::min"],
    "kFloor": ["kHalfUp"], "kHalfUp": ["kFloor", "kHalfAway", "kHalfEven"],
    "kHalfAway": ["kHalfUp", "kHalfEven"], "kHalfEven": ["kHalfUp"],
    "true": ["false"], "false": ["true"],
}


def code_spans(text):
    """Offsets of `text` outside comments, strings, includes and static assertions."""
    skip = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'|^#[^\n]*|'
                      r'static_assert\([^;]*;', re.M)
    keep, at = [], 0
    for match in skip.finditer(text):
        keep.append((at, match.start()))
        at = match.end()
    keep.append((at, len(text)))
    return keep


def mutants_of(path, text):
    for begin, end in code_spans(text):
        part = text[begin:end]
        for old, replacements in OPERATORS.items():
            for match in re.finditer(re.escape(old), part):
                for new in replacements:
                    yield (path, begin + match.start(), old, new)
        for old, replacements in WORDS.items():
            for match in re.finditer(r"(?<![\w:])" + re.escape(old) + r"\b", part):
                for new in replacements:
                    yield (path, begin + match.start(), old, new)
        for old, replacements in WORDS.items():
            if not old.startswith("k"):
                continue
            for match in re.finditer(r"(?<=::)" + old + r"\b", part):
                for new in replacements:
                    yield (path, begin + match.start(), old, new)
        for match in re.finditer(r"(?<![\w.])(0x[0-9A-Fa-f]+|\d+)(?![\w.])", part):
            value = int(match.group(1), 0)
            for new in {value + 1, value - 1}:
                if new >= 0:
                    yield (path, begin + match.start(), match.group(1), str(new))


class Builder:
    def __init__(self, repository, work):
        self.repository = repository
        self.work = work
        self.objects = work / "objects"
        self.objects.mkdir(parents=True, exist_ok=True)
        core = sorted(repository.glob("core/ops/**/*.cc"))
        client = [p for p in sorted(repository.glob("client/ops/*.cc"))
                  if p.name not in ("main.cc", "import_tflite.cc")]
        self.core = [str(p.relative_to(repository)) for p in core]
        self.shared = [str(p.relative_to(repository)) for p in client]
        self.main = ["client/ops/main.cc"]
        self.tests = [str(p.relative_to(repository))
                      for p in sorted(repository.glob(TESTS + "/*_test.cc"))]

    def object_of(self, source, folder):
        return folder / (source.replace("/", "_") + ".o")

    def compile(self, source, folder, include):
        out = self.object_of(source, folder)
        base = include if (include / source).exists() else self.repository
        done = subprocess.run(
            ["g++", *FLAGS, "-I" + str(include), "-I" + str(self.repository),
             f'-DHELX_SOURCE_DIR="{self.repository}"', '-DHELX_BUILD_DIR=""', "-MMD", "-c",
             str(base / source), "-o", str(out)],
            capture_output=True, text=True)
        return done.returncode == 0

    def prepare(self):
        for source in self.core + self.shared + self.main + self.tests:
            if not self.object_of(source, self.objects).exists():
                assert self.compile(source, self.objects, self.repository), source

    def build(self, changed, text):
        """Links both programs with one source changed; False when it does not compile."""
        tree = self.work / "tree"
        subprocess.run(["rm", "-rf", str(tree)], check=True)
        (tree / changed).parent.mkdir(parents=True)
        (tree / changed).write_text(text)
        sources = [changed]
        if changed.endswith(".h"):
            # Each core source that includes it is rebuilt from a copy, so that it finds the change.
            sources = [source for source in self.core if changed in
                       self.object_of(source, self.objects).with_suffix(".d").read_text()]
            for source in sources:
                (tree / source).parent.mkdir(parents=True, exist_ok=True)
                (tree / source).write_text((self.repository / source).read_text())
        fresh = self.work / "fresh"
        subprocess.run(["rm", "-rf", str(fresh)], check=True)
        fresh.mkdir()
        for source in sources:
            if not self.compile(source, fresh, tree):
                return False
        self.link(sources, fresh)
        return True

    def link(self, sources, fresh):
        """Links both programs, with `sources`' objects from `fresh`."""
        def objects(group):
            return [str(self.object_of(s, fresh if s in sources else self.objects)) for s in group]
        # Changed objects first: of an inline function's copies the linker keeps the first.
        core = [str(self.object_of(s, fresh)) for s in sources]
        core += [o for o in objects(self.core) if o not in core]
        rest = objects(self.shared)
        links = [("verify", self.main, []),
                 ("tests", self.tests, ["-lgtest_main", "-lgtest", "-lpthread", "-lcrypto"])]
        for name, group, libraries in links:
            subprocess.run(["g++", "-fuse-ld=mold", "-o", str(self.work / name), *core, *rest,
                            *objects(group), *libraries], check=True)


def run(command, seconds):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return done.returncode, done.stdout + done.stderr


def first_vector(output):
    match = re.search(r"wai-verify: (\S+?:\d+: [^\s:]+)", output)
    if match:
        return match.group(1).split(": ")[-1]
    match = re.search(r"wai-verify: ([^\n]{1,80})", output)
    return match.group(1) if match else "the process ends abnormally"


def kill(builder):
    status, output = run([str(builder.work / "verify"), "vectors", "verify",
                          str(builder.repository / "corpus")], 60)
    if status == "timeout":
        return "corpus: does not end"
    if status != 0:
        return "corpus: " + first_vector(output)
    status, output = run([str(builder.work / "tests"), "--gtest_fail_fast",
                          "--gtest_filter=-Corpus.*"], 300)
    if status == "timeout":
        return "test: does not end"
    if status != 0:
        match = re.search(r"\[  FAILED  \] ([\w./]+)", output)
        return "test: " + (match.group(1) if match else "the process ends abnormally")
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=pathlib.Path)
    args = parser.parse_args()
    repository = args.repository.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    builder = Builder(repository, args.work.resolve())

    everything = []
    texts = {}
    for path in SOURCES:
        texts[path] = (repository / path).read_text()
        everything += sorted(set(mutants_of(path, texts[path])))
    random.Random(args.seed).shuffle(everything)
    print(f"{len(everything)} mutants", flush=True)
    builder.prepare()
    builder.link([], builder.objects)
    unchanged = kill(builder)
    if unchanged:
        sys.exit(f"the unchanged code does not pass: {unchanged}")

    store = args.work / "results.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    sample = []
    for path, at, old, new in everything:
        if len(sample) == args.count:
            break
        text = texts[path]
        line = text.count("\n", 0, at) + 1
        source_line = text.splitlines()[line - 1].strip()
        identity = hashlib.sha256(f"{path}|{at}|{old}|{new}|{hashlib.sha256(text.encode()).hexdigest()}"
                                  .encode()).hexdigest()[:12]
        if identity not in results:
            built = builder.build(path, text[:at] + new + text[at + len(old):])
            results[identity] = kill(builder) or "survives" if built else "does not compile"
            store.write_text(json.dumps(results, indent=0))
            print(f"{len(sample)} {path}:{line} {old.strip()} -> {new.strip()}: "
                  f"{results[identity]}", flush=True)
        if results[identity] != "does not compile":
            sample.append((path, line, source_line, old.strip(), new.strip(), results[identity]))

    killed = sum(entry[-1] != "survives" for entry in sample)
    print(f"killed {killed} of {len(sample)}")
    if args.report:
        rows = ["| file:line | change | killed by |", "| --- | --- | --- |"]
        for path, line, source, old, new, result in sorted(sample):
            where = f"{path.removeprefix('core/ops/')}:{line}"
            code = source if len(source) <= 70 else source[:67] + "..."
            code = code.replace("|", "\\|")
            change = f"`{old}` → `{new}`".replace("|", "\\|")
            rows.append(f"| {where} | {change} in `{code}` | {result} |")
        args.report.write_text("\n".join(rows) + "\n")
    return 0 if killed == len(sample) else 1


if __name__ == "__main__":
    sys.exit(main())
