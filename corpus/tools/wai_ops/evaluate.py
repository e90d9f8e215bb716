"""The value of every graph operator (§5). A tensor is ((C, H, W), elements), planar (§3.2)."""

import math

from wai_ops.integers import HALF_UP, elu_of, leaky_of, rdiv, rounding_shift, sigmoid_of


def _per_channel(x, function):
    """function(channel, element) on every element."""
    (channels, height, width), data = x
    area = height * width
    return [function(c, v) for c in range(channels) for v in data[c * area:(c + 1) * area]]


def _rqb(p, channel, acc):
    i = channel if p["n"] > 1 else 0
    return rounding_shift(p["rnd"], acc * p["mult"][i], p["shift"][i]) + p["post_bias"][i]


def _valid_range(out_size, size, stride, offset):
    """The outputs i in 0..out_size-1 with 0 <= i*stride + offset < size, as (first, end)."""
    return max(0, -(offset // stride)), min(out_size, (size - 1 - offset) // stride + 1)


def _conv(node, x, shape):
    p, ((_, height, width), data), (cout, rows, cols) = node.p, x, shape
    per_group, group_in = cout // p["groups"], p["cin"] // p["groups"]
    weights, out = iter(p["w"]), []
    for o in range(cout):
        acc = [p["bias"][o]] * (rows * cols)
        first = o // per_group * group_in
        for i in range(first, first + group_in):
            for ky in range(p["kh"]):
                y0, y1 = _valid_range(rows, height, p["sh"], ky * p["dh"] - p["pt"])
                for kx in range(p["kw"]):
                    w = next(weights)
                    offset = kx * p["dw"] - p["pl"]
                    x0, x1 = _valid_range(cols, width, p["sw"], offset)
                    for oy in range(y0, y1 if w and x0 < x1 else y0):
                        row = (i * height + oy * p["sh"] + ky * p["dh"] - p["pt"]) * width
                        source = row + x0 * p["sw"] + offset
                        for ox in range(oy * cols + x0, oy * cols + x1):
                            acc[ox] += w * data[source]
                            source += p["sw"]
        out.extend(_rqb(p, o, v) for v in acc)
    return out


def _conv_transpose(node, x, shape):
    p, ((cin, height, width), data), (cout, rows, cols) = node.p, x, shape
    out = []
    for o in range(cout):
        for oy in range(rows):
            for ox in range(cols):
                acc = p["bias"][o]
                for ky in range(p["kh"]):
                    y, rest = divmod(oy + p["pt"] - ky, p["sh"])
                    if rest or not 0 <= y < height:
                        continue
                    for kx in range(p["kw"]):
                        column, rest = divmod(ox + p["pl"] - kx, p["sw"])
                        if rest or not 0 <= column < width:
                            continue
                        for i in range(cin):
                            w = p["w"][((i * cout + o) * p["kh"] + ky) * p["kw"] + kx]
                            acc += w * data[(i * height + y) * width + column]
                out.append(_rqb(p, o, acc))
    return out


def _maxpool(node, x, shape):
    p, ((_, height, width), data), (channels, rows, cols) = node.p, x, shape
    out = []
    for c in range(channels):
        for oy in range(rows):
            y = oy * p["sh"] - p["pt"]
            ys = range(max(0, y), min(height, y + p["kh"]))
            for ox in range(cols):
                first = ox * p["sw"] - p["pl"]
                xs = range(max(0, first), min(width, first + p["kw"]))
                out.append(max(data[(c * height + i) * width + j] for i in ys for j in xs))
    return out


def _lut16_of(table, x):
    j, fraction = divmod(x + 32768, 256)
    return rounding_shift(HALF_UP, 256 * table[j] + (table[j + 1] - table[j]) * fraction, 8)


def _at(x, c, y, column):
    (_, height, width), data = x
    return data[(c * height + y) * width + column]


def _moved(x, shape, source):
    """Every output element is the input element source(c, y, x) names."""
    channels, rows, cols = shape
    return [_at(x, *source(c, y, i)) for c in range(channels) for y in range(rows)
            for i in range(cols)]


def _crop(node, x, shape):
    p = node.p
    return _moved(x, shape, lambda c, y, i: (c, y + p["pt"], i + p["pl"]))


def _pad(node, x, shape):
    p, ((_, height, width), data), (channels, rows, cols) = node.p, x, shape
    out = [p["v"]] * (channels * rows * cols)
    for c in range(channels):
        for y in range(height):
            start = (c * rows + y + p["pt"]) * cols + p["pl"]
            source = (c * height + y) * width
            out[start:start + width] = data[source:source + width]
    return out


def _pixel_shuffle(node, x, shape):
    r = node.p["r"]
    return _moved(x, shape,
                  lambda c, y, i: (c * r * r + y % r * r + i % r, y // r, i // r))


def _by_position(x, function):
    """function(list over channels) at every position, back in planar order."""
    (channels, height, width), data = x
    area = height * width
    columns = [function([data[c * area + i] for c in range(channels)]) for i in range(area)]
    return [columns[i][c] for c in range(channels) for i in range(area)]


def _igdn_column(p, values):
    out = []
    for i, value in enumerate(values):
        row = p["gamma"][i * p["c"]:(i + 1) * p["c"]]
        n = p["beta"][i] + sum(g * abs(v) for g, v in zip(row, values))
        out.append(rounding_shift(p["rnd"], value * n, p["shift"]))
    return out


def _l2norm_column(p, values):
    d = math.isqrt(sum(v * v for v in values) + p["eps"])
    return [rdiv(v << p["k"], d) for v in values]


def _layernorm_column(p, values):
    count, total = len(values), sum(values)
    centred = [count * v - total for v in values]
    d = math.isqrt(sum(v * v for v in centred) // count + p["eps"])
    return [rdiv(v << p["k"], d) for v in centred]


class RunRefused(Exception):
    """A run step's refusal (§4)."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def _check(node, x, _):
    if not all(node.p["lo"] <= v <= node.p["hi"] for v in x[1]):
        raise RunRefused("check")
    return x[1]


EVALUATE = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "rescale": lambda n, x, _: _per_channel(x, lambda c, v: _rqb(n.p, c, v)),
    "add": lambda n, a, b, _: [u + v for u, v in zip(a[1], b[1])],
    "mul": lambda n, a, b, _: [rounding_shift(n.p["rnd"], u * v * n.p["mult"], n.p["shift"])
                               for u, v in zip(a[1], b[1])],
    "lut16": lambda n, x, _: [_lut16_of(n.p["T"], v) for v in x[1]],
    "sigmoid": lambda n, x, _: [sigmoid_of(v, n.p["f"], n.p["o"]) for v in x[1]],
    "elu": lambda n, x, _: [elu_of(v, n.p["f"]) for v in x[1]],
    "leaky": lambda n, x, _: [leaky_of(v, n.p["a"]) for v in x[1]],
    "crop": _crop,
    "pad": _pad,
    "concat": lambda n, *xs: [v for x in xs[:-1] for v in x[1]],
    "slice": lambda n, x, s: x[1][n.p["c0"] * s[1] * s[2]:n.p["c1"] * s[1] * s[2]],
    "pixel_shuffle": _pixel_shuffle,
    "igdn": lambda n, x, _: _by_position(x, lambda v: _igdn_column(n.p, v)),
    "chscale": lambda n, x, _: _per_channel(x, lambda c, v: rounding_shift(
        n.p["rnd"], v * n.p["m"][c], n.p["s"][c])),
    "l2norm": lambda n, x, _: _by_position(x, lambda v: _l2norm_column(n.p, v)),
    "layernorm_c": lambda n, x, _: _by_position(x, lambda v: _layernorm_column(n.p, v)),
    "clamp": lambda n, x, _: [min(max(v, n.p["lo"]), n.p["hi"]) for v in x[1]],
    "maxpool": _maxpool,
    "divc": lambda n, x, _: [rdiv(v, n.p["d"]) for v in x[1]],
    "check": _check,
}
