"""Exact integers: the types, roundings, division and exponential of §2."""

I32 = (-(1 << 31), (1 << 31) - 1)
I64 = (-(1 << 63), (1 << 63) - 1)
I128 = (-(1 << 127), (1 << 127) - 1)
MAX_DIM = 65535


def fits(value, interval):
    return interval[0] <= value <= interval[1]


ROUNDINGS = ("floor", "half_up", "half_away", "half_even")
FLOOR, HALF_UP, HALF_AWAY, HALF_EVEN = range(4)


def rounding_shift(rnd, p, s):
    """R(rnd, p, s) of §2.2."""
    if s == 0:
        return p
    half = 1 << (s - 1)
    if rnd == FLOOR:
        return p >> s
    if rnd == HALF_UP:
        return (p + half) >> s
    if rnd == HALF_AWAY:
        return (p + half) >> s if p >= 0 else -((half - p) >> s)
    quotient = p >> s
    remainder = p - (quotient << s)
    return quotient + (remainder > half or (remainder == half and quotient & 1 == 1))


def rdiv(n, d):
    """Division rounded half away from zero (§2.3)."""
    return (2 * n + d) // (2 * d) if n >= 0 else -((d - 2 * n) // (2 * d))


def expneg(n, f):
    """An integer near 2^30 * exp(-n / 2^f) (§2.5; the constants are normative)."""
    if n >= 1 << (f + 5):
        return 0
    z = ((n << (26 - f)) * 1549082005) >> 30
    k, r = z >> 26, (z & ((1 << 26) - 1)) * 16
    t = -1017670
    for constant in (9893646, -59383922, 257894831, -744257797, 1073741824):
        t = constant + ((t * r) >> 30)
    return rounding_shift(HALF_UP, t, k)


def sigmoid_of(x, f, o):
    e = expneg(abs(x), f)
    s = rdiv(1 << (30 + o), (1 << 30) + e)
    return s if x >= 0 else (1 << o) - s


def elu_of(x, f):
    return x if x >= 0 else -rounding_shift(HALF_UP, (1 << 30) - expneg(-x, f), 30 - f)


def leaky_of(x, a):
    return x if x >= 0 else rounding_shift(HALF_UP, x * a, 16)
