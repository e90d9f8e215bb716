"""Stage operators: entropy decoding, prediction, dequantisation (§5E)."""

import copy
import math
import struct

from wai_ops.canonical import decode_base64, has_keys, is_int, is_ints, is_list, is_str
from wai_ops.integers import I32, I64, MAX_DIM, fits


class StageRefused(Exception):
    """A stage operator's refusal: its code and `at`."""

    def __init__(self, code, at=-1):
        super().__init__(code)
        self.code, self.at = code, at


def _open(condition, code):
    """A check of open, whose refusals have `at` -1."""
    if not condition:
        raise StageRefused(code)


def _fields(given, **kinds):
    """JSON types first: exactly the fields, each of its type (§5E.0)."""
    _open(has_keys(given, kinds) and all(ok(given[name]) for name, ok in kinds.items()), "shape")


def _is_bytes(value):
    return decode_base64(value) is not None


class Rans64:
    """rans64_decode (§5E.1)."""

    LOW = 1 << 31

    def __init__(self, given):
        _fields(given, bytes=_is_bytes, idx=is_ints, tables=is_list)
        self.idx, self.tables = given["idx"], given["tables"]
        _open(all(map(self._table_ok, self.tables)), "tables")
        _open(all(0 <= i < len(self.tables) for i in self.idx), "index")
        data = decode_base64(given["bytes"])
        _open(len(data) % 4 == 0, "align")
        _open(len(data) >= 8, "truncated")
        self.words = struct.unpack(f"<{len(data) // 4}I", data)
        self.x = self.words[0] | self.words[1] << 32
        _open(self.LOW <= self.x < 1 << 63, "state")
        self.read, self.at = 2, 0

    @staticmethod
    def _table_ok(table):
        if not (has_keys(table, ("cdf", "esc", "off")) and is_ints(table["cdf"])
                and is_int(table["esc"]) and is_int(table["off"])):
            return False
        cdf = table["cdf"]
        return (len(cdf) >= 2 and cdf[0] == 0 and cdf[-1] == 65536
                and all(a < b for a, b in zip(cdf, cdf[1:]))
                and table["esc"] in (0, 1) and fits(table["off"], I32))

    def _advance(self, x):
        """The new state, renormed."""
        if x < self.LOW:
            if self.read == len(self.words):
                raise StageRefused("truncated", self.at)
            x = x << 32 | self.words[self.read]
            self.read += 1
        self.x = x

    def _raw(self):
        raw = self.x & 65535
        self._advance(self.x >> 16)
        return raw

    def next(self):
        table = self.tables[self.idx[self.at]]
        cdf, v = table["cdf"], self.x & 65535
        s = next(i for i in range(len(cdf) - 1) if cdf[i] <= v < cdf[i + 1])
        self._advance((cdf[s + 1] - cdf[s]) * (self.x >> 16) + v - cdf[s])
        if table["esc"] == 1 and s == len(cdf) - 2:
            z = self._raw()
            z |= self._raw() << 16
            s = z // 2 if z % 2 == 0 else -(z + 1) // 2
        self.at += 1
        return s + table["off"]

    def count(self):
        return len(self.idx)

    def close(self):
        if self.x != self.LOW:
            raise StageRefused("final", len(self.idx))
        if self.read != len(self.words):
            raise StageRefused("trailing", len(self.idx))


class Mans:
    """mans_decode (§5E.2); next() runs a whole group and keeps the values decoded ahead."""

    def __init__(self, given):
        _fields(given, bytes=_is_bytes, dists=is_list, calls=self._calls_typed)
        _open(all(map(self._dist_ok, given["dists"])), "tables")
        calls = [(call["idx"], call["mask"]) for call in given["calls"]]
        _open(all(0 <= i < len(given["dists"]) for idx, _ in calls for i in idx), "index")
        _open(all(len(idx) == len(mask) and all(m in (0, 1) for m in mask)
                  for idx, mask in calls), "shape")
        data = decode_base64(given["bytes"])
        _open(data and data[-1] != 0, "marker")
        self.bits = data[-1].bit_length() - 1 + 8 * (len(data) - 1)
        self.n = int.from_bytes(data, "little") - (1 << self.bits)
        self.tables = [self._table(dist) for dist in given["dists"]]
        self.escapes = [dist["esc"] for dist in given["dists"]]
        self.states = (self._read(8), self._read(8))
        self._flush(-1)
        # Per position: its place in its call, the positions left in the call, idx and mask.
        self.positions = [(place, len(idx) - place, i, m) for idx, mask in calls
                          for place, (i, m) in enumerate(zip(idx, mask))]
        self.at, self.ahead, self.last_in = 0, (), -1

    @staticmethod
    def _calls_typed(value):
        return is_list(value) and all(has_keys(call, ("idx", "mask")) and is_ints(call["idx"])
                                       and is_ints(call["mask"]) for call in value)

    @staticmethod
    def _dist_ok(dist):
        if not (has_keys(dist, ("freq", "sym", "esc")) and is_ints(dist["freq"])
                and is_ints(dist["sym"]) and is_int(dist["esc"])):
            return False
        freq, sym, esc = dist["freq"], dist["sym"], dist["esc"]
        return (1 <= len(freq) == len(sym) <= 256 and min(freq) >= 1 and sum(freq) == 256
                and all(-32768 <= s <= 32767 for s in sym)
                and (esc == 0 or (1 <= esc <= 32767 and -esc in sym)))

    @staticmethod
    def _table(dist):
        """(symbol, base, bits) of the 256 slots."""
        slots = []
        for freq, symbol in zip(dist["freq"], dist["sym"]):
            for k in range(freq, 2 * freq):
                nb = next(n for n in range(9) if k << n >= 256)
                slots.append((symbol, (k << nb) - 256, nb))
        return slots

    def _read(self, k):
        if self.bits >= k:
            v, self.n = divmod(self.n, 1 << (self.bits - k))
        else:
            v = self.n << (k - self.bits) if self.bits >= 0 else 0
            self.n = 0
        self.bits -= k
        return v

    def _flush(self, at):
        if self.bits < 0:
            raise StageRefused("truncated", at)

    def _in_step(self, position):
        place, _, i, mask = self.positions[position]
        if not mask:
            return 0
        which = place % 2
        symbol, base, bits = self.tables[i][self.states[which]]
        state = base + self._read(bits)
        self.states = (state, self.states[1]) if which == 0 else (self.states[0], state)
        self.last_in = position
        return symbol

    def _out_step(self, position, value):
        _, _, i, mask = self.positions[position]
        escape = self.escapes[i]
        if not mask or escape == 0 or value != -escape:
            return value
        v = self._read(3) if self._read(1) == 1 else self._read(16)
        value = -(v // 2 + escape) if v % 2 else v // 2 + escape
        self._flush(position)
        return value

    def next(self):
        if not self.ahead:
            first = self.at
            group = range(first, first + (4 if self.positions[first][1] >= 4 else 1))
            values = [self._in_step(position) for position in group]
            if len(group) == 4:
                self._flush(self.last_in)
            self.ahead = tuple(self._out_step(position, value)
                               for position, value in zip(group, values))
            if len(group) == 1:
                self._flush(first if self.positions[first][3] else self.last_in)
        self.at += 1
        value, self.ahead = self.ahead[0], self.ahead[1:]
        return value

    def count(self):
        return len(self.positions)

    def close(self):
        """Nothing is checked: a stream may be shared and padded."""


def _open_layout(given):
    """shape and layout of §5E.3 as ((C, H, W), interleaved)."""
    shape = given["shape"]
    _open(len(shape) == 3 and all(1 <= d <= MAX_DIM for d in shape), "shape")
    _open(given["layout"] in ("planar", "interleaved"), "shape")
    return shape, given["layout"] == "interleaved"


def _place(e, shape, interleaved):
    """(c, y, x) of the element e of a layout."""
    channels, height, width = shape
    if interleaved:
        rest, c = divmod(e, channels)
        return (c, *divmod(rest, width))
    rest, x = divmod(e, width)
    return (*divmod(rest, height), x)


def _predict_delta(left, above, _):
    return left if left is not None else above if above is not None else 0


def _predict_med(left, above, corner):
    if left is None or above is None:
        return _predict_delta(left, above, corner)
    if corner >= max(left, above):
        return min(left, above)
    if corner <= min(left, above):
        return max(left, above)
    return left + above - corner


class Predictor:
    """pred_delta and pred_med (§5E.3); `predict` takes L, A and Q, None when outside."""

    def __init__(self, given, predict):
        _fields(given, shape=is_ints, layout=is_str, res=is_ints, lo=is_int, hi=is_int)
        self.shape, self.interleaved = _open_layout(given)
        self.res, self.lo, self.hi = given["res"], given["lo"], given["hi"]
        _open(len(self.res) == math.prod(self.shape), "shape")
        _open(fits(self.lo, I32) and fits(self.hi, I32) and self.lo <= self.hi, "shape")
        _open(all(fits(v, I32) for v in self.res), "symbol")
        self.predict = predict
        self.at, self.values = 0, {}

    def next(self):
        c, y, x = _place(self.at, self.shape, self.interleaved)
        known = self.values.get
        value = self.res[self.at] + self.predict(known((c, y, x - 1)), known((c, y - 1, x)),
                                                 known((c, y - 1, x - 1)))
        if not self.lo <= value <= self.hi:
            raise StageRefused("range", self.at)
        self.values[c, y, x] = value
        self.at += 1
        return value

    def __copy__(self):
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, values=dict(self.values))
        return other

    def count(self):
        return len(self.res)

    def close(self):
        """Nothing is left to check."""


class Dequant:
    """dequant (§5E.4)."""

    def __init__(self, given):
        _fields(given, shape=is_ints, layout=is_str, sym=is_ints, step=is_ints, off=is_ints)
        self.shape, self.interleaved = _open_layout(given)
        self.sym, self.step, self.off = given["sym"], given["step"], given["off"]
        _open(len(self.sym) == math.prod(self.shape), "shape")
        _open(all(len(values) == self.shape[0] and all(fits(v, I32) for v in values)
                  for values in (self.step, self.off)), "shape")
        _open(all(fits(v, I32) for v in self.sym), "symbol")
        self.at = 0

    def next(self):
        c = _place(self.at, self.shape, self.interleaved)[0]
        value = self.off[c] + self.sym[self.at] * self.step[c]
        self.at += 1
        return value

    def count(self):
        return len(self.sym)

    def close(self):
        """Nothing is left to check."""


class ScaleIndex:
    """scale_index (§5E.5)."""

    def __init__(self, given):
        _fields(given, t=is_ints, v=is_ints)
        self.t, self.v = given["t"], given["v"]
        _open(len(self.t) <= 65535 and all(fits(t, I64) for t in self.t)
              and all(a < b for a, b in zip(self.t, self.t[1:])), "tables")
        _open(all(fits(v, I64) for v in self.v), "symbol")
        self.at = 0

    def next(self):
        value = self.v[self.at]
        self.at += 1
        return sum(t <= value for t in self.t)

    def count(self):
        return len(self.v)

    def close(self):
        """Nothing is left to check."""


STAGE_OPERATORS = {
    "rans64_decode": Rans64, "mans_decode": Mans,
    "pred_delta": lambda given: Predictor(given, _predict_delta),
    "pred_med": lambda given: Predictor(given, _predict_med),
    "dequant": Dequant, "scale_index": ScaleIndex}


def run_stage(op, given, mode):
    """The E of a stage vector; in mode `step` every next() runs on a copy (§5E.0.2)."""
    try:
        operator = STAGE_OPERATORS[op](given)
        out = []
        for _ in range(operator.count()):
            if mode == "step":
                operator = copy.copy(operator)
            out.append(operator.next())
        operator.close()
    except StageRefused as refusal:
        return {"at": refusal.at, "refuse": refusal.code}
    return {"out": out}
