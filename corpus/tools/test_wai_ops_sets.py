#!/usr/bin/env python3
"""Tests of the lowerings, with tflite_int8's arithmetic, and of the stage operators.

    python3 -I corpus/tools/test_wai_ops_sets.py
"""

import os
import random
import struct
import sys
import unittest
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from wai_ops import tflite  # noqa: E402
from wai_ops.canonical import canonical_line  # noqa: E402
from wai_ops.lowerings import LOWERINGS  # noqa: E402
from wai_ops.sets import LoweringRefused  # noqa: E402
from wai_ops.stage import run_stage  # noqa: E402
from wai_ops.whg1 import read_graph  # noqa: E402
from wai_ops_fixtures import B3_MEMBER, b64, layer, whm  # noqa: E402


def lower(lowering, members, **fields):
    files = {name: raw if type(raw) is bytes else canonical_line(raw)
             for name, raw in members.items()}
    return [(role, read_graph(data)) for role, data in LOWERINGS[lowering].apply(files, fields)]


class Lowerings(unittest.TestCase):
    def refused(self, code, lowering, members, **fields):
        with self.assertRaises(LoweringRefused) as caught:
            lower(lowering, members, **fields)
        self.assertEqual(caught.exception.code, code, caught.exception)

    def test_refusals_of_a_whm(self):
        def refused(code, raw, **fields):
            self.refused(code, "int_conv/1", {"net.whm": raw}, **fields)
        self.refused("member", "int_conv/1", {})
        self.refused("member", "int_conv/1", {"net.whm": b"", "other": b""})
        refused("form", B3_MEMBER[:-1])
        refused("form", b" " + B3_MEMBER)
        refused("form", whm(form="int_hyper_h"))
        refused("form", whm(pin="acc16"))
        refused("form", whm(extra=1))
        refused("form", whm(out={"hi": 1}))
        refused("form", whm(**{"in": None}))
        refused("form", whm(max_elems=True))
        refused("layer", whm(layers=[layer(op="add")]))
        refused("layer", whm(layers=[layer(op="nothing")]))
        refused("layer", whm(layers=[layer(op=["conv"])]))
        refused("layer", whm(layers=[layer(extra=0)]))
        refused("layer", whm(layers=[layer(rnd="half_up")]))
        refused("layer", whm(layers=[{}, 7]))
        refused("limit", whm(layers=[layer(w=[1])]))
        refused("limit", whm(layers=[layer(w=[1, 1 << 31])]))
        refused("limit", whm(layers=[layer(mult=[1, 1])]))
        refused("limit", whm(layers=[layer(mult=[], shift=[], post_bias=[])]))
        refused("limit", whm(layers=[layer(groups=0)]))
        refused("limit", whm(layers=[layer(cout=10 ** 30)]))
        refused("limit", whm(layers=[]))
        refused("limit", whm(max_elems=0))
        refused("limit", whm(out={"hi": 0, "lo": 1}))
        refused("limit", B3_MEMBER, c=1)
        # A code that comes later does not hide an earlier one.
        refused("form", whm(pin="x", layers=[7]))
        refused("layer", whm(max_elems=0, layers=[7]))

    def test_chain_and_check(self):
        (_, graph), = lower("int_conv/1", {"net.whm": whm(out={"hi": 9, "lo": -9})})
        self.assertEqual([(n.op, n.args) for n in graph.nodes], [("conv", [0]), ("check", [1])])
        self.assertEqual((graph.outputs, graph.nodes[1].p), ([2], {"lo": -9, "hi": 9}))

    def test_int_hyper(self):
        h, clamp = whm(
    form="int_hyper_h", out={
        "hi": 1, "lo": 0}), {
            "hi": 9, "lo": 0, "op": "clamp"}
        g = whm(form="int_hyper_g", layers=[clamp])
        self.assertEqual([role for role, _ in lower("int_hyper/1", {"h_s.whm": h, "g_s.whm": g})],
                         ["h_s", "g_s"])
        self.refused("form", "int_hyper/1", {"h_s.whm": {**h, "out": None}, "g_s.whm": g})
        self.refused("layer", "int_hyper/1", {"h_s.whm": h, "g_s.whm": {**g, "layers": [layer()]}})

    def test_world_model(self):
        state = {"h": 1, "hi": 9, "init": [1, 2], "lo": -9, "w": 1}
        t = whm(form="world_t", state=state, limit={"hi": 9, "lo": -9}, pin="",
                layers=[layer(cin=3, w=[1, 1, 1])],
                **{"in": {"c": 1, "fixed": 1, "h_cap": 1, "hi": 1, "lo": 0, "w_cap": 1}})
        g = whm(form="world_g")
        graph = lower("world_model/1", {"T.whm": t, "g_s.whm": g}, c=2)[0][1]
        self.assertEqual([(n.op, n.args) for n in graph.nodes],
                         [("concat", [0, 1]), ("conv", [2]), ("add", [0, 3]), ("clamp", [4])])
        self.assertEqual(
    (list(
        graph.inputs[0].init), graph.outputs, graph.updates), ([
            1, 2], [5], [5]))
        alone = lower("world_model/1",
                      {"T.whm": {**t, "in": None, "layers": []}, "g_s.whm": g}, c=2)
        self.assertEqual([(n.op, n.args) for n in alone[0][1].nodes],
                         [("add", [0, 0]), ("clamp", [1])])
        for fields in ({}, {"c": 1}, {"c": 2, "d": 0}):
            self.refused("limit", "world_model/1", {"T.whm": t, "g_s.whm": g}, **fields)
        self.refused("form", "world_model/1",
                     {"T.whm": {**t, "out": {"hi": 1, "lo": 0}}, "g_s.whm": g}, c=2)

    def test_gru_cell(self):
        conv = {**layer(cin=3, cout=1, w=[1, 1, 1])}
        del conv["op"]
        cell = {"f": 8, "form": "gru_cell", "h": {"c": 1, "init": 5}, "max_elems": 4096, "n": conv,
                "in": {"c": 2, "fixed": 1, "h_cap": 1, "hi": 9, "lo": 0, "w_cap": 2}, "o": 4,
                "pin": "", "r": conv, "z": conv}
        (_, graph), = lower("gru_cell/1", {"cell.whm": cell})
        # §13.4's nodes, numbered from 2 because x and h are the values 0 and 1.
        self.assertEqual([(n.op, n.args) for n in graph.nodes], [
            ("concat", [0, 1]), ("conv", [2]), ("sigmoid", [3]), ("conv", [2]), ("sigmoid", [5]),
            ("mul", [6, 1]), ("concat", [0, 7]), ("conv", [8]), ("sigmoid", [9]), ("rescale", [10]),
            ("rescale", [1]), ("add", [11, 12]), ("mul", [4, 13]), ("add", [1, 14]),
            ("clamp", [15])])
        self.assertEqual((graph.nodes[8].p["f"], list(graph.nodes[9].p["mult"]),
                          list(graph.nodes[9].p["post_bias"]), graph.nodes[12].p["shift"]),
                         (7, [2], [-16], 4))
        self.assertEqual((graph.inputs[1].lo, graph.inputs[1].hi, list(graph.inputs[1].init)),
                         (-16, 16, [5, 5]))
        for change in ({"f": 0}, {"o": 31}, {"h": {"c": 1, "init": 17}}, {"h": {"c": 2, "init": 0}},
                       {"in": {**cell["in"], "fixed": 0}}, {"r": {**conv, "kw": 2, "w": [1] * 6}}):
            self.refused("limit", "gru_cell/1", {"cell.whm": {**cell, **change}})
        self.refused("layer", "gru_cell/1", {"cell.whm": {**cell, "z": {}}})

    def test_int_mlp(self):
        dense = {
    "act": {
        "hi": 5,
        "lo": 0},
        "bias": [1],
        "cout": 1,
        "mult": [3],
        "rnd": 0,
        "shift": [1],
        "w": [
            1,
             2]}
        net = whm(form="int_mlp", layers=[dense])
        (_, graph), = lower("int_mlp/1", {"net.whm": net})
        self.assertEqual([n.op for n in graph.nodes], ["conv", "clamp"])
        self.assertEqual((graph.nodes[0].p["cin"], list(graph.nodes[0].p["post_bias"])), (2, [0]))
        self.refused("limit", "int_mlp/1", {"net.whm": {**net, "in": {**net["in"], "w_cap": 2}}})


class TfliteNumbers(unittest.TestCase):
    def test_quantize_multiplier(self):
        one = Fraction(1)
        for m, rounding, expected in (
                (one, "double", (1 << 30, 1)), (one / 2, "double", (1 << 30, 0)),
                (Fraction(3, 4), "double", (1610612736, 0)), (one * 0, "double", (0, 0)),
                (1 - one / (1 << 33), "double", (1 << 30, 1)),
                (one / (1 << 32), "double", (1 << 30, -31)),
                (one / (1 << 33), "double", (0, 0)),
                (one * (1 << 30), "single", ((1 << 31) - 1, 30)),
                (one * (1 << 30), "double", (1 << 30, 31)),
                (Fraction(1 << 31) - one / 2, "double", (1 << 30, 32))):
            self.assertEqual(tflite.quantize_multiplier(m, rounding), expected, (m, rounding))

    def test_binary_floats_equal_the_machines(self):
        """The host's IEEE floats, an outside source, on random scales."""
        draw = random.Random(11)
        for _ in range(500):
            bits = [draw.randrange(1 << 23, 255 << 23) for _ in range(3)]
            a, b, c = (struct.unpack("<f", struct.pack("<I", v))[0] for v in bits)
            exact = [tflite.scale_value(v) for v in bits]
            self.assertEqual([Fraction(v) for v in (a, b, c)], exact)
            self.assertEqual(tflite.binary64(tflite.binary64(exact[0] * exact[1]) / exact[2]),
                             Fraction(a * b / c))
            if abs(a * b) < 3.4e38:
                single = struct.unpack("<f", struct.pack("<f", a * b))[0]
                self.assertEqual(tflite.binary32(exact[0] * exact[1]), Fraction(single))


def tfq(ops, tensors, out, rounding="double"):
    return {
    "form": "tfq",
    "in": 0,
    "ops": ops,
    "out": out,
    "rounding": rounding,
     "tensors": tensors}


HALF, ONE, TWO = 0x3f000000, 0x3f800000, 0x40000000  # binary32 patterns of 0.5, 1 and 2


def activation(shape, scale=ONE, zp=0):
    return {"data": None, "scale": [scale], "shape": shape, "type": "int8", "zp": zp}


def constant(data, shape, scale=(ONE,), kind="int8"):
    return {"data": data, "scale": list(scale), "shape": shape, "type": kind, "zp": 0}


def tfq_op(name, inputs, out, act="none", **opts):
    return {"act": act, "in": inputs, "op": name, "opts": opts, "out": out}


POOL = {"dh": 1, "dw": 1, "kh": 2, "kw": 2, "pad": "valid", "sh": 2, "sw": 2}


class Tflite(unittest.TestCase):
    def nodes(self, doc):
        (_, graph), = lower("tflite_int8/1", {"model.tfq": doc})
        return graph

    def refused(self, code, doc):
        with self.assertRaises(LoweringRefused) as caught:
            lower("tflite_int8/1", {"model.tfq": doc})
        self.assertEqual(caught.exception.code, code, caught.exception)

    def dense(self, **change):
        tensors = [activation([1, 2], zp=3), constant([1, 2, 3, 4], [2, 2], (HALF,)),
                   constant([5, 6], [2], (), "int32"), activation([1, 2], TWO, -1)]
        doc = tfq([tfq_op("FULLY_CONNECTED", [0, 1, 2], 3, "relu6")], tensors, 3)
        return {**doc, **change}

    def test_fully_connected(self):
        # M = 1*0.5/2 = 1/4 = 2^-1 * 2^-1: Q 2^30, e -1. RELU6: 6/2 = 3, -1 + 3 = 2.
        graph = self.nodes(self.dense())
        self.assertEqual([n.op for n in graph.nodes], ["rescale", "conv", "rescale", "clamp"])
        centre, conv, second, clamp = (n.p for n in graph.nodes)
        self.assertEqual(list(centre["post_bias"]), [-3])
        self.assertEqual(
    (list(
        conv["w"]), list(
            conv["bias"]), conv["n"], conv["mult"], conv["shift"]), ([
                1, 2, 3, 4], [
                    5, 6], 1, (1 << 30,), (31,)))
        self.assertEqual((second["rnd"], second["mult"], second["shift"], second["post_bias"]),
                         (2, (1,), (1,), (-1,)))
        self.assertEqual((clamp["lo"], clamp["hi"]), (-1, 2))
        single = self.nodes(self.dense(rounding="single"))
        self.assertEqual([n.op for n in single.nodes], ["rescale", "conv", "clamp"])
        conv = single.nodes[1].p
        self.assertEqual((conv["mult"], conv["shift"], conv["post_bias"]),
                         ((1 << 30,), (32,), (-1,)))

    def test_fully_connected_reads_a_reshaped_image(self):
        # NHWC order (y, x, c) of the weights becomes [c][y][x]: 1x2x2 image, W = 1..4.
        tensors = [activation([1, 1, 2, 2]), activation([1, 4]), constant([1, 2, 3, 4], [1, 4]),
                   activation([1, 1])]
        doc = tfq([tfq_op("RESHAPE", [0], 1), tfq_op("FULLY_CONNECTED", [1, 2], 3)], tensors, 3)
        conv = self.nodes(doc).nodes[0].p
        self.assertEqual(
    (conv["kh"], conv["kw"], conv["cin"], list(
        conv["w"])), (1, 2, 2, [
            1, 3, 2, 4]))
        self.refused("unsupported", {**doc, "ops": doc["ops"][:1], "out": 1})

    def test_convolutions_and_pads(self):
        # SAME, 5x5, kernel 3, stride 2: out 3, total 2 -> 1, 1; 4x4: out 2, total 1 -> 0, 1.
        for size, pads in ((5, (1, 1)), (4, (0, 1))):
            out = -(-size // 2)
            tensors = [activation([1, size, size, 1]), constant(
                list(range(18)), [1, 3, 3, 2], (ONE, TWO)), activation([1, out, out, 2])]
            opts = {**POOL, "kh": 3, "kw": 3, "pad": "same"}
            graph = self.nodes(tfq([tfq_op("DEPTHWISE_CONV_2D", [0, 1], 2, **opts)], tensors, 2))
            conv = graph.nodes[0].p
            self.assertEqual((conv["pt"], conv["pb"], conv["pl"], conv["pr"]), pads * 2)
            self.assertEqual((conv["groups"], conv["cout"], conv["n"]), (1, 2, 2))
            self.assertEqual(list(conv["w"]), list(range(0, 18, 2)) + list(range(1, 18, 2)))
            # M = 1 and 2: (2^30, 1) and (2^30, 2), so mult 2^31 and 2^32, second shift 0.
            self.assertEqual((conv["mult"], list(graph.nodes[1].p["shift"])),
                             ((1 << 31, 1 << 32), [0, 0]))

    def test_add(self):
        tensors = [activation([1, 2], HALF, 1), activation([1, 2], TWO, 0)]
        graph = self.nodes(tfq([tfq_op("ADD", [0, 0], 1)], tensors, 1))
        # Each addend: centre, raise, requant of two rescales; the sum: two rescales, a clamp.
        self.assertEqual([n.op for n in graph.nodes], ["rescale"] * 8 + ["add"] + ["rescale"] * 2
                         + ["clamp"])
        self.assertEqual(graph.nodes[8].args, [4, 8])
        # s/(2s) = 1/2: (2^30, 0). (2*0.5)/(2^20*2) = 2^-21 = 2^-1 * 2^-20: shift 20.
        self.assertEqual((graph.nodes[2].p["mult"], graph.nodes[3].p["shift"]), ((1 << 30,), (0,)))
        self.assertEqual(
    (graph.nodes[9].p["mult"], graph.nodes[10].p["shift"]), ((1 << 30,), (20,)))

    def test_pools_and_pad(self):
        tensors = [activation([1, 4, 4, 2], zp=7), activation([1, 2, 2, 2], zp=7),
                   activation([1, 3, 2, 2], zp=7)]
        ops = [
    tfq_op(
        "AVERAGE_POOL_2D",
        [0],
        1,
        **POOL),
        tfq_op(
            "PAD",
            [1],
            2,
            pb=1,
            pl=0,
            pr=0,
             pt=0)]
        graph = self.nodes(tfq(ops, tensors, 2))
        self.assertEqual([n.op for n in graph.nodes], ["conv", "divc", "clamp", "pad"])
        self.assertEqual((graph.nodes[1].p["d"], graph.nodes[3].p["v"],
                         list(graph.nodes[0].p["w"])), (4, 7, [1] * 8))
        graph = self.nodes(tfq([tfq_op("MAX_POOL_2D", [0], 1, **POOL)], tensors, 1))
        self.assertEqual([n.op for n in graph.nodes], ["maxpool", "clamp"])
        tensors[1]["zp"] = 8
        self.refused("unsupported", tfq([tfq_op("MAX_POOL_2D", [0], 1, **POOL)], tensors, 1))

    def test_refusals(self):
        def changed(index, **change):
            tensors = self.dense()["tensors"]
            tensors[index] = {**tensors[index], **change}
            return self.dense(tensors=tensors)
        op = self.dense()["ops"][0]
        self.refused("form", self.dense(rounding="triple"))
        self.refused("form", changed(0, type="int16"))
        self.refused("layer", self.dense(ops=[{**op, "act": "tanh"}]))
        self.refused("layer", self.dense(ops=[{**op, "opts": {"pad": "same"}}]))
        self.refused("unsupported", self.dense(ops=[{**op, "op": "SOFTMAX", "opts": 7}]))
        self.refused("unsupported", self.dense(ops=[{**op, "in": [0, 1, 9]}]))
        self.refused("unsupported", self.dense(ops=[{**op, "in": [3, 1, 2]}]))
        self.refused("unsupported", changed(1, scale=[HALF, HALF, HALF]))
        self.refused("unsupported", changed(1, scale=[0x7f800000]))
        self.refused("unsupported", changed(1, scale=[0x007fffff]))
        self.refused("unsupported", changed(1, zp=1))
        self.refused("unsupported", changed(0, data=[1, 2]))
        self.refused("unsupported", changed(3, zp=128))
        self.refused("limit", changed(1, data=[1, 2, 3, 128]))
        self.refused("limit", changed(1, data=[1, 2, 3]))
        self.refused("limit", changed(2, data=[5]))
        self.refused("limit", changed(3, shape=[1, 3]))
        self.refused("limit", changed(1, scale=[1 << 32]))
        self.refused("limit", self.dense(ops=[], out=0))
        huge = 0x7f000000
        tensors = changed(1, scale=[huge])["tensors"]
        tensors[0]["scale"] = [huge]
        self.refused("limit", self.dense(tensors=tensors))


def stage(op, **given):
    """The outcome of both modes, which must be one: the integers, or (code, at)."""
    whole, step = run_stage(op, given, "whole"), run_stage(op, given, "step")
    assert whole == step, (whole, step)
    return whole["out"] if "out" in whole else (whole["refuse"], whole["at"])


class Stage(unittest.TestCase):
    TABLE = {"cdf": [0, 32768, 65536], "esc": 1, "off": 10}
    DIST = {"esc": 0, "freq": [248] + [1] * 8, "sym": list(range(-4, 5))}

    def rans(self, words, idx, **table):
        return stage("rans64_decode", bytes=b64(struct.pack(f"<{len(words)}I", *words)), idx=idx,
                     tables=[{**self.TABLE, **table}])

    def test_rans64(self):
        # X = 2^32: v = 0, symbol 0, X = 32768 * 65536 = 2^31, where close ends.
        self.assertEqual(self.rans([0, 1], [0]), [10])
        # X = 2^32 + 32768: symbol 1, which escapes unless esc is 0.
        self.assertEqual(self.rans([32768, 1], [0], esc=0), [11])
        # X = 2^31, then nothing: symbol 0 of 2^31 gives 2^30, below 2^31, with no word left.
        self.assertEqual(self.rans([1 << 31, 0], [0]), ("truncated", 0))
        self.assertEqual(self.rans([0, 1, 7], [0]), ("trailing", 1))
        self.assertEqual(self.rans([0, 2], [0]), ("final", 1))
        self.assertEqual(self.rans([0, 0], []), ("state", -1))
        self.assertEqual(self.rans([0, 1 << 31], []), ("state", -1))
        for bad in ({"cdf": [0, 65535]}, {"cdf": [1, 65536]}, {"cdf": [0, 9, 9, 65536]}, {"esc": 2},
                    {"off": 1 << 31}, {"cdf": 7}, {"more": 0}, {"cdf": [0, True, 65536]}):
            self.assertEqual(self.rans([0, 1], [0], **bad), ("tables", -1), bad)

    def test_rans64_escape(self):
        # z = 5 (value -3) is lo 5, hi 0. Backwards from X = 2^31: hi: 2^31 * 2^16 = 2^47; lo would
        # give 2^63 + 5, so 2^47's low word 0 goes out and X = 2^15 * 2^16 + 5; the symbol 1:
        # floor(X / 32768) * 65536 + X mod 32768 + 32768 = 2^32 + 5 + 32768.
        self.assertEqual(self.rans([5 + 32768, 1, 0], [0]), [-3 + 10])

    def mans(self, data, idx, mask, **dist):
        return stage("mans_decode", bytes=b64(data), calls=[{"idx": idx, "mask": mask}],
                     dists=[{**self.DIST, **dist}])

    def test_mans(self):
        # S0 = S1 = 0. Slot 0: symbol -4, kappa 248, one bit, base 496 - 256 = 240.
        self.assertEqual(self.mans([0, 0, 1], [0], [1]), ("truncated", 0))
        self.assertEqual(self.mans([0, 0, 2], [0], [1]), [-4])
        self.assertEqual(self.mans([0, 0, 1], [0, 0], [0, 0]), [0, 0])
        self.assertEqual(self.mans([0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]), ("truncated", 2))
        self.assertEqual(self.mans([], [0], [1]), ("marker", -1))
        self.assertEqual(self.mans([1, 0], [0], [1]), ("marker", -1))
        self.assertEqual(self.mans([255], [0], [1]), ("truncated", -1))
        self.assertEqual(self.mans([0, 0, 1], [0], [2]), ("shape", -1))
        self.assertEqual(self.mans([0, 0, 1], [1], []), ("index", -1))
        for bad in ({"freq": [247] + [1] * 8}, {"esc": 5}, {"sym": [0]}, {"freq": [256]},
                    {"freq": [257, -1] + [0] * 7}):
            self.assertEqual(self.mans([0, 0, 1], [0], [1], **bad), ("tables", -1), bad)

    def test_mans_escapes(self):
        # S0, S1 of 8 bits; the in step's bit 0; then 1 and the three bits 101: m 2, g 1, -(2 + 4).
        number = int("1" + "0" * 16 + "0" + "1" + "101", 2)
        self.assertEqual(self.mans(number.to_bytes(3, "little"), [0], [1], esc=4), [-6])
        # 0 and sixteen bits 0...01000: m 4, g 0, 4 + 4.
        number = int("1" + "0" * 16 + "0" + "0" + "0000000000001000", 2)
        self.assertEqual(self.mans(number.to_bytes(5, "little"), [0], [1], esc=4), [8])
        # One bit short of them: the flush of position 0.
        number = int("1" + "0" * 16 + "0" + "0" + "000000000000100", 2)
        self.assertEqual(self.mans(number.to_bytes(5, "little"), [0], [1], esc=4), ("truncated", 0))

    def test_predictors(self):
        # delta, 2x2: 5; 5+1; 5+2 (above); 7+3.
        given = {"shape": [1, 2, 2], "layout": "planar", "res": [5, 1, 2, 3], "lo": -9, "hi": 99}
        self.assertEqual(stage("pred_delta", **given), [5, 6, 7, 10])
        # med at (1, 1): L 7, A 6, Q 5 <= min: max = 7, plus 3.
        self.assertEqual(stage("pred_med", **given), [5, 6, 7, 10])
        # Q 9 >= max(L 7, A 8): min 7; Q 5 between L 7 and A 3: 7 + 3 - 5.
        self.assertEqual(stage("pred_med", **{**given, "res": [9, -1, -2, 0]})[3], 7)
        self.assertEqual(stage("pred_med", **{**given, "res": [5, -2, 2, 0]})[3], 5)
        # Interleaved, two channels of 1x2: each channel alone.
        two = {**given, "shape": [2, 1, 2], "layout": "interleaved", "res": [1, 10, 2, 20]}
        self.assertEqual(stage("pred_delta", **two), [1, 10, 3, 30])
        self.assertEqual(stage("pred_delta", **{**given, "hi": 9}), ("range", 3))
        big = {**given, "res": [1 << 31, 0, 0, 0]}
        self.assertEqual(stage("pred_delta", **big), ("symbol", -1))
        for bad in ({"lo": 100}, {"hi": 1 << 31}, {"layout": "nhwc"}, {"shape": [1, 2]},
                    {"res": [1]}, {"shape": [0, 2, 2]}, {"res": [1, 2, 3, True]}, {"extra": 1},
                    {"lo": "1"}):
            self.assertEqual(stage("pred_delta", **{**given, **bad}), ("shape", -1), bad)

    def test_dequant_and_scale_index(self):
        given = {"shape": [2, 1, 2], "layout": "planar", "sym": [1, 2, 3, 4], "step": [10, 100],
                 "off": [1, 2]}
        self.assertEqual(stage("dequant", **given), [11, 21, 302, 402])
        self.assertEqual(stage("dequant", **{**given, "layout": "interleaved"}), [11, 202, 31, 402])
        self.assertEqual(stage("dequant", **{**given, "off": [1, 1 << 31]}), ("shape", -1))
        self.assertEqual(stage("scale_index", t=[-1, 4], v=[-2, -1, 4, 5]), [0, 1, 2, 2])
        self.assertEqual(stage("scale_index", t=[4, 4], v=[1 << 63]), ("tables", -1))
        self.assertEqual(stage("scale_index", t=[4], v=[1 << 63]), ("symbol", -1))
        self.assertEqual(stage("scale_index", t=[4], v=["4"]), ("shape", -1))


if __name__ == "__main__":
    unittest.main()
