#!/usr/bin/env python3
"""Mutation test of core/ops: mutants.py REPOSITORY WORK [--count N] [--seed S] [--report FILE].

Enumerates every mutant of the arithmetic, bounds, loader, run, stage operators and lowerings
(integer constants +-1, comparisons, arithmetic and logical operators, shifts, min/max, roundings),
samples N by a fixed seed, and for each compiles the one changed file without optimisation and with
the standard headers precompiled, links it by mold with the objects of the unchanged sources, which
it compiled once, and runs, cheapest first,

  1. `wai-verify vectors verify` on the committed corpus,
  2. helx_ops_differential on cases of tests/integration/ops/differential_cases.py, then
  3. the unit and property tests of core/ops (without the tests of the corpus itself).

A mutant is killed by the first that fails. One that does not compile is replaced by the next in
the sample's order, and so is one that equivalent.json beside this shows to change nothing. Most die by the first, after some 2 s of processor time. WORK keeps the objects
and the results, so that an interrupted run continues; `--again` runs the recorded survivors anew,
after a test for them was written.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys

SOURCES = [
    "core/ops/integers.h", "core/ops/integers.cc", "core/ops/params.h", "core/ops/bounds.cc",
    "core/ops/convolution.cc", "core/ops/convolution_pairs.cc", "core/ops/planes.h",
    "core/ops/requant.cc", "core/ops/simd.cc", "core/ops/evaluate.cc", "core/ops/shape_rule.cc",
    "core/ops/whg1.cc", "core/ops/load.cc", "core/ops/run.cc", "core/ops/npu.cc",
    "core/ops/phase_form.cc", "core/ops/stage/rans64.cc", "core/ops/stage/mans.cc",
    "core/ops/stage/integer_lists.cc", "core/ops/stage/fields.h", "core/ops/lower/forms.cc",
    "core/ops/lower/lowering.cc", "core/ops/lower/whm.cc", "core/ops/lower/recurrent.cc",
    "core/ops/lower/binary_float.cc", "core/ops/lower/tfq.cc", "core/ops/lower/tfq_judge.cc",
    "core/ops/lower/tfq_lower.cc",
]
TESTS = "tests/unit/core/ops"
CASES = "tests/integration/ops/differential_cases.py"
MAINS = {"verify": "client/ops/main.cc", "differential": "tests/integration/ops/differential.cc"}
FLAGS = ["-std=c++20", "-w", "-fPIC"]
# Of a changed file: the fewest optimisations compile fastest. The other sources' objects are made
# once and run many times.
FAST = ["-O0", "-fno-exceptions"]
ONCE = ["-O1", "-fno-exceptions"]
# Headers that most sources of core/ops include: parsing them is most of a small file's compilation.
PRECOMPILED = "".join(f"#include <{name}>\n" for name in (
    "algorithm", "array", "cstdint", "initializer_list", "map", "memory", "optional", "set",
    "string", "string_view", "utility", "vector"))
# Processor time of one run; the unchanged programs need at most 5 s.
SECONDS = 30

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
    skip = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'|^#(?:\\\n|[^\n])*|'
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


def includes_of(repository, source):
    """The files of this tree that `source` includes, directly or not."""
    found, left = set(), [source]
    while left:
        text = (repository / left.pop()).read_text()
        for name in re.findall(r'^#include "([^"]+)"', text, re.M):
            if name not in found and (repository / name).exists():
                found.add(name)
                left.append(name)
    return found


class Builder:
    """Compiles and links the programs, with the objects of one changed file."""

    def __init__(self, repository, work):
        self.repository = repository
        self.work = work
        (work / "objects").mkdir(exist_ok=True)
        self.fast = self.precompile()
        self.core = {}
        for path in sorted((repository / "core/ops").rglob("*.cc")):
            name = str(path.relative_to(repository))
            self.core[name] = self.once(name, ONCE)
        self.includes = {source: includes_of(repository, source) for source in self.core}
        # Of the tests and the programs few seconds are spent in their own code.
        defines = ["-O0", f'-DHELX_SOURCE_DIR="{repository}"']
        self.tests = [self.once(str(path.relative_to(repository)), defines)
                      for path in sorted((repository / TESTS).glob("*_test.cc"))]
        self.shared = [self.once(f"client/ops/{name}.cc", ["-O1"])
                       for name in ("arguments", "certify_command", "files", "run_command",
                                    "sha256", "vectors_command")]
        self.mains = {name: self.once(source, ["-O0"]) for name, source in MAINS.items()}
        self.cases = work / "cases.jsonl"
        if not self.cases.exists():
            subprocess.run([sys.executable, repository / CASES, self.cases], check=True)
        self.fresh = {}

    def precompile(self):
        """The flags of a changed file, with the standard headers precompiled."""
        header = self.work / "objects" / "standard.h"
        if not header.exists() or header.read_text() != PRECOMPILED:
            header.write_text(PRECOMPILED)
            subprocess.run(["g++", *FLAGS, *FAST, "-x", "c++-header", header, "-o",
                            f"{header}.gch"], check=True)
        return [*FAST, "-include", str(header)]

    def once(self, source, flags):
        """The object of an unchanged source."""
        text = b"".join((self.repository / name).read_bytes()
                        for name in sorted({source, *includes_of(self.repository, source)}))
        text += " ".join(flags).encode()
        out = self.work / "objects" / f"{hashlib.sha256(text).hexdigest()[:16]}.o"
        if not out.exists() and not self.compile(self.repository / source, out, self.repository,
                                                 flags):
            raise SystemExit(f"{source} does not compile")
        return str(out)

    def compile(self, source, out, include, flags):
        partial = f"{out}.partial"
        done = subprocess.run(
            ["g++", *FLAGS, *flags, f"-I{include}", f"-I{self.repository}", "-c", str(source),
             "-o", partial], capture_output=True, text=True)
        if done.returncode == 0:
            os.replace(partial, out)
        return done.returncode == 0

    def build(self, changed, text):
        """Compiles what one changed file reaches; False when it does not compile."""
        tree = self.work / "tree"
        subprocess.run(["rm", "-rf", str(tree)], check=True)
        (tree / changed).parent.mkdir(parents=True)
        (tree / changed).write_text(text)
        sources = [changed]
        if changed.endswith(".h"):
            # Each source that includes it is compiled from a copy, so that it finds the change.
            sources = [source for source in self.core if changed in self.includes[source]]
            for source in sources:
                (tree / source).parent.mkdir(parents=True, exist_ok=True)
                (tree / source).write_text((self.repository / source).read_text())
        self.fresh = {}
        for source in sources:
            self.fresh[source] = str(tree / (source.replace("/", "_") + ".o"))
            if not self.compile(tree / source, self.fresh[source], tree, self.fast):
                return False
        return True

    def link(self, name):
        """Links "verify", "differential" or "tests"; gives the program's path."""
        # Changed objects first: of an inline function's copies the linker keeps the first.
        core = [*self.fresh.values(), *(o for s, o in self.core.items() if s not in self.fresh)]
        tests = [*self.tests, "-lgtest_main", "-lgtest", "-lpthread", "-lcrypto"]
        group = tests if name == "tests" else [self.mains[name]]
        program = str(self.work / name)
        subprocess.run(["g++", "-fuse-ld=mold", "-o", program, *core, *group, *self.shared],
                       check=True)
        return program


def limit():
    # Processor time, not the clock: what else the machine does must not kill a mutant.
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def run(*command):
    """"timeout" or the exit status, and the output."""
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit,
                          errors="replace")
    if done.returncode == -signal.SIGXCPU:
        return "timeout", ""
    return done.returncode, done.stdout + done.stderr


def first_vector(output):
    match = re.search(r"wai-verify: (\S+?:\d+: [^\s:]+)", output)
    if match:
        return match.group(1).split(": ")[-1]
    match = re.search(r"wai-verify: ([^\n]{1,80})", output)
    return match.group(1) if match else "the process ends abnormally"


def kill(builder):
    status, output = run(builder.link("verify"), "vectors", "verify",
                         str(builder.repository / "corpus"))
    if status == "timeout":
        return "corpus: does not end"
    if status != 0:
        return "corpus: " + first_vector(output)
    status, output = run(builder.link("differential"), str(builder.cases))
    if status == "timeout":
        return "differential: does not end"
    if status != 0:
        match = re.search(r"case (\d+ \(\w+\))", output)
        return "differential: " + ("case " + match.group(1) if match
                                   else "the process ends abnormally")
    status, output = run(builder.link("tests"), "--gtest_fail_fast", "--gtest_filter=-Corpus.*")
    if status == "timeout":
        return "test: does not end"
    if status != 0:
        match = re.search(r"\[  FAILED  \] ([\w./]+)", output)
        return "test: " + (match.group(1) if match else "the process ends abnormally")
    return None


def place_of(text, at):
    """The line that holds the offset `at`, how many equal lines are before it, and the column."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:text.find("\n", at)]
    return line, text.count("\n" + line, 0, begin), at - begin


def order(seed, texts, mutant):
    path, at, old, new = mutant
    line, before, column = place_of(texts[path], at)
    return hashlib.sha256(f"{seed}|{path}|{line}|{before}|{column}|{old}|{new}".encode()).digest()


def equivalence(known, texts, mutant):
    """The entry of equivalent.json that a mutant is, or None."""
    path, at, old, new = mutant
    line, before, column = place_of(texts[path], at)
    key = (path, line.strip(), before, column - (len(line) - len(line.lstrip())),
           f"{old.strip()} -> {new.strip()}")
    return known.get(key)


def read_equivalents():
    """equivalent.json: entries by file, stripped line, number of equal lines before, column, change."""
    entries = json.loads(pathlib.Path(__file__).with_name("equivalent.json").read_text())
    return {(e["file"], e["line"], e["before"], e["column"], e["change"]): e for e in entries}


def where_of(path, text, at):
    return f"{path.removeprefix('core/ops/')}:{text.count(chr(10), 0, at) + 1}"


def change_of(text, at, old, new):
    line = place_of(text, at)[0].strip()
    code = line if len(line) <= 70 else line[:67] + "..."
    return f"`{old.strip()}` → `{new.strip()}` in `{code}`".replace("|", "\\|")


def report(texts, sample, equivalent):
    rows = ["## Equivalent", "", "| file:line | change | why it changes nothing |",
            "| --- | --- | --- |"]
    rows += [f"| {where_of(path, texts[path], at)} | {change_of(texts[path], at, old, new)} | "
             f"{entry['why']} |".replace("||", "|\\|")
             for (path, at, old, new), entry in sorted(equivalent, key=lambda row: row[0])]
    rows += ["", "## Killed", "", "| file:line | change | killed by |", "| --- | --- | --- |"]
    rows += [f"| {where_of(path, texts[path], at)} | {change_of(texts[path], at, old, new)} | "
             f"{result} |" for (path, at, old, new), result in sorted(sample)]
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    repository = args.repository.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    builder = Builder(repository, args.work.resolve())

    everything = []
    texts = {}
    for path in SOURCES:
        texts[path] = (repository / path).read_text()
        everything += sorted(set(mutants_of(path, texts[path])))
    # By a hash of each change and its line, so that a change elsewhere moves no other mutant.
    everything.sort(key=lambda mutant: order(args.seed, texts, mutant))
    print(f"{len(everything)} mutants", flush=True)
    unchanged = kill(builder)
    if unchanged:
        sys.exit(f"the unchanged code does not pass: {unchanged}")

    store = args.work / "results.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    if args.again:
        results = {mutant: result for mutant, result in results.items() if result != "survives"}
    known = read_equivalents()
    sample, equivalent = [], []
    for path, at, old, new in everything:
        if len(sample) == args.count:
            break
        text = texts[path]
        entry = equivalence(known, texts, (path, at, old, new))
        if entry:
            equivalent.append(((path, at, old, new), entry))
            continue
        identity = hashlib.sha256(f"{path}|{at}|{old}|{new}|{hashlib.sha256(text.encode()).hexdigest()}"
                                  .encode()).hexdigest()[:12]
        if identity not in results:
            built = builder.build(path, text[:at] + new + text[at + len(old):])
            results[identity] = kill(builder) or "survives" if built else "does not compile"
            store.write_text(json.dumps(results, indent=0))
            print(f"{len(sample)} {where_of(path, text, at)} {change_of(text, at, old, new)}: "
                  f"{results[identity]}", flush=True)
        if results[identity] != "does not compile":
            sample.append(((path, at, old, new), results[identity]))

    killed = sum(result != "survives" for _, result in sample)
    print(f"killed {killed} of {len(sample)}, {len(equivalent)} equivalent ones among them left out")
    if args.report:
        args.report.write_text(report(texts, sample, equivalent))
    return 0 if killed == len(sample) else 1


if __name__ == "__main__":
    sys.exit(main())
