#!/usr/bin/env python3
"""Estimated cycles of one invocation, beside its exact instructions.

  build/bin/helx_models_bench --models ... --images images.jsonl
  tests/bench/cycles/cycles.py images.jsonl [--plugin build/bin/libhelx_pc_counts.so] [--functions]

Every image of images.jsonl is run again under the emulator with a plugin that counts how often each instruction of the
measured window is executed. Straight-line stretches of instructions that were executed equally often are basic blocks;
the estimate is the sum over them of executions x cycles:

  Cortex-M55          llvm-mca 19's pipeline model: cycles of 100 repetitions of the block, divided by 100
  Cortex-M33, M4, M3  the timings of Arm's technical reference manuals (100166, 3.3.1): 1 cycle per instruction, 2 for a
                      load that no other load or store follows, 1 + registers for LDM, STM, PUSH and POP, 3 for LDRD and
                      STRD, 7 for a division, 14 for VDIV and VSQRT, 3 for a fused multiply-add; and 2 for a taken branch

Memory is assumed to answer without wait states. Other cores have no model here. Ratios are to the baseline's cycles in
tests/bench/models/tflm_baseline.tsv. Needs llvm-19 (llvm-objdump-19, llvm-mca-19) and qemu-system-arm.
"""
import argparse
import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TRIPLES = {"cortex-m55": "thumbv8.1m.main-none-eabihf", "cortex-m33": "thumbv8m.main-none-eabihf",
           "cortex-m4": "thumbv7em-none-eabihf", "cortex-m3": "thumbv7m-none-eabi"}
REPETITIONS = 100
# Blocks are estimated until they hold this part of all instructions; the others count as the estimated ones on average.
COVERED = 0.9995

CONDITION = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
BRANCH = re.compile(rf"^(b|bl|blx|bx|cbz|cbnz|b({CONDITION})|le|letp|wls|wlstp|tbb|tbh)$")


def base_name(mnemonic):
    """"bne.w" -> "bne"; "wlstp.8" -> "wlstp"."""
    return mnemonic.split(".")[0]


class Code:
    """The disassembly of an image's .text."""

    def __init__(self, elf, core):
        self.triple = TRIPLES[core]
        text = subprocess.run(
            ["llvm-objdump-19", "-d", "--no-show-raw-insn", "--mcpu=" + core, "--triple=" + self.triple, "-j", ".text", elf],
            check=True, capture_output=True, text=True).stdout
        self.insns, self.function, self.symbols = {}, {}, {}
        name = ""
        for line in text.splitlines():
            if label := re.match(r"^([0-9a-f]+) <(.+)>:$", line):
                name = label[2]
                self.symbols[name] = int(label[1], 16)
            elif insn := re.match(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s+(.*))?$", line):
                address = int(insn[1], 16)
                self.insns[address] = (insn[2], (insn[3] or "").strip())
                self.function[address] = name
        addresses = sorted(self.insns)
        self.next = dict(zip(addresses, addresses[1:]))

    def is_branch(self, address):
        mnemonic, operands = self.insns[address]
        name = base_name(mnemonic)
        if BRANCH.match(name):
            return True
        if name.startswith(("pop", "ldm")):
            return "pc" in operands
        return name == "ldr" and operands.startswith("pc,")

    def target(self, address):
        found = re.search(r"(?:^|,\s*)0x([0-9a-f]+) <", self.insns[address][1])
        return int(found[1], 16) if found and self.is_branch(address) else None

    def governed(self, address):
        """How many of the next instructions an IT or VPT block governs."""
        name = base_name(self.insns[address][0])
        if re.match(r"^it[te]{0,3}$", name):
            return len(name) - 1
        if block := re.match(r"^vps?t([te]{0,3})$", name):
            return len(block[1]) + 1
        return 0

    def assembly(self, address):
        """The instruction for an assembler: branch distances as immediates, no comments."""
        mnemonic, operands = self.insns[address]
        distance = re.search(r"@ imm = #(-?0x[0-9a-f]+|-?\d+)", operands)
        if distance and self.is_branch(address):
            operands = re.sub(r"0x[0-9a-f]+ <[^>]*>.*$", "#" + distance[1], operands)
        operands = re.sub(r"\s*@.*$", "", operands)
        return f"\t{mnemonic}\t" + re.sub(r"\s*<[^>]*>", "", operands)


def window_counts(image, code, plugin):
    """Runs the image; address -> executions of its measured invocation."""
    start = code.symbols["helx_measure"] + 8  # the call
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts.txt")
        subprocess.run(image["argv"] + ["-plugin", f"{plugin},out={path},start={start:#x},stop={start + 2:#x}"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
        windows = []
        with open(path, encoding="ascii") as file:
            for line in file:
                left, right = line.split()
                if left == "window":
                    windows.append({})
                else:
                    windows[-1][int(left, 16)] = int(right)
    # The runner first measures an empty invocation twice.
    counts = windows[2 + image["warmup"]]
    executed = sum(counts.values())
    if executed != image["instructions"]:
        sys.exit(f"{image['model']} on {image['platform']}: the plugin counted {executed} instructions, "
                 f"the runner {image['instructions']}")
    return counts


def basic_blocks(code, counts):
    targets = {code.target(address) for address in counts}
    blocks, block, governed = [], [], 0
    for address in sorted(counts):
        if block:
            before = block[-1]
            adjacent = code.next.get(before) == address
            ends = code.is_branch(before) or address in targets or counts[address] != counts[before]
            if not adjacent or (governed <= 0 and ends):
                blocks.append(block)
                block, governed = [], 0
        block.append(address)
        governed = code.governed(address) or governed - 1
    blocks.append(block)
    return sorted(blocks, key=lambda b: -counts[b[0]] * len(b))


def run_mca(code, core, blocks):
    """Block index -> cycles of one repetition."""
    text = ".syntax unified\n.thumb\n"
    for i, block in enumerate(blocks):
        text += f"@ LLVM-MCA-BEGIN B{i}\n" + "\n".join(map(code.assembly, block)) + "\n@ LLVM-MCA-END\n"
    result = subprocess.run(
        ["llvm-mca-19", "-mtriple=" + code.triple, "-mcpu=" + core, f"-iterations={REPETITIONS}", "--call-latency=1",
         "--skip-unsupported-instructions=any", "-instruction-info=0", "-resource-pressure=0"],
        input=text, capture_output=True, text=True)
    found = re.finditer(r"Code Region - B(\d+)\n.*?Total Cycles:\s+(\d+)", result.stdout, re.S)
    return {int(m[1]): int(m[2]) / REPETITIONS for m in found}, result.stderr


def mca_cycles(code, core, blocks):
    cycles, _ = run_mca(code, core, blocks)
    if len(cycles) == len(blocks):
        return [cycles[i] for i in range(len(blocks))]
    # One block that cannot be assembled spoils the others' answer.
    out = []
    for block in blocks:
        alone, error = run_mca(code, core, [block])
        if 0 not in alone:
            sys.stderr.write(f"counted as 1 cycle per instruction, at {block[0]:#x}: {error.splitlines()[:1]}\n")
        out.append(alone.get(0, float(len(block))))
    return out


def register_count(operands):
    text = re.search(r"\{(.*)\}", operands)
    if not text:
        return 1
    count = 0
    for part in text[1].split(","):
        ends = re.findall(r"\d+", part)
        count += int(ends[1]) - int(ends[0]) + 1 if "-" in part else 1
    return count


def manual_cycles(code, block):
    """Cycles of one execution, without what a taken branch adds."""
    cycles = 0
    for i, address in enumerate(block):
        mnemonic, operands = code.insns[address]
        name = base_name(mnemonic)
        following = code.insns[block[i + 1]][0] if i + 1 < len(block) else ""
        if re.match(r"^(ldm|stm|push|pop|vpush|vpop|vldm|vstm)", name):
            cycles += 1 + register_count(operands)
        elif name.startswith(("ldrd", "strd")):
            cycles += 3
        elif name.startswith(("ldr", "vldr")):
            cycles += 1 if re.match(r"^v?(ldr|str)", following) else 2
        elif name.startswith(("sdiv", "udiv")):
            cycles += 7
        elif name.startswith(("vdiv", "vsqrt")):
            cycles += 14
        elif name.startswith(("vmla", "vmls", "vfma", "vfms", "vnmla")):
            cycles += 3
        else:
            cycles += 1
    return cycles


def taken_branches(code, counts):
    taken = 0
    for address, count in counts.items():
        if not code.is_branch(address):
            continue
        name = base_name(code.insns[address][0])
        always = name in ("b", "bl", "blx", "bx", "tbb", "tbh") or name.startswith(("pop", "ldm", "ldr"))
        # A conditional one falls through as often as what follows it was executed, unless that is a target itself.
        taken += count if always else max(0, count - counts.get(code.next.get(address), 0))
    return taken


def estimate(image, plugin):
    """(cycles, function -> cycles)."""
    core = image["core"]
    code = Code(image["elf"], core)
    counts = window_counts(image, code, plugin)
    blocks = basic_blocks(code, {a: n for a, n in counts.items() if a in code.insns})
    total = sum(counts.values())
    hot, covered = [], 0
    for block in blocks:
        hot.append(block)
        covered += counts[block[0]] * len(block)
        if covered >= COVERED * total:
            break
    per_block = mca_cycles(code, core, hot) if core == "cortex-m55" else [manual_cycles(code, b) for b in hot]
    functions = collections.Counter()
    for block, cycles in zip(hot, per_block):
        functions[code.function[block[0]]] += counts[block[0]] * cycles
    cycles = sum(functions.values()) * total / covered
    if core != "cortex-m55":
        cycles += 2 * taken_branches(code, {a: n for a, n in counts.items() if a in code.insns})
    return cycles, functions


def read_baseline():
    table, names = {}, []
    with open(os.path.join(ROOT, "tests/bench/models/tflm_baseline.tsv"), encoding="utf-8") as file:
        for line in file:
            cells = line.rstrip("\n").split("\t")
            if line.startswith("#") or len(cells) < 2:
                continue
            if not names:
                names = cells
            else:
                table[cells[0]] = {n: float(c) for n, c in zip(names[1:], cells[1:]) if c}
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", help="what helx_models_bench --images wrote")
    parser.add_argument("--plugin", default=os.path.join(ROOT, "build/bin/libhelx_pc_counts.so"))
    parser.add_argument("--functions", action="store_true", help="where the cycles go")
    options = parser.parse_args()
    baseline = read_baseline()
    logs = collections.defaultdict(list)
    print("| model | platform | engine | instructions | cycles | per instruction | / baseline | / baseline by clang |\n"
          "|---|---|---|---|---|---|---|---|")
    with open(options.images, encoding="utf-8") as file:
        images = [json.loads(line) for line in file]
    for image in images:
        if image["core"] not in TRIPLES:
            continue
        cycles, functions = estimate(image, options.plugin)
        known = baseline.get(image["model"], {})
        core = image["core"].replace("cortex-", "")
        ratios = [cycles / known[c] if c in known else None for c in (core + "_cycles", core + "_clang_cycles")]
        cells = ["" if r is None else f"{r:.3f}" for r in ratios]
        print(f"| {image['model']} | {image['platform']} | {image['engine']} | {image['instructions']} | {cycles:.0f} | "
              f"{cycles / image['instructions']:.2f} | {cells[0]} | {cells[1]} |", flush=True)
        best = ratios[1] or ratios[0]
        if image["model"].startswith("mlperf_") and best and image["engine"] == "builtin":
            logs[image["platform"]].append(math.log(best))
        if options.functions:
            for name, part in functions.most_common(12):
                print(f"    {name:40} {part:12.0f} cycles")
    for platform, values in logs.items():
        print(f"{platform}: geometric mean of {len(values)} MLPerf Tiny models {math.exp(sum(values) / len(values)):.3f}")


if __name__ == "__main__":
    main()
