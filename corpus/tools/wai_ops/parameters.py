"""Operator parameters: their types, ranges and bytes (§5, §10.4)."""

import array
import itertools
import struct
import sys

from wai_ops.integers import I32, I64, MAX_DIM

OPERATORS = ("conv", "conv_transpose", "rescale", "add", "mul", "lut16", "sigmoid", "elu", "leaky",
             "crop", "pad", "concat", "slice", "pixel_shuffle", "igdn", "chscale", "l2norm",
             "layernorm_c", "clamp", "maxpool", "divc", "check")

_KINDS = {"u8": ("B", 0, (1 << 8) - 1), "u16": ("H", 0, (1 << 16) - 1),
          "u32": ("I", 0, (1 << 32) - 1), "u64": ("Q", 0, (1 << 64) - 1),
          "i16": ("h", -(1 << 15), (1 << 15) - 1), "i32": ("i",) + I32, "i64": ("q",) + I64}


class BadParams(Exception):
    """Parameters that load step 5 refuses."""


class Scalar:
    """One parameter."""

    def __init__(self, name, kind, lo=None, hi=None):
        self.code, least, most = _KINDS[kind]
        self.name = name
        self.lo = least if lo is None else lo
        self.hi = most if hi is None else hi
        self.any_value = (self.lo, self.hi) == (least, most)

    def check(self, values):
        for value in values:
            if not self.lo <= value <= self.hi:
                raise BadParams(f"{self.name} {value} is outside {self.lo}..{self.hi}")


class Records:
    """count(p) records of the columns, each column kept as a sequence under its name."""

    def __init__(self, count, *columns):
        self.count = count
        self.columns = columns


class Rule:
    """A condition on the scalars before it."""

    def __init__(self, text, holds):
        self.text = text
        self.holds = holds


def _u16s(names, lo, hi):
    return [Scalar(name, "u16", lo, hi) for name in names.split()]


_M = (1 << 63) - 1
_RND = Scalar("rnd", "u8", 0, 3)
_MULT = Scalar("mult", "i64", -_M, _M)
_SHIFT = Scalar("shift", "u8", 0, 63)
_RQB = Records(lambda p: p["n"], _MULT, Scalar("post_bias", "i64"), _SHIFT)
_KERNEL = _u16s("kh kw sh sw", 1, 64)
_PADS = _u16s("pt pb pl pr", 0, 255)
_LIMITS = [Scalar("lo", "i64"), Scalar("hi", "i64"), Rule("lo <= hi", lambda p: p["lo"] <= p["hi"])]
_PADS_IN_KERNEL = Rule("pads below the kernel", lambda p: max(p["pt"], p["pb"]) < p["kh"]
                       and max(p["pl"], p["pr"]) < p["kw"])
_N_PER_COUT = Rule("n is 1 or cout", lambda p: p["n"] in (1, p["cout"]))
_NORM = [Scalar("k", "u8", 0, 31), Scalar("eps", "u64", 1)]


def _conv_weights(p):
    return p["cout"] * (p["cin"] // p["groups"]) * p["kh"] * p["kw"]


def _conv_transpose_weights(p):
    return p["cin"] * p["cout"] * p["kh"] * p["kw"]


def _weights(count):
    return [Rule("at most 2^26 weights", lambda p: count(p) <= 1 << 26),
            Records(lambda p: p["n"], _MULT, Scalar("post_bias", "i64"), _SHIFT),
            Records(lambda p: p["cout"], Scalar("bias", "i64")),
            Records(count, Scalar("w", "i32"))]


def _channels(name, hi=MAX_DIM):
    return Scalar(name, "u32", 1, hi)


PARAMETERS = {
    "conv": [_channels("cin"), _channels("cout"), Scalar("groups", "u32", 1),
             Rule("groups divides cin and cout",
                  lambda p: p["cin"] % p["groups"] == 0 == p["cout"] % p["groups"]),
             *_KERNEL, *_u16s("dh dw", 1, 16), *_PADS, _RND, _channels("n"), _N_PER_COUT,
             *_weights(_conv_weights)],
    "conv_transpose": [_channels("cin"), _channels("cout"), *_KERNEL, *_PADS, _PADS_IN_KERNEL,
                       _RND, _channels("n"), _N_PER_COUT, *_weights(_conv_transpose_weights)],
    "rescale": [_RND, _channels("n"), _RQB],
    "add": [],
    "mul": [_RND, _MULT, _SHIFT],
    "lut16": [Records(lambda p: 257, Scalar("T", "i16"))],
    "sigmoid": [Scalar("f", "u8", 0, 26), Scalar("o", "u8", 1, 30)],
    "elu": [Scalar("f", "u8", 0, 26)],
    "leaky": [Scalar("a", "u32")],
    "crop": _u16s("pt pb pl pr", 0, MAX_DIM),
    "pad": [*_PADS, Scalar("v", "i64")],
    "concat": [],
    "slice": [Scalar("c0", "u32"), Scalar("c1", "u32", 0, MAX_DIM),
              Rule("c0 < c1", lambda p: p["c0"] < p["c1"])],
    "pixel_shuffle": _u16s("r", 2, 16),
    "igdn": [_channels("c", 4096), _RND, _SHIFT,
             Records(lambda p: p["c"], Scalar("beta", "i64", 0)),
             Records(lambda p: p["c"] ** 2, Scalar("gamma", "i32", 0))],
    "chscale": [_RND, _channels("c"),
                Records(lambda p: p["c"], Scalar("m", "i64", -_M, _M), Scalar("s", "u8", 0, 63))],
    "l2norm": _NORM,
    "layernorm_c": _NORM,
    "clamp": _LIMITS,
    "maxpool": [*_KERNEL, *_PADS, _PADS_IN_KERNEL],
    "divc": [Scalar("d", "u32", 1)],
    "check": _LIMITS,
}


def read_params(op, data):
    """The parameters of a block's bytes (without its value ids), each list in block order."""
    p, at = {}, 0
    for item in PARAMETERS[op]:
        if isinstance(item, Rule):
            if not item.holds(p):
                raise BadParams(f"not so: {item.text}")
            continue
        columns = [item] if isinstance(item, Scalar) else item.columns
        count = 1 if isinstance(item, Scalar) else item.count(p)
        record = struct.Struct("<" + "".join(c.code for c in columns))
        end = at + count * record.size
        if end > len(data):
            raise BadParams(f"the block ends inside {columns[0].name}")
        if len(columns) == 1:
            values = array.array(columns[0].code)
            values.frombytes(data[at:end])
            if sys.byteorder == "big":
                values.byteswap()
            lists = [values]
        else:
            lists = zip(*record.iter_unpack(data[at:end]))
        for column, values in zip(columns, lists):
            if not column.any_value:
                column.check(values)
            p[column.name] = values[0] if isinstance(item, Scalar) else values
        at = end
    if at != len(data):
        raise BadParams(f"{len(data) - at} bytes after the parameters")
    return p


def _pack(columns, lists):
    if len(columns) == 1:
        values = array.array(columns[0].code, lists[0])
        if sys.byteorder == "big":
            values.byteswap()
        return values.tobytes()
    record = struct.Struct("<" + "".join(column.code for column in columns))
    return b"".join(itertools.starmap(record.pack, zip(*lists)))


def write_params(op, p):
    """The inverse of read_params; BadParams for what load step 5 would refuse or no field holds."""
    out = []
    for item in PARAMETERS[op]:
        if isinstance(item, Rule):
            if not item.holds(p):
                raise BadParams(f"not so: {item.text}")
        elif isinstance(item, Scalar):
            item.check([p[item.name]])
            out.append(struct.pack("<" + item.code, p[item.name]))
        else:
            count = item.count(p)
            for column in item.columns:
                if len(p[column.name]) != count:
                    raise BadParams(f"{column.name} has {len(p[column.name])} entries, not {count}")
                column.check(p[column.name])
            out.append(_pack(item.columns, [p[column.name] for column in item.columns]))
    return b"".join(out)


def conv_params(cin, cout, kernel, weights, bias, rqb, strides=(1, 1), dilations=(1, 1),
                 pads=(0, 0, 0, 0), groups=1):
    """conv's parameters by name; rqb is (rnd, mult, shift, post_bias) with lists."""
    rnd, mult, shift, post_bias = rqb
    return {"cin": cin, "cout": cout, "groups": groups, "kh": kernel[0], "kw": kernel[1],
            "sh": strides[0], "sw": strides[1], "dh": dilations[0], "dw": dilations[1],
            "pt": pads[0], "pb": pads[1], "pl": pads[2], "pr": pads[3], "rnd": rnd,
            "n": len(mult), "mult": mult, "post_bias": post_bias, "shift": shift, "bias": bias,
            "w": weights}
