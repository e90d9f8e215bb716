"""tflite_int8/1: TFQ and its lowering (§13.6); binary32 and binary64 by exact rationals."""

import math
from fractions import Fraction

from wai_ops.canonical import has_keys, is_int, is_ints
from wai_ops.integers import HALF_AWAY, HALF_UP, I32, fits
from wai_ops.parameters import conv_params
from wai_ops.sets import LoweringRefused, require
from wai_ops.shapes import ShapeRule, window
from wai_ops.whg1 import Graph, Input

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
_POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
_TFLITE_OPERATORS = _CONVOLUTIONS + _POOLS + ("ADD", "PAD", "RESHAPE")
_WINDOW_OPTIONS = ("dh", "dw", "kh", "kw", "pad", "sh", "sw")


def tfq_form(doc):
    if not (has_keys(doc, ("form", "in", "ops", "out", "rounding", "tensors"))
            and doc["form"] == "tfq" and is_int(doc["in"]) and is_int(doc["out"])
            and doc["rounding"] in ("double", "single") and type(doc["ops"]) is list
            and type(doc["tensors"]) is list):
        return False
    return all(has_keys(t, ("data", "scale", "shape", "type", "zp"))
               and (t["data"] is None or is_ints(t["data"])) and is_ints(t["scale"])
               and is_ints(t["shape"]) and t["type"] in ("int8", "int32") and is_int(t["zp"])
               for t in doc["tensors"])


def _options_ok(name, opts):
    if type(opts) is not dict:
        return False
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D") + _POOLS:
        return (has_keys(opts, _WINDOW_OPTIONS) and opts["pad"] in ("same", "valid")
                and all(is_int(v) and v >= 1 for k, v in opts.items() if k != "pad"))
    if name == "PAD":
        return (has_keys(opts, ("pb", "pl", "pr", "pt"))
                and all(is_int(v) and v >= 0 for v in opts.values()))
    return not opts


def tfq_layers(doc):
    for i, op in enumerate(doc["ops"]):
        ok = (has_keys(op, ("act", "in", "op", "opts", "out"))
              and op["act"] in ("none", "relu", "relu6") and is_ints(op["in"])
              and type(op["op"]) is str and is_int(op["out"]))
        require(ok, "layer", f"op {i}: the fields are not an op's")
        require(op["op"] not in _TFLITE_OPERATORS or _options_ok(op["op"], op["opts"]), "layer",
                 f"op {i}: the opts are not {op['op']}'s")


def _ceil_div(a, b):
    return -(-a // b)


def _same_pads(size, kernel, stride, dilation):
    """(before, after) of TensorFlow's SAME padding."""
    total = max(0, (_ceil_div(size, stride) - 1) * stride + (kernel - 1) * dilation + 1 - size)
    return total // 2, total - total // 2


def _pads_of(opts, shape):
    """(pt, pb, pl, pr) of an op's opts on an NHWC shape."""
    if opts["pad"] == "valid":
        return (0, 0, 0, 0)
    return (*_same_pads(shape[1], opts["kh"], opts["sh"], opts["dh"]),
            *_same_pads(shape[2], opts["kw"], opts["sw"], opts["dw"]))


def _scale_ok(bits):
    """Finite, normal and positive. A number that is no u32 is `limit`, found later."""
    return not fits(bits, (0, (1 << 32) - 1)) or (bits >> 31 == 0 and 1 <= bits >> 23 <= 254)


class TfqSupport:
    """What §13.6 calls unsupported."""

    def __init__(self, doc):
        self.doc, self.tensors = doc, doc["tensors"]
        self.readers = {}
        for i, op in enumerate(doc["ops"]):
            self._shape_of_op(i, op)
            for t in op["in"]:
                self.readers.setdefault(t, []).append(op["op"])
        for t in (doc["in"], doc["out"]):
            require(0 <= t < len(self.tensors), "unsupported", f"no tensor {t}")
            self._activation(t)
        self._order()
        for i, op in enumerate(doc["ops"]):
            self._op(i, op)

    def _shape_of_op(self, i, op):
        name = op["op"]
        require(name in _TFLITE_OPERATORS, "unsupported", f"op {i}: {name}")
        counts = (2, 3) if name in _CONVOLUTIONS else (2,) if name == "ADD" else (1,)
        require(len(op["in"]) in counts, "unsupported", f"op {i}: {len(op['in'])} inputs")
        for t in op["in"] + [op["out"]]:
            require(0 <= t < len(self.tensors), "unsupported", f"op {i}: no tensor {t}")

    def _activation(self, index):
        t = self.tensors[index]
        ok = (t["type"] == "int8" and t["data"] is None and len(t["shape"]) in (2, 4)
              and t["shape"][0] == 1 and len(t["scale"]) == 1 and _scale_ok(t["scale"][0])
              and -128 <= t["zp"] <= 127)
        require(ok, "unsupported", f"tensor {index} is not an activation of the form")

    def _order(self):
        written = set()
        for i, op in enumerate(self.doc["ops"]):
            for t in op["in"] if op["op"] == "ADD" else op["in"][:1]:
                require(t == self.doc["in"] or t in written, "unsupported",
                         f"op {i} reads tensor {t} before it is written")
            require(op["out"] not in written and op["out"] != self.doc["in"], "unsupported",
                     f"tensor {op['out']} is written twice")
            written.add(op["out"])
        for t in written:
            require(t in self.readers or t == self.doc["out"], "unsupported",
                     f"tensor {t} is written and not read")
        require(self.doc["out"] in written or self.doc["out"] == self.doc["in"], "unsupported",
                 "out is not written")

    def _op(self, i, op):
        name, tensors = op["op"], self.tensors
        data_inputs = op["in"] if name == "ADD" else op["in"][:1]
        for t in data_inputs + [op["out"]]:
            self._activation(t)
        x, out = tensors[op["in"][0]], tensors[op["out"]]
        if name not in ("FULLY_CONNECTED", "ADD", "RESHAPE"):
            require(len(x["shape"]) == 4, "unsupported", f"op {i}: {name} of two dims")
        if name in _CONVOLUTIONS:
            self._weights(i, op)
        if name in _POOLS + ("PAD", "RESHAPE"):
            require((x["scale"], x["zp"]) == (out["scale"], out["zp"]), "unsupported",
                     f"op {i}: {name} changes scale or zero point")
        if name in ("PAD", "RESHAPE"):
            require(op["act"] == "none", "unsupported", f"op {i}: {name} with {op['act']}")
        if name == "ADD":
            shapes = [tensors[t]["shape"] for t in op["in"]]
            require(shapes[0] == shapes[1], "unsupported", f"op {i}: ADD of {shapes}")
        if name == "AVERAGE_POOL_2D":
            require(not any(_pads_of(op["opts"], x["shape"])), "unsupported",
                     f"op {i}: AVERAGE_POOL_2D with padding")
        if name == "RESHAPE":
            self._reshape(i, op, x["shape"], out["shape"])

    def _weights(self, i, op):
        w = self.tensors[op["in"][1]]
        dims = 2 if op["op"] == "FULLY_CONNECTED" else 4
        ok = w["type"] == "int8" and w["data"] is not None and w["zp"] == 0
        ok = ok and len(w["shape"]) == dims and all(map(_scale_ok, w["scale"]))
        cout = w["shape"][3 if op["op"] == "DEPTHWISE_CONV_2D" else 0] if ok else 0
        require(ok and len(w["scale"]) in (1, cout), "unsupported",
                 f"op {i}: tensor {op['in'][1]} is not weights of the form")
        if len(op["in"]) == 3:
            b = self.tensors[op["in"][2]]
            require(b["type"] == "int32" and b["data"] is not None and b["zp"] == 0,
                     "unsupported", f"op {i}: tensor {op['in'][2]} is not a bias of the form")

    def _reshape(self, i, op, before, after):
        flat = len(after) == 2 or after[1:3] == [1, 1]
        single = len(before) == 2 or before[1:3] == [1, 1]
        only_connected = (op["out"] != self.doc["out"]
                          and set(self.readers.get(op["out"], ())) == {"FULLY_CONNECTED"})
        require(flat and math.prod(before) == math.prod(after) and (single or only_connected),
                 "unsupported", f"op {i}: RESHAPE of {before} to {after}")


def _binary(x, precision, least):
    """A positive rational rounded to nearest, ties to even, with `precision` bits of significand
    and no bit below 2^least (IEEE 754 but for its greatest exponent)."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if x < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    return round(x / unit) * unit


def binary32(x):
    return _binary(x, 24, -149) if x else x


def binary64(x):
    return _binary(x, 53, -1074) if x else x


def scale_value(bits):
    """The exact value of a normal positive binary32's bit pattern."""
    return Fraction((1 << 23) | (bits & ((1 << 23) - 1))) * Fraction(2) ** ((bits >> 23) - 150)


def quantize_multiplier(m, rounding):
    """QuantizeMultiplier of §13.6: (Q, e)."""
    if m == 0:
        return 0, 0
    e = m.numerator.bit_length() - m.denominator.bit_length()
    e += m >= Fraction(2) ** e
    q = math.floor(m / Fraction(2) ** e * (1 << 31) + Fraction(1, 2))
    if q == 1 << 31:
        q, e = 1 << 30, e + 1
    if e < -31:
        return 0, 0
    if rounding == "single" and e > 30:
        return (1 << 31) - 1, 30
    return q, e


class TfqLowering:
    """The graph of a supported TFQ; what remains to refuse is `limit`."""

    def __init__(self, doc):
        self.doc, self.tensors = doc, doc["tensors"]
        used = {doc["in"], doc["out"]}.union(*([*op["in"], op["out"]] for op in doc["ops"]))
        biases = {op["in"][2] for op in doc["ops"] if len(op["in"]) == 3}
        for index in sorted(used):
            self._tensor_limits(index, index in biases)
        shape = self.tensors[doc["in"]]["shape"]
        c, h, w = (shape[3], shape[1], shape[2]) if len(shape) == 4 else (shape[1], 1, 1)
        self.graph = Graph(1 << 24, [Input(c, h, w, -128, 127, fixed=1)])
        self.value = {doc["in"]: 0}
        self.shape = {doc["in"]: (c, h, w)}
        for i, op in enumerate(doc["ops"]):
            try:
                self._op(op)
            except LoweringRefused as refusal:
                raise LoweringRefused(refusal.code, f"op {i}: {refusal}") from None
        self.graph.outputs = [self.value[doc["out"]]]

    def _tensor_limits(self, index, is_bias):
        t, what = self.tensors[index], f"tensor {index}"
        lo, hi = (-128, 127) if t["type"] == "int8" else I32
        require(t["data"] is None or all(lo <= v <= hi for v in t["data"]), "limit",
                 f"{what}: data outside {t['type']}")
        if is_bias:
            return
        require(all(1 <= d <= I32[1] for d in t["shape"]), "limit", f"{what}: {t['shape']}")
        require(all(fits(bits, (0, (1 << 32) - 1)) for bits in t["scale"]), "limit",
                 f"{what}: a scale that is no u32")
        require(t["data"] is None or len(t["data"]) == math.prod(t["shape"]), "limit",
                 f"{what}: {len(t['data'] or ())} integers for shape {t['shape']}")

    def _scale(self, index):
        return scale_value(self.tensors[index]["scale"][0])

    def _rescale(self, value, rnd, mult, shift, post_bias):
        return self.graph.add("rescale", value, rnd=rnd, n=len(mult), mult=mult, shift=shift,
                              post_bias=[post_bias] * len(mult))

    def _requant(self, multipliers, zp):
        """requant's rescales in order: [(rnd, mult, shift, post_bias)] with lists."""
        rounding = self.doc["rounding"]
        pairs = [quantize_multiplier(m, rounding) for m in multipliers]
        n = len(pairs)
        if rounding == "single":
            return [(HALF_UP, [q for q, _ in pairs], [31 - e for _, e in pairs], [zp] * n)]
        return [(HALF_UP, [q << max(e, 0) for q, e in pairs], [31] * n, [0] * n),
                (HALF_AWAY, [1] * n, [max(-e, 0) for _, e in pairs], [zp] * n)]

    def _requant_value(self, value, multiplier, zp=0):
        for rnd, mult, shift, post_bias in self._requant([multiplier], zp):
            value = self._rescale(value, rnd, mult, shift, post_bias[0])
        return value

    def _center(self, index):
        zp = self.tensors[index]["zp"]
        value = self.value[index]
        return self._rescale(value, HALF_UP, [1], [0], -zp) if zp else value

    def _act(self, value, op):
        zp, lo, hi = self.tensors[op["out"]]["zp"], -128, 127
        if op["act"] != "none":
            lo = max(-128, zp)
        if op["act"] == "relu6":
            six = binary32(6 / self._scale(op["out"]))
            hi = min(127, zp + math.floor(six + Fraction(1, 2)))
        return self.graph.add("clamp", value, lo=lo, hi=hi)

    def _op(self, op):
        name, x = op["op"], op["in"][0]
        c, h, w = self.shape[x]
        if name in _CONVOLUTIONS:
            value, shape = self._convolution(op, x)
        elif name in _POOLS:
            value, shape = self._pool(op, x)
        elif name == "ADD":
            value, shape = self._add(op), (c, h, w)
        elif name == "PAD":
            opts = op["opts"]
            value = self.graph.add("pad", self.value[x], v=self.tensors[x]["zp"], **opts)
            shape = (c, h + opts["pt"] + opts["pb"], w + opts["pl"] + opts["pr"])
        else:
            # RESHAPE: the same value, whose shape in the graph is what its reader flattens.
            self.value[op["out"]], self.shape[op["out"]] = self.value[x], self.shape[x]
            return
        self.value[op["out"]], self.shape[op["out"]] = value, shape
        declared = self.tensors[op["out"]]["shape"]
        given = [1, shape[0]] if name == "FULLY_CONNECTED" else [1, shape[1], shape[2], shape[0]]
        if name == "ADD":
            given = self.tensors[x]["shape"]
        require(declared == given, "limit", f"{name} gives shape {given}, not {declared}")

    def _window_shape(self, x, kernel, strides, dilations, pads, cout):
        _, h, w = self.shape[x]
        try:
            return (cout, window(h, pads[0], pads[1], kernel[0], strides[0], dilations[0]),
                    window(w, pads[2], pads[3], kernel[1], strides[1], dilations[1]))
        except ShapeRule as error:
            raise LoweringRefused("limit", str(error)) from None

    def _multipliers(self, op):
        """M of a convolution: one value, or one per channel."""
        s_in, s_out = self._scale(op["in"][0]), self._scale(op["out"])
        scales = [scale_value(bits) for bits in self.tensors[op["in"][1]]["scale"]]
        if op["op"] == "FULLY_CONNECTED" and len(scales) == 1:
            product = binary32(s_in * scales[0])
            require(product < Fraction(2) ** 128, "limit", "s_in * s_w is past binary32")
            return [binary64(product / s_out)]
        return [binary64(binary64(s_in * s) / s_out) for s in scales]

    def _convolution(self, op, x):
        name, weights, opts = op["op"], self.tensors[op["in"][1]], op["opts"]
        (c, h, w), shape, data = self.shape[x], weights["shape"], weights["data"]
        strides = dilations = (1, 1)
        pads, groups, cin = (0, 0, 0, 0), 1, c
        if name == "FULLY_CONNECTED":
            cout, kernel = shape[0], (h, w)
            require(shape[1] == c * h * w, "limit", f"weights {shape} on {(c, h, w)}")
            order = [o * shape[1] + i * c + k for o in range(cout) for k in range(c)
                     for i in range(h * w)]
        else:
            kernel = (shape[1], shape[2])
            require(kernel == (opts["kh"], opts["kw"]), "limit", f"opts' kernel is not {kernel}")
            strides, dilations = (opts["sh"], opts["sw"]), (opts["dh"], opts["dw"])
            pads = _pads_of(opts, self.tensors[x]["shape"])
            area = kernel[0] * kernel[1]
            if name == "CONV_2D":
                cout = shape[0]
                require(shape[3] == c, "limit", f"weights {shape} on {c} channels")
                order = [(o * area + i) * c + k for o in range(cout) for k in range(c)
                         for i in range(area)]
            else:
                cout, groups = shape[3], c
                require(shape[0] == 1 and cout % c == 0, "limit", f"weights {shape} on {c}")
                order = [i * cout + o for o in range(cout) for i in range(area)]
        bias = self.tensors[op["in"][2]]["data"] if len(op["in"]) == 3 else [0] * cout
        require(len(bias) == cout, "limit", f"{len(bias)} biases for {cout} channels")
        first, *rest = self._requant(self._multipliers(op), self.tensors[op["out"]]["zp"])
        value = self.graph.add("conv", self._center(x), **conv_params(
            cin, cout, kernel, [data[i] for i in order], bias, first, strides, dilations, pads,
            groups))
        for rnd, mult, shift, post_bias in rest:
            value = self._rescale(value, rnd, mult, shift, post_bias[0])
        out = self._window_shape(x, kernel, strides, dilations, pads, cout)
        return self._act(value, op), out

    def _pool(self, op, x):
        opts, c = op["opts"], self.shape[x][0]
        kernel, strides = (opts["kh"], opts["kw"]), (opts["sh"], opts["sw"])
        require(opts["dh"] == opts["dw"] == 1, "limit", "a dilated pool")
        pads = _pads_of(opts, self.tensors[x]["shape"])
        out = self._window_shape(x, kernel, strides, (1, 1), pads, c)
        if op["op"] == "MAX_POOL_2D":
            value = self.graph.add("maxpool", self.value[x], kh=kernel[0], kw=kernel[1],
                                   sh=strides[0], sw=strides[1], pt=pads[0], pb=pads[1],
                                   pl=pads[2], pr=pads[3])
            return self._act(value, op), out
        area = kernel[0] * kernel[1]
        require(c * area <= 1 << 26, "limit", f"a kernel of {kernel} on {c} channels")
        value = self.graph.add("conv", self.value[x], **conv_params(
            c, c, kernel, [1] * (c * area), [0] * c, (HALF_UP, [1], [0], [0]), strides, groups=c))
        return self._act(self.graph.add("divc", value, d=area), op), out

    def _add(self, op):
        scales = [self._scale(t) for t in op["in"]]
        twice = 2 * max(scales)
        addends = []
        for t, scale in zip(op["in"], scales):
            raised = self._rescale(self._center(t), HALF_UP, [1 << 20], [0], 0)
            addends.append(self._requant_value(raised, binary64(scale / twice)))
        s_out, zp = self._scale(op["out"]), self.tensors[op["out"]]["zp"]
        total = self.graph.add("add", *addends)
        return self._act(self._requant_value(total, binary64(twice / ((1 << 20) * s_out)), zp), op)
