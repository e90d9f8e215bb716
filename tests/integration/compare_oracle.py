#!/usr/bin/env python3
"""Holds libhelx_core's comparison against Python's exact integers: compare_oracle.py LIBRARY.

For every dtype, HELX_ORACLE_PAIRS pairs (default 1,000,000): random bits, edge values, and values
placed at the tolerance's bound and one step beside it. Each value is an integer multiple of
2^-149 (2^-24 for float16, 1 for integers) and each tolerance a ratio, so that the inequality
|actual - reference| <= absolute + relative * |reference| is one between integers.
"""
import ctypes
import json
import math
import os
import random
import struct
import sys

PAIRS = int(os.environ.get("HELX_ORACLE_PAIRS", "1000000"))

# struct code, bits, kind, fraction bits of the unit
DTYPES = {
    "bool": ("B", 8, "bool", 0),
    "int8": ("b", 8, "int", 0),
    "uint8": ("B", 8, "uint", 0),
    "int16": ("h", 16, "int", 0),
    "int32": ("i", 32, "int", 0),
    "int64": ("q", 64, "int", 0),
    "float16": ("e", 16, "float", 24),
    "float32": ("f", 32, "float", 149),
}

TOLERANCES = [
    (0.0, 0.0), (1.0, 0.0), (0.0, 1e-3), (1.0, 1e-3), (0.5, 0.25), (0.0, 0.5), (2.0, 1.0),
    (0.1, 0.1), (1e-7, 1e-5), (1e300, 0.0), (5e-324, 5e-324), (0.0, 1e-300), (3.0, 0.02),
    (254.5, 1e-16), (2.0**53, 2.0**-53), (0.0, math.nextafter(0.5, 1.0)), (1e-30, 1e308),
]


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.helx_compare.argtypes = [Bytes] * 4 + [ctypes.POINTER(Buffer)]
        self.library.helx_free.argtypes = [ctypes.POINTER(Buffer)]

    def compare(self, dtype, actual, reference, count, policy):
        spec = json.dumps({"dtype": dtype, "index": 0, "name": "t", "shape": [count]}).encode()
        text = json.dumps(policy).encode()
        out = Buffer()
        status = self.library.helx_compare(
            *(Bytes(b, len(b)) for b in (spec, actual, reference, text)), ctypes.byref(out))
        answer = json.loads(ctypes.string_at(out.data, out.size))
        self.library.helx_free(ctypes.byref(out))
        if status != 0:
            raise RuntimeError(answer)
        return answer


class Rule:
    """distance * scale <= fixed + slope * |reference|, all integers in units of the dtype."""

    def __init__(self, absolute, relative, fraction_bits):
        an, ad = absolute.as_integer_ratio()
        rn, rd = relative.as_integer_ratio()
        self.scale = max(ad, rd)  # powers of two
        self.fixed = an * (self.scale // ad) << fraction_bits
        self.slope = rn * (self.scale // rd)

    def bound(self, magnitude):
        return (self.fixed + self.slope * magnitude) // self.scale


def edges(kind, bits):
    if kind == "bool":
        return [0, 1]
    if kind == "uint":
        return [0, 1, 127, 128, 254, 255]
    if kind == "int":
        top = 1 << (bits - 1)
        return [0, 1, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, (1 << min(53, bits - 1)) - 1,
                (1 << min(53, bits - 2)) + 1]
    exponent = 0x7C00 if bits == 16 else 0x7F800000
    sign = 1 << (bits - 1)
    one = 0x3C00 if bits == 16 else 0x3F800000
    values = [0, 1, one, one + 1, exponent - 1, exponent, exponent + 1, exponent | sign >> 2,
              exponent >> 1, (exponent ^ (exponent << 1)) & exponent]
    return values + [v | sign for v in values]


class Generator:
    def __init__(self, dtype, rng):
        self.code, self.bits, self.kind, self.fraction = DTYPES[dtype]
        self.rng = rng
        self.edges = edges(self.kind, self.bits)
        self.mask = (1 << self.bits) - 1
        self.unsigned = {8: "B", 16: "H", 32: "I", 64: "Q"}[self.bits]

    def bits_of_random(self):
        draw = self.rng.random()
        if self.kind == "bool":
            return self.rng.getrandbits(1)
        if draw < 0.08:
            return self.rng.choice(self.edges)
        if draw < 0.45 and self.kind != "float":
            # Small magnitudes, where tolerances bite.
            return self.rng.randint(-130, 130) & self.mask
        if draw < 0.6 and self.kind == "float":
            return self.to_bits(struct.pack("<" + self.code, self.rng.randint(-2000, 2000) / 8))
        return self.rng.getrandbits(self.bits)

    def to_bits(self, packed):
        return int.from_bytes(packed, "little")

    def value(self, bits):
        return struct.unpack("<" + self.code, bits.to_bytes(self.bits // 8, "little"))[0]

    def exact(self, value):
        return int(value * 2.0**self.fraction) if self.kind == "float" else value

    def near_bound(self, reference_bits, rule):
        """Bits of a value at the bound, or one step beside it."""
        reference = self.value(reference_bits)
        if self.kind == "bool" or not math.isfinite(reference):
            return self.bits_of_random()
        exact = self.exact(reference)
        step = rule.bound(abs(exact)) * self.rng.choice((1, -1))
        target = exact + step
        if self.kind != "float":
            target += self.rng.randint(-1, 1)
            low = 0 if self.kind == "uint" else -(1 << (self.bits - 1))
            high = low + self.mask
            return min(max(target, low), high) & self.mask
        try:
            packed = struct.pack("<" + self.code, target / 2**self.fraction)
        except OverflowError:
            return self.bits_of_random()
        return (self.to_bits(packed) + self.rng.randint(-1, 1)) & self.mask

    def pairs(self, count, rule):
        actual, reference = [], []
        for _ in range(count):
            r = self.bits_of_random()
            draw = self.rng.random()
            if draw < 0.5:
                a = self.near_bound(r, rule)
            elif draw < 0.6:
                a = r
            else:
                a = self.bits_of_random()
            actual.append(a)
            reference.append(r)
        pack = "<%d%s" % (count, self.unsigned)
        return struct.pack(pack, *actual), struct.pack(pack, *reference)


def decimal_text(units, fraction_bits):
    """units / 2^fraction_bits without exponent."""
    digits = str(units * 5**fraction_bits)
    if fraction_bits == 0:
        return digits
    digits = digits.rjust(fraction_bits + 1, "0")
    whole, fraction = digits[:-fraction_bits], digits[-fraction_bits:].rstrip("0")
    return whole + ("." + fraction if fraction else "")


def expected(generator, actual, reference, count, rule, match_nan):
    unpack = "<%d%s" % (count, generator.code)
    mismatches = nonfinite = 0
    first = greatest = None
    scale, fixed, slope = rule.scale, rule.fixed, rule.slope
    exact = generator.exact
    is_float = generator.kind == "float"
    for i, (a, r) in enumerate(zip(struct.unpack(unpack, actual), struct.unpack(unpack, reference))):
        if is_float and not (math.isfinite(a) and math.isfinite(r)):
            nonfinite += 1
            matches = a == r or (match_nan and a != a and r != r)
        else:
            whole = exact(r)
            distance = abs(exact(a) - whole)
            if greatest is None or distance > greatest:
                greatest = distance
            matches = distance * scale <= fixed + slope * abs(whole)
        if not matches:
            mismatches += 1
            if first is None:
                first = i
    error = None if greatest is None else decimal_text(greatest, generator.fraction)
    return {"elements": count, "mismatches": mismatches, "nonfinite_pairs": nonfinite,
            "max_abs_error": error, "first": first}


def check(library, dtype, rng):
    generator = Generator(dtype, rng)
    done = 0
    while done < PAIRS:
        absolute, relative = rng.choice(TOLERANCES)
        rule = Rule(absolute, relative, generator.fraction)
        count = rng.choice((1, 3, 7, 64, 255, 300, 1000, 4099))
        match_nan = rng.random() < 0.5
        actual, reference = generator.pairs(count, rule)
        answer = library.compare(dtype, actual, reference, count, {
            "default": {"absolute": absolute, "relative": relative},
            "nan": "match_both" if match_nan else "never_match"})
        difference = answer["first_difference"]
        found = {name: answer[name] for name in
                 ("elements", "mismatches", "nonfinite_pairs", "max_abs_error")}
        found["first"] = difference["position"][0] if difference else None
        wanted = expected(generator, actual, reference, count, rule, match_nan)
        if found != wanted:
            print(dtype, (absolute, relative), match_nan, "\nfound ", found, "\nwanted", wanted)
            return False
        done += count
    print("%s: %d pairs agree" % (dtype, done))
    return True


def main():
    library = Library(sys.argv[1])
    names = sys.argv[2:] or list(DTYPES)
    ok = [check(library, name, random.Random("compare-oracle/" + name)) for name in names]
    return 0 if all(ok) else 1


sys.exit(main())
