"""A graph's place in wai-ops/1-npu (§9.2)."""

from wai_ops.integers import HALF_UP, ROUNDINGS

NPU_OPERATORS = frozenset(("conv", "conv_transpose", "rescale", "add", "mul", "leaky", "crop",
                           "pad", "concat", "slice", "pixel_shuffle", "chscale", "clamp",
                           "maxpool", "check"))


def _shift_records(node):
    """(rounding, shifts, multipliers) of a node whose rounding a device must provide, or None."""
    p = node.p
    if node.op in ("conv", "conv_transpose", "rescale"):
        return p["rnd"], p["shift"], p["mult"]
    if node.op == "mul":
        return p["rnd"], [p["shift"]], [p["mult"]]
    if node.op == "chscale":
        return p["rnd"], p["s"], p["m"]
    if node.op == "leaky":
        return HALF_UP, [16], []
    return None


def npu_verdict(graph, bounds):
    reasons = {f"op:{node.op}" for node in graph.nodes if node.op not in NPU_OPERATORS}
    if bounds.verdict != "acc32":
        reasons.add("profile")
    if graph.max_elems > 1 << 24:
        reasons.add("size")
    flags = {"state"} if graph.states() else set()
    for node in graph.nodes:
        record = _shift_records(node)
        if record is None:
            continue
        rnd, shifts, multipliers = record
        if max(shifts) >= 1:
            flags.add("round:" + ROUNDINGS[rnd])
        if max(shifts) >= 60:
            flags.add("shift_60")
        if any(abs(m) >= 1 << 15 for m in multipliers):
            flags.add("mult:wide")
        if node.op == "conv_transpose" and max(node.p["sh"], node.p["sw"]) > 1:
            flags.add("phase")
    return {"npu": not reasons, "npu_flags": sorted(flags), "npu_reasons": sorted(reasons)}
