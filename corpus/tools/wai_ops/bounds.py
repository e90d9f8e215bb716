"""The bounds pass (§8.1-§8.4) and the parameter conditions of acc32 (§7.2)."""

import math

from wai_ops.integers import I32, I64, I128, leaky_of, rdiv, rounding_shift


class Record:
    """The intervals of one value: recorded, tested, clamped (§8.1)."""

    def __init__(self):
        self.named = {}
        self.fail64, self.fail32 = set(), set()

    def note(self, name, lo, hi):
        """Records a hull without a test; endpoints beyond 2^126 count as 2^126 (§8.4)."""
        limit = 1 << 126
        lo, hi = max(-limit, min(lo, limit)), max(-limit, min(hi, limit))
        known = self.named.get(name, (lo, hi))
        self.named[name] = (min(known[0], lo), max(known[1], hi))
        return lo, hi

    def see(self, name, lo, hi):
        """Records, tests and gives the interval as what follows uses it."""
        lo, hi = self.note(name, lo, hi)
        narrow, wide = (I64, I128) if name[0] == "~" else (I32, I64)
        if not (narrow[0] <= lo and hi <= narrow[1]):
            self.fail32.add(name)
        if not (wide[0] <= lo and hi <= wide[1]):
            self.fail64.add(name)
        return max(wide[0], min(lo, wide[1])), max(wide[0], min(hi, wide[1]))

    def refuse(self, name):
        """Fails both profiles at a name."""
        self.fail64.add(name)
        self.fail32.add(name)


def _hull(intervals):
    intervals = list(intervals)
    return min(lo for lo, _ in intervals), max(hi for _, hi in intervals)


def _times(a, b):
    products = [u * v for u in a for v in b]
    return min(products), max(products)


def _bound_shift(rnd, p, s):
    return rounding_shift(rnd, p[0], s), rounding_shift(rnd, p[1], s)


def _bound_rqb(record, p, channel, acc):
    """~p, q, y of one channel."""
    i = channel if p["n"] > 1 else 0
    product = record.see("~p", *_times(acc, (p["mult"][i],)))
    q = record.see("q", *_bound_shift(p["rnd"], product, p["shift"][i]))
    return record.see("y", q[0] + p["post_bias"][i], q[1] + p["post_bias"][i])


def _tap_sums(weights, x):
    """Over the taps: sums of t_lo, of t_hi, of min(0, t_lo) and of max(0, t_hi) (§5.1).

    For w >= 0, t is [w*lo, w*hi], else [w*hi, w*lo], so the sums of the positive and of the
    negative weights decide all four.
    """
    up = sum(w for w in weights if w > 0)
    down = sum(weights) - up
    lo, hi = x
    return (up * lo + down * hi, up * hi + down * lo,
            up * min(0, lo) + down * max(0, hi), up * max(0, hi) + down * min(0, lo))


def _bounds_conv(record, p, x):
    per_channel = len(p["w"]) // p["cout"]
    whole = p["pt"] == p["pb"] == p["pl"] == p["pr"] == 0
    results = []
    for o in range(p["cout"]):
        bias = p["bias"][o]
        lo, hi, below, above = _tap_sums(p["w"][o * per_channel:(o + 1) * per_channel], x)
        record.see("part", min(0, bias) + below, max(0, bias) + above)
        acc = (bias + lo, bias + hi) if whole else (bias + below, bias + above)
        results.append(_bound_rqb(record, p, o, record.see("acc", *acc)))
    return _hull(results)


def _bounds_conv_transpose(record, p, x):
    kh, kw, cout = p["kh"], p["kw"], p["cout"]
    results = []
    for o in range(cout):
        bias, parts, accs = p["bias"][o], [], []
        kernels = [p["w"][(i * cout + o) * kh * kw:(i * cout + o + 1) * kh * kw]
                   for i in range(p["cin"])]
        # The phases from the kernel's size on have no tap: one of them stands for all.
        for dy in range(min(p["sh"], kh + 1)):
            for dx in range(min(p["sw"], kw + 1)):
                taps = [k[ky * kw + kx] for k in kernels for ky in range(dy, kh, p["sh"])
                        for kx in range(dx, kw, p["sw"])]
                _, _, below, above = _tap_sums(taps, x)
                parts.append((min(0, bias) + below, max(0, bias) + above))
                accs.append((bias + below, bias + above))
        record.see("part", *_hull(parts))
        results.append(_bound_rqb(record, p, o, record.see("acc", *_hull(accs))))
    return _hull(results)


def _bounds_mul(record, p, a, b):
    acc = record.see("acc", *_times(a, b))
    product = record.see("~p", *_times(acc, (p["mult"],)))
    return record.see("q", *_bound_shift(p["rnd"], product, p["shift"]))


def _bounds_lut16(record, p, x):
    record.note("x", *x)
    if x[0] < -32767 or x[1] > 32767:
        record.refuse("x")
    first, last = ((max(-32767, min(v, 32767)) + 32768) // 256 for v in x)
    entries = p["T"][first:last + 2]
    return record.see("y", min(entries), max(entries))


def _bounds_sigmoid(record, p, x):
    record.see("exp.negx", 0, max(x[1], -x[0]))
    return record.see("y", 0, 1 << p["o"])


def _bounds_elu(record, p, x):
    record.see("exp.negx", 0, max(0, -x[0]))
    return record.see("y", x[0] if x[0] >= 0 else -(1 << p["f"]), max(0, x[1]))


def _bounds_leaky(record, p, x):
    record.see("~p", min(0, x[0]) * p["a"], min(0, x[1]) * p["a"])
    return record.see("y", leaky_of(x[0], p["a"]), leaky_of(x[1], p["a"]))


def _bounds_pad(record, p, x):
    padded = p["pt"] or p["pb"] or p["pl"] or p["pr"]
    return record.see("y", *(_hull([x, (p["v"], p["v"])]) if padded else x))


def _magnitudes(x):
    """The least and the greatest magnitude in an interval."""
    low, high = sorted((abs(x[0]), abs(x[1])))
    return (0 if x[0] <= 0 <= x[1] else low), high


def _bounds_igdn(record, p, x):
    absx = record.see("igdn.absx", *_magnitudes(x))
    results = []
    for i in range(p["c"]):
        gammas = sum(p["gamma"][i * p["c"]:(i + 1) * p["c"]])
        acc = record.see("acc", 0, p["beta"][i] + gammas * absx[1])
        product = record.see("~p", *_times(x, acc))
        results.append(record.see("y", *_bound_shift(p["rnd"], product, p["shift"])))
    return _hull(results)


def _bounds_chscale(record, p, x):
    results = []
    for m, s in zip(p["m"], p["s"]):
        product = record.see("~p", *_times(x, (m,)))
        results.append(record.see("y", *_bound_shift(p["rnd"], product, s)))
    return _hull(results)


def _bounds_quotient(record, n, d, limit):
    """y = rdiv(n, D) of §5.17, clamped to [-limit, limit]."""
    lo = rdiv(n[0], d[0] if n[0] < 0 else d[1])
    hi = rdiv(n[1], d[1] if n[1] < 0 else d[0])
    return record.see("y", *(max(-limit, min(v, limit)) for v in (lo, hi)))


def _bounds_l2norm(record, p, channels, x):
    least, most = _magnitudes(x)
    ss = record.see("ss", channels * least ** 2, channels * most ** 2)
    radicand = record.see("~Rr", ss[0] + p["eps"], ss[1] + p["eps"])
    n = record.see("~n", x[0] << p["k"], x[1] << p["k"])
    d = record.see("D", math.isqrt(radicand[0]), math.isqrt(radicand[1]))
    return _bounds_quotient(record, n, d, 1 << p["k"])


def _bounds_layernorm(record, p, channels, x):
    record.see("s", min(0, channels * x[0]), max(0, channels * x[1]))
    spread = channels * (x[1] - x[0])
    centred = record.see("d", -spread, spread)
    ss = record.see("ss", 0, channels * _magnitudes(centred)[1] ** 2)
    radicand = record.see("~Rr", p["eps"], ss[1] // channels + p["eps"])
    n = record.see("~n", centred[0] << p["k"], centred[1] << p["k"])
    d = record.see("D", math.isqrt(radicand[0]), math.isqrt(radicand[1]))
    return _bounds_quotient(record, n, d, (math.isqrt(channels) + 1) << (p["k"] + 1))


def _bounds_clamp(record, p, x):
    return record.see("y", *(min(max(v, p["lo"]), p["hi"]) for v in x))


def _bounds_check(record, p, x):
    record.note("x", *x)
    lo, hi = max(x[0], p["lo"]), min(x[1], p["hi"])
    if lo > hi:
        record.refuse("x")
        lo = hi = p["hi"] if x[0] > p["hi"] else p["lo"]
    return record.see("y", lo, hi)


def _bounds_same(record, _, x):
    return record.see("y", *x)


def _bounds_rescale(record, p, x):
    return _hull([_bound_rqb(record, p, i, x) for i in range(p["n"])])


_BOUNDS = {
    "conv": _bounds_conv, "conv_transpose": _bounds_conv_transpose, "rescale": _bounds_rescale,
    "add": lambda record, _, a, b: record.see("y", a[0] + b[0], a[1] + b[1]), "mul": _bounds_mul,
    "lut16": _bounds_lut16, "sigmoid": _bounds_sigmoid, "elu": _bounds_elu,
    "leaky": _bounds_leaky, "crop": _bounds_same, "pad": _bounds_pad,
    "concat": lambda record, _, *xs: record.see("y", *_hull(xs)), "slice": _bounds_same,
    "pixel_shuffle": _bounds_same, "igdn": _bounds_igdn, "chscale": _bounds_chscale,
    "clamp": _bounds_clamp, "maxpool": _bounds_same,
    "divc": lambda record, p, x: record.see("y", rdiv(x[0], p["d"]), rdiv(x[1], p["d"])),
    "check": _bounds_check,
}
_BOUNDS_OVER_CHANNELS = {"l2norm": _bounds_l2norm, "layernorm_c": _bounds_layernorm}


def failed_conditions(node):
    """The conditions of §7.2 a node's parameters fail, in table order."""
    p, failed = node.p, []

    def condition(name, *sequences, lo, hi):
        if any(values and not (lo <= min(values) and max(values) <= hi) for values in sequences):
            failed.append(name)

    if node.op in ("conv", "conv_transpose", "rescale", "mul"):
        scalar = node.op == "mul"
        condition("rq.mult", [p["mult"]] if scalar else p["mult"], lo=-I32[1], hi=I32[1])
        condition("rq.shift", [p["shift"]] if scalar else p["shift"], lo=0, hi=62)
        if not scalar:
            condition("rq.post_bias", p["post_bias"], lo=I32[0], hi=I32[1])
    if node.op in ("conv", "conv_transpose"):
        condition("weights", p["w"], lo=-(1 << 15), hi=(1 << 15) - 1)
    if node.op == "chscale":
        condition("chscale.m", p["m"], lo=-I32[1], hi=I32[1])
        condition("chscale.s", p["s"], lo=0, hi=62)
    if node.op == "igdn":
        condition("igdn.gamma", p["gamma"], lo=0, hi=(1 << 15) - 1)
        condition("igdn.shift", [p["shift"]], lo=0, hi=62)
    if node.op == "leaky":
        condition("leaky.a", [p["a"]], lo=0, hi=I32[1])
    return failed


class Bounds:
    """The bounds pass of a planned graph: what its certificate's ROLE holds (§8.5)."""

    def __init__(self, graph, shapes):
        self.values = []
        self.fail_acc64, self.fail_acc32 = [], []
        intervals = []
        for entry in graph.inputs:
            record = Record()
            intervals.append(record.see("x", entry.lo, entry.hi))
            self._close("state" if entry.is_state else "input", record, [])
        for node in graph.nodes:
            record = Record()
            args = [intervals[arg] for arg in node.args]
            if node.op in _BOUNDS_OVER_CHANNELS:
                channels = shapes[node.args[0]][0]
                result = _BOUNDS_OVER_CHANNELS[node.op](record, node.p, channels, *args)
            else:
                result = _BOUNDS[node.op](record, node.p, *args)
            intervals.append(result)
            self._close(node.op, record, failed_conditions(node))
        for state, update in zip(graph.states(), graph.updates):
            entry, (lo, hi) = graph.inputs[state], intervals[update]
            if (lo < entry.lo or hi > entry.hi) and [update, "state"] not in self.fail_acc64:
                self.fail_acc64.append([update, "state"])
                self.fail_acc32.append([update, "state"])
        self.verdict = ("acc32" if not self.fail_acc32 else
                        "acc64" if not self.fail_acc64 else "none")

    def _close(self, op, record, conditions):
        value = len(self.values)
        self.values.append({"id": value, "named": [[name, lo, hi] for name, (lo, hi)
                                                   in record.named.items()], "op": op})
        self.fail_acc64 += [[value, name] for name in record.named if name in record.fail64]
        self.fail_acc32 += [[value, name] for name in record.named if name in record.fail32]
        self.fail_acc32 += [[value, name] for name in conditions]

    def role(self, name):
        return {"fail_acc32": self.fail_acc32, "fail_acc64": self.fail_acc64, "role": name,
                "values": self.values, "verdict": self.verdict}
