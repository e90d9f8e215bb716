#!/usr/bin/env python3
"""Tests of the graph operators, WHG1, the run, bounds and certificates.

Values are calculated by hand, or stated by the text's annexes.

    python3 -I corpus/tools/test_wai_ops_graph.py
"""

import hashlib
import itertools
import os
import random
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from wai_ops.bounds import Bounds, failed_conditions  # noqa: E402
from wai_ops.canonical import parse_canonical_file  # noqa: E402
from wai_ops.certificate import certificate, certificate_fault, load  # noqa: E402
from wai_ops.integers import elu_of, expneg, rdiv, rounding_shift, sigmoid_of  # noqa: E402
from wai_ops.lowerings import LOWERINGS  # noqa: E402
from wai_ops.npu import npu_verdict  # noqa: E402
from wai_ops.parameters import BadParams, read_params, write_params  # noqa: E402
from wai_ops.run import Instance, RunRefused  # noqa: E402
from wai_ops.sets import set_digest  # noqa: E402
from wai_ops.shapes import plan  # noqa: E402
from wai_ops.whg1 import (Graph, Input, LoadRefused, Node, read_graph, seal,  # noqa: E402
                          write_graph)
from wai_ops_fixtures import (B1, B3_CERTIFICATE, B3_MEMBER, CONV, MIN64, RQB,  # noqa: E402
                              TRANSPOSE, WINDOW, bounds_of, evaluate, named, one_node)


class Integers(unittest.TestCase):
    def test_rounding_shifts_of_annex_a(self):
        rows = {-6: (-2, -1, -2, -2), -5: (-2, -1, -1, -1), -4: (-1,) * 4, -3: (-1,) * 4,
                -2: (-1, 0, -1, 0), -1: (-1, 0, 0, 0), 0: (0,) * 4, 1: (0,) * 4, 2: (0, 1, 1, 0),
                3: (0, 1, 1, 1), 5: (1,) * 4, 6: (1, 2, 2, 2)}
        for p, row in rows.items():
            self.assertEqual(tuple(rounding_shift(r, p, 2) for r in range(4)), row, p)
            self.assertEqual(tuple(rounding_shift(r, p << 61, 63) for r in range(4)), row, p)
            self.assertEqual({rounding_shift(r, p, 0) for r in range(4)}, {p})

    def test_rdiv_rounds_half_away(self):
        for n, d, expected in ((5, 2, 3), (-5, 2, -3), (4, 3, 1), (-4, 3, -1),
                               (0, 7, 0), (7, 14, 1), (-7, 14, -1), (6, 14, 0)):
            self.assertEqual(rdiv(n, d), expected, (n, d))

    def test_expneg_of_annex_a(self):
        for n, expected in ((0, 1073741824), (1, 1069555727), (128, 651257279), (256, 395007571),
                            (1000, 21599169), (5000, 4), (8191, 0), (8192, 0)):
            self.assertEqual(expneg(n, 8), expected, n)
        for n, expected in ((0, 1073741824), (1, 395007571),
                            (5, 7234815), (21, 1), (31, 0), (32, 0)):
            self.assertEqual(expneg(n, 0), expected, n)
        self.assertEqual((expneg(1, 26), expneg((1 << 31) - 1, 26)), (1073741812, 0))

    def test_sigmoid_and_elu_of_annex_a(self):
        for x, expected in ((-8192, 0), (-2000, 13), (-256, 8813), (-1, 16352), (0, 16384),
                            (1, 16416), (256, 23955), (2000, 32755), (8192, 32768)):
            self.assertEqual(sigmoid_of(x, 8, 15), expected, x)
        for x, expected in ((-8192, -256), (-2000, -256), (-256, -162), (-1, -1), (0, 0), (7, 7)):
            self.assertEqual(elu_of(x, 8), expected, x)


class Operators(unittest.TestCase):
    """Each expected list is calculated in its comment from §5's formula."""

    def check(self, op, params, tensors, data, shape):
        self.assertEqual(evaluate(op, params, *tensors), (data, shape))

    def test_conv(self):
        # 2x2 of ones on 1..6 as 2x3: 1+2+4+5, 2+3+5+6; plus the bias 10; (22, 26)*3/2, half up.
        params = {**CONV, "kh": 2, "kw": 2, "w": [1] * 4, "bias": [10], "mult": [3], "shift": [1],
                  "post_bias": [-1]}
        self.check("conv", params, [((1, 2, 3), range(1, 7))], [32, 38], (1, 1, 2))

    def test_conv_pads_strides_dilation(self):
        # Kernel 1x2, w = (10, 1), dilation 2, stride 2, pl 1, pr 2 on 1,2,3,4: taps at -1,1 | 1,3
        # | 3,5 -> 2, 20+4, 40.
        params = {**CONV, "kw": 2, "dw": 2, "sw": 2, "pl": 1, "pr": 2, "w": [10, 1]}
        self.check("conv", params, [((1, 1, 4), [1, 2, 3, 4])], [2, 24, 40], (1, 1, 3))

    def test_conv_groups(self):
        # Output o reads group o // 2: w[o][i], 1*1+2*2, 3*1+4*2 on (1, 2); 5*3+6*4, 7*3+8*4.
        params = {**CONV, "cin": 4, "cout": 4, "groups": 2, "bias": [0] * 4, "w": range(1, 9)}
        self.check("conv", params, [((4, 1, 1), [1, 2, 3, 4])], [5, 11, 39, 53], (4, 1, 1))

    def test_conv_transpose(self):
        # x = (1, 10) spread by stride 2 under the kernel (1, 2, 3): 1, 2, 3+10, 20, 30; then
        # pl 1 and pr 1 drop the ends.
        params = {**TRANSPOSE, "kw": 3, "sw": 2, "w": [1, 2, 3]}
        self.check("conv_transpose", params, [((1, 1, 2), [1, 10])], [1, 2, 13, 20, 30], (1, 1, 5))
        cut = {**params, "pl": 1, "pr": 1}
        self.check("conv_transpose", cut, [((1, 1, 2), [1, 10])], [2, 13, 20], (1, 1, 3))
        # Two channels in and out, weights [i][o]: 1*1+10*3, 1*2+10*4.
        params = {**TRANSPOSE, "cin": 2, "cout": 2, "bias": [0, 0], "w": [1, 2, 3, 4]}
        self.check("conv_transpose", params, [((2, 1, 1), [1, 10])], [31, 42], (2, 1, 1))

    def test_rescale_and_chscale_per_channel(self):
        params = {"rnd": 2, "n": 2, "mult": [3, -1], "shift": [1, 0], "post_bias": [0, 5]}
        self.check("rescale", params, [((2, 1, 2), [1, -1, 7, -7])], [2, -2, -2, 12], (2, 1, 2))
        params = {"rnd": 0, "c": 2, "m": [3, -1], "s": [1, 1]}
        self.check("chscale", params, [((2, 1, 2), [1, -1, 7, -7])], [1, -2, -4, 3], (2, 1, 2))

    def test_two_inputs(self):
        a, b = ((1, 1, 3), [1, -2, 3]), ((1, 1, 3), [10, 20, -30])
        self.check("add", {}, [a, b], [11, 18, -27], (1, 1, 3))
        # -40/4 = -10; -90/4 = -22.5, half even -22; 10/4 = 2.5, half even 2.
        self.check("mul", {"rnd": 3, "mult": 1, "shift": 2}, [a, b], [2, -10, -22], (1, 1, 3))
        self.check("concat", {}, [a, b, a], [1, -2, 3, 10, 20, -30, 1, -2, 3], (3, 1, 3))

    def test_lut16(self):
        # T[j] = j*256 - 32768 but T[128] = 100 (x = 0): x = 0 gives 100; x = 128 is half way
        # from 100 to 256, 178; x = -1 is 255/256 from -256 to 100: 98.609 -> 99.
        table = [j * 256 - 32768 if j < 256 else 32767 for j in range(257)]
        table[128] = 100
        graph = read_graph(
    write_graph(
        one_node(
            "lut16", {
                "T": table}, Input(
                    3, 1, 1, -32767, 32767))))
        self.assertEqual(Instance(graph).decode([([3, 1, 1], [0, 128, -1])])[0][1], [100, 178, 99])

    def test_elementwise(self):
        x = [((1, 1, 4), [-6, -3, 0, 6])]
        self.check("leaky", {"a": 1 << 14}, x, [-1, -1, 0, 6], (1, 1, 4))  # -1.5, -0.75 half up
        self.check("clamp", {"lo": -4, "hi": 5}, x, [-4, -3, 0, 5], (1, 1, 4))
        self.check("divc", {"d": 4}, x, [-2, -1, 0, 2], (1, 1, 4))
        self.check("check", {"lo": -6, "hi": 6}, x, [-6, -3, 0, 6], (1, 1, 4))

    def test_moves(self):
        x = [((1, 2, 3), range(1, 7))]
        self.check("crop", {"pt": 1, "pb": 0, "pl": 0, "pr": 2}, x, [4], (1, 1, 1))
        self.check("pad", {"pt": 0, "pb": 1, "pl": 1, "pr": 0, "v": 9}, x,
                   [9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9], (1, 3, 4))
        self.check("slice", {"c0": 1, "c1": 2}, [((3, 1, 2), range(6))], [2, 3], (1, 1, 2))
        # r = 2 on 1x1: channels 0..3 are (dy, dx) = 00, 01, 10, 11.
        self.check("pixel_shuffle", {"r": 2}, [((4, 1, 2), [1, 5, 2, 6, 3, 7, 4, 8])],
                   [1, 2, 5, 6, 3, 4, 7, 8], (1, 2, 4))

    def test_maxpool_pads_are_absent(self):
        params = {**WINDOW, "kw": 2, "pl": 1}
        self.check("maxpool", params, [((1, 1, 3), [-5, -9, -7])], [-5, -5, -7], (1, 1, 3))

    def test_igdn(self):
        # n0 = 1 + 1*3 + 2*4 = 12, n1 = 2 + 3*3 + 0*4 = 11; -3*12/4, 4*11/4.
        params = {"c": 2, "rnd": 1, "shift": 2, "beta": [1, 2], "gamma": [1, 2, 3, 0]}
        self.check("igdn", params, [((2, 1, 1), [-3, 4])], [-9, 11], (2, 1, 1))

    def test_norms(self):
        # isqrt(9+16+1) = 5: 6/5 -> 1, -8/5 -> -2.
        self.check("l2norm", {"k": 1, "eps": 1}, [((2, 1, 1), [3, -4])], [1, -2], (2, 1, 1))
        # d = -2, 2; ss 8; 8/2+1 = 5, D 2; -4/2, 4/2.
        self.check("layernorm_c", {"k": 1, "eps": 1}, [((2, 1, 1), [1, 3])], [-2, 2], (2, 1, 1))


class Whg1(unittest.TestCase):
    def refused(self, data, code):
        with self.assertRaises(LoadRefused) as caught:
            load(data)
        self.assertEqual(caught.exception.code, code)

    def test_annex_b1(self):
        graph = one_node("rescale", RQB, Input(2, 8, 8, -100, 100))
        self.assertEqual(write_graph(graph), B1)
        self.assertEqual(write_graph(read_graph(B1)), B1)
        self.assertEqual(load(B1)[1].verdict, "acc32")

    def test_truncation_and_single_bits(self):
        for size in range(len(B1)):
            self.refused(B1[:size], "header")
        for at, bit in itertools.product(range(len(B1)), range(8)):
            damaged = bytearray(B1)
            damaged[at] ^= 1 << bit
            with self.assertRaises(LoadRefused) as caught:
                load(bytes(damaged))
            self.assertIn(caught.exception.code, ("header", "checksum"))

    def test_every_field_of_the_header_and_entries(self):
        """(offset, format, value, code) from §10.1, §10.3 and §10.4's layouts."""
        for at, form, value, code in (
                (44, "B", 1, "header"), (59, "B", 1, "header"), (8, "I", 0, "header"),
                (8, "I", 257, "header"), (12, "I", 65537, "header"), (16, "I", 0, "header"),
                (16, "I", 257, "header"), (20, "I", 2, "header"), (24, "Q", 1 << 31, "header"),
                (32, "I", 27, "header"), (66, "H", 1, "inputs"), (72, "I", 0, "inputs"),
                (76, "I", 65536, "inputs"), (96, "I", 8, "inputs"), (104, "Q", 1, "inputs"),
                (64, "B", 1, "inputs"), (116, "I", 4, "nodes"), (120, "I", 25, "nodes"),
                (120, "I", 27, "nodes"), (120, "I", 3, "nodes"), (114, "H", 0, "nodes"),
                (132, "B", 4, "params"), (133, "I", 65536, "params"), (133, "I", 2, "params"),
                (124, "I", 0, "outputs"), (137, "q", MIN64, "params")):
            damaged = bytearray(B1)
            struct.pack_into("<" + form, damaged, at, value)
            self.refused(seal(damaged), code)

    def test_states(self):
        def graph(**change):
            fields = {"c": 1, "h_cap": 1, "w_cap": 2, "lo": -5, "hi": 5, "init": [1, -5], **change}
            result = Graph(4096, [Input(1, 1, 2, -1, 1, fixed=1), Input(**fields)])
            result.outputs = [result.add("add", 0, 1)]
            result.updates = [result.add("clamp", 2, lo=-5, hi=5)]
            return result
        self.assertEqual(load(write_graph(graph()))[1].verdict, "acc32")
        self.refused(write_graph(graph(init=[1, 6])), "inputs")
        self.refused(write_graph(graph(init=[1])), "inputs")
        data = bytearray(write_graph(graph()))
        for at, form, value in ((64 + 48 + 1, "B", 0), (64 + 48 + 32, "I", 8)):
            damaged = bytearray(data)
            struct.pack_into("<" + form, damaged, at, value)
            self.refused(seal(damaged), "inputs")
        small = graph()
        small.max_elems = 1
        self.refused(write_graph(small), "inputs")
        open_range = graph(lo=-4, init=[1, 1])
        self.refused(write_graph(open_range), "bounds")
        self.assertEqual(Bounds(open_range, plan(open_range)).fail_acc64, [[3, "state"]])

    def test_concat_takes_2_to_16(self):
        for count, ok in ((1, False), (2, True), (16, True), (17, False)):
            data = write_graph(one_node("concat", {}, *[Input(1, 1, 1, 0, 1)] * count))
            if ok:
                load(data)
            else:
                self.refused(data, "nodes")

    def test_parameter_ranges(self):
        """Offsets and limits of §5's blocks, by hand: parameters, (offset, format, value)."""
        conv = {**CONV, "cin": 2, "cout": 2, "bias": [0, 0], "w": [1] * 4}
        cases = {
            "conv": (conv, [(0, "I", 0), (4, "I", 65536), (8, "I", 0), (8, "I", 4), (12, "H", 0),
                            (14, "H", 65), (16, "H", 0), (18, "H", 65), (20, "H", 0), (22, "H", 17),
                            (24, "H", 256), (26, "H", 256), (28, "H", 256), (30, "H", 256),
                            (32, "B", 4), (33, "I", 3), (37, "q", MIN64), (53, "B", 64)]),
            "conv_transpose": ({**TRANSPOSE, "kh": 2, "w": [1] * 2},
                               [(8, "H", 0), (16, "H", 2), (18, "H", 2), (20, "H", 1), (22, "H", 1),
                                (24, "B", 4), (25, "I", 2), (45, "B", 64)]),
            "mul": ({"rnd": 0, "mult": 1, "shift": 0},
                    [(0, "B", 4), (1, "q", MIN64), (9, "B", 64)]),
            "sigmoid": ({"f": 0, "o": 1}, [(0, "B", 27), (1, "B", 0), (1, "B", 31)]),
            "elu": ({"f": 0}, [(0, "B", 27)]),
            "pad": ({"pt": 0, "pb": 0, "pl": 0, "pr": 0, "v": 0}, [(0, "H", 256), (6, "H", 256)]),
            "slice": ({"c0": 0, "c1": 1}, [(0, "I", 1), (4, "I", 0), (4, "I", 65536)]),
            "pixel_shuffle": ({"r": 2}, [(0, "H", 1), (0, "H", 17)]),
            "igdn": ({"c": 1, "rnd": 0, "shift": 0, "beta": [0], "gamma": [0]},
                     [(0, "I", 4097), (4, "B", 4), (5, "B", 64), (6, "q", -1), (14, "i", -1)]),
            "chscale": ({"rnd": 0, "c": 1, "m": [0], "s": [0]},
                        [(0, "B", 4), (1, "I", 0), (5, "q", MIN64), (13, "B", 64)]),
            "l2norm": ({"k": 0, "eps": 1}, [(0, "B", 32), (1, "Q", 0)]),
            "layernorm_c": ({"k": 0, "eps": 1}, [(0, "B", 32), (1, "Q", 0)]),
            "clamp": ({"lo": 0, "hi": 0}, [(0, "q", 1)]),
            "check": ({"lo": 0, "hi": 0}, [(8, "q", -1)]),
            "maxpool": (WINDOW, [(0, "H", 0), (6, "H", 65), (8, "H", 1), (10, "H", 1), (12, "H", 1),
                                 (14, "H", 1)]),
            "divc": ({"d": 1}, [(0, "I", 0)]),
        }
        for op, (params, changes) in cases.items():
            block = write_params(op, params)
            read_params(op, block)
            for at, form, value in changes:
                damaged = bytearray(block)
                struct.pack_into("<" + form, damaged, at, value)
                with self.assertRaises(BadParams, msg=(op, at, value)):
                    read_params(op, bytes(damaged))
            for other in (block[:-1], block + b"\0"):
                with self.assertRaises(BadParams, msg=op):
                    read_params(op, other)

    def test_too_many_weights_is_refused_before_they_are_read(self):
        block = bytearray(write_params("conv", CONV))
        struct.pack_into("<IIIHH", block, 0, 65535, 65535, 1, 64, 64)
        with self.assertRaisesRegex(BadParams, "2\\^26"):
            read_params("conv", bytes(block))


class Run(unittest.TestCase):
    def test_refused_decodes_change_no_state(self):
        graph = Graph(4096, [Input(1, 1, 1, -11, 11, fixed=1), Input(1, 1, 1, -25, 25, init=[3])])
        value = graph.add("check", graph.add("clamp", graph.add("add", 0, 1), lo=-25, hi=25),
                          lo=-20, hi=20)
        graph.outputs, graph.updates = [value], [value]
        instance, results = Instance(load(write_graph(graph))[0]), []
        for x in (10, 10, 5, 12, -1):
            try:
                results.append(instance.decode([([1, 1, 1], [x])])[0][1])
            except RunRefused as refusal:
                results.append(refusal.code)
        self.assertEqual(results, [[13], "check", [18], "range", [17]])

    def test_order_of_the_steps(self):
        graph = one_node("crop", {"pt": 1, "pb": 1, "pl": 0, "pr": 0}, Input(1, 4, 4, 0, 9),
                         max_elems=5)
        instance = Instance(load(write_graph(graph))[0])
        for shape, data, code in (
                ([1, 1], [0], "inputs"), ([1, 1, 1], [0, 0], "inputs"), ([1, 1, 0], [], "inputs"),
                ([1, 65536, 1], [0] * 65536, "inputs"), ([1, 1, 1], [1 << 63], "inputs"),
                ([2, 5, 1], [0] * 9 + [-1], "range"), ([2, 5, 1], [0] * 10, "caps"),
                ([2, 4, 1], [0] * 8, "shape"), ([1, 2, 3], [0] * 6, "shape"),
                ([1, 3, 2], [0] * 6, "max_elems")):
            with self.assertRaises(RunRefused) as caught:
                instance.decode([(shape, data)])
            self.assertEqual(caught.exception.code, code, shape)
        self.assertEqual(instance.decode([([1, 3, 1], [1, 2, 3])]), [((1, 1, 1), [2])])

    def test_plan(self):
        def code_of(op, params, *inputs, **keywords):
            try:
                load(write_graph(one_node(op, params, *inputs, **keywords)))
            except LoadRefused as refusal:
                return refusal.code
            return "ok"
        crop = {"pt": 1, "pb": 1, "pl": 0, "pr": 0}
        self.assertEqual(code_of("crop", crop, Input(1, 2, 2, 0, 1)), "ok")
        self.assertEqual(code_of("crop", crop, Input(1, 2, 2, 0, 1, fixed=1)), "plan")
        self.assertEqual(code_of("conv", CONV, Input(2, 2, 2, 0, 1)), "plan")
        big = Input(65535, 1, 1, 0, 1)
        self.assertEqual(code_of("concat", {}, big, Input(1, 1, 1, 0, 1)), "plan")
        fixed = Input(1, 3, 3, 0, 1, fixed=1)
        self.assertEqual(code_of("add", {}, fixed, Input(1, 2, 3, 0, 1, fixed=1)), "plan")
        self.assertEqual(code_of("add", {}, fixed, Input(1, 2, 3, 0, 1)), "ok")
        pad = {"pt": 0, "pb": 1, "pl": 0, "pr": 0, "v": 0}
        self.assertEqual(code_of("pad", pad, fixed, max_elems=12), "ok")
        self.assertEqual(code_of("pad", pad, fixed, max_elems=11), "plan")


class BoundsPass(unittest.TestCase):
    def test_conv_by_hand(self):
        # w = (2, -3), x in [-1, 4]: t in [-2, 8] and [-12, 3]; bias 5.
        params = {**CONV, "cin": 2, "w": [2, -3], "bias": [5], "mult": [-3], "shift": [1],
                  "post_bias": [1]}
        got = named(bounds_of("conv", params, (-1, 4), channels=2))
        # acc = 5 + [-14, 11] = [-9, 16]; p = [-48, 27]; q = [-24, 14] (13.5 half up); y + 1.
        self.assertEqual(got, {"part": (-14, 16), "acc": (-9, 16), "~p": (-48, 27), "q": (-24, 14),
                               "y": (-23, 15)})
        # x in [1, 4] padded: t in [2, 8] and [-12, -3], either may be absent: acc 5 + [-12, 8].
        padded = {**params, "pt": 1, "kh": 2, "w": [2, 0, -3, 0]}
        self.assertEqual(named(bounds_of("conv", padded, (1, 4), channels=2))["acc"], (-7, 13))
        self.assertEqual(named(bounds_of("conv", params, (1, 4), channels=2))["acc"], (-5, 10))

    def test_conv_transpose_by_phase(self):
        # Kernel (1, 10, 100), stride 2: phase 0 has 1 and 100, phase 1 has 10; x in [0, 1].
        params = {**TRANSPOSE, "kw": 3, "sw": 2, "w": [1, 10, 100], "bias": [-7]}
        got = named(bounds_of("conv_transpose", params, (0, 1)))
        self.assertEqual((got["part"], got["acc"]), ((-7, 101), (-7, 94)))
        # Stride 4: a phase without a tap has the bias alone.
        params = {**TRANSPOSE, "kw": 2, "sw": 4, "w": [10, 10], "bias": [-7]}
        self.assertEqual(named(bounds_of("conv_transpose", params, (1, 1)))["acc"], (-7, 3))

    def test_others_by_hand(self):
        mul = {"rnd": 0, "mult": -1, "shift": 1}
        self.assertEqual(named(bounds_of("mul", mul, (-2, 3), (5, 7))),
                         {"acc": (-14, 21), "~p": (-21, 14), "q": (-11, 7)})
        self.assertEqual(named(bounds_of("sigmoid", {"f": 4, "o": 3}, (-7, 2))),
                         {"exp.negx": (0, 7), "y": (0, 8)})
        self.assertEqual(
    named(
        bounds_of(
            "elu", {
                "f": 4}, (2, 9))), {
                    "exp.negx": (
                        0, 0), "y": (
                            2, 9)})
        self.assertEqual(named(bounds_of("elu", {"f": 4}, (-3, -2))),
                         {"exp.negx": (0, 3), "y": (-16, 0)})
        self.assertEqual(named(bounds_of("leaky", {"a": 1 << 15}, (-4, 9))),
                         {"~p": (-4 << 15, 0), "y": (-2, 9)})
        igdn = {"c": 1, "rnd": 1, "shift": 1, "beta": [3], "gamma": [2]}
        self.assertEqual(named(bounds_of("igdn", igdn, (-5, 2))),
                         {"igdn.absx": (0, 5), "acc": (0, 13), "~p": (-65, 26), "y": (-32, 13)})
        self.assertEqual(named(bounds_of("check", {"lo": 4, "hi": 6}, (1, 5))),
                         {"x": (1, 5), "y": (4, 5)})
        pad = {"pt": 0, "pb": 0, "pl": 0, "pr": 1, "v": 9}
        self.assertEqual(named(bounds_of("pad", pad, (1, 5))), {"y": (1, 9)})
        self.assertEqual(named(bounds_of("pad", {**pad, "pr": 0}, (1, 5))), {"y": (1, 5)})

    def test_norms_by_hand(self):
        # 3 channels of [2, 4]: ss [12, 48], +1, isqrt 3 and 7; n = x*8: 16/7 -> 2, 32/3 -> 11,
        # clamped to 8.
        self.assertEqual(
    named(
        bounds_of(
            "l2norm", {
                "k": 3, "eps": 1}, (2, 4), channels=3)), {
                    "ss": (
                        12, 48), "~Rr": (
                            13, 49), "~n": (
                                16, 32), "D": (
                                    3, 7), "y": (
                                        2, 8)})
        # 2 channels of [-1, 3]: s [-2, 6]; w = 8; ss 2*64; 128/2+1 = 65; D 1..8; n +-16; y +-16,
        # within 2^2*(1+1) = 8.
        self.assertEqual(named(bounds_of("layernorm_c", {"k": 1, "eps": 1}, (-1, 3), channels=2)),
                         {"s": (-2, 6), "d": (-8, 8), "ss": (0, 128), "~Rr": (1, 65),
                          "~n": (-16, 16), "D": (1, 8), "y": (-8, 8)})

    def test_endpoints_beyond_i64_are_clamped_and_beyond_2_126_cut(self):
        bounds = bounds_of("layernorm_c", {"k": 0, "eps": 1}, (MIN64, -MIN64 - 1), channels=2)
        got = named(bounds)
        self.assertEqual(got["d"], (-(1 << 65) + 2, (1 << 65) - 2))
        self.assertEqual(got["ss"], (0, 1 << 126))
        self.assertEqual(got["~Rr"], (1, ((1 << 63) - 1) // 2 + 1))
        self.assertEqual([name for _, name in bounds.fail_acc64], ["s", "d", "ss"])

    def test_failing_check_gives_the_nearest_point(self):
        for x, y in (((1, 3), (20, 20)), ((50, 60), (30, 30))):
            bounds = bounds_of("check", {"lo": 20, "hi": 30}, x)
            self.assertEqual((named(bounds)["y"], bounds.fail_acc64), (y, [[1, "x"]]))

    def test_conditions_of_acc32(self):
        def failing(op, **params):
            return failed_conditions(Node(op, [], params))
        rqb = {"mult": [1, 1 << 31], "shift": [0, 63], "post_bias": [0, 1 << 31]}
        self.assertEqual(failing("rescale", **rqb), ["rq.mult", "rq.shift", "rq.post_bias"])
        self.assertEqual(failing("conv", **rqb, w=[32767, 32768]),
                         ["rq.mult", "rq.shift", "rq.post_bias", "weights"])
        edge = {"mult": [-(1 << 31) + 1], "shift": [62], "post_bias": [-(1 << 31)]}
        self.assertEqual(failing("conv_transpose", **edge, w=[-32768]), [])
        self.assertEqual(failing("mul", mult=-(1 << 31), shift=63), ["rq.mult", "rq.shift"])
        self.assertEqual(failing("chscale", m=[-(1 << 31)], s=[63]), ["chscale.m", "chscale.s"])
        self.assertEqual(failing("igdn", gamma=[32768], shift=63), ["igdn.gamma", "igdn.shift"])
        self.assertEqual(failing("leaky", a=1 << 31), ["leaky.a"])

    def test_every_result_lies_in_its_bounds(self):
        """Random graphs of every operator: the elements are inside the recorded y (or q)."""
        draw = random.Random(7)
        for _ in range(60):
            lo = draw.randint(-50, 10)
            hi = draw.randint(lo, 60)
            c = draw.randint(1, 3)
            rqb = {"rnd": draw.randint(0, 3), "n": 1, "mult": [draw.randint(-9, 9)],
                   "shift": [draw.randint(0, 5)], "post_bias": [draw.randint(-9, 9)]}
            window = {"kh": 2, "kw": 2, "sh": draw.randint(1, 2), "sw": 1, "pt": draw.randint(0, 1),
                      "pb": 0, "pl": 0, "pr": draw.randint(0, 1)}
            weights = [draw.randint(-9, 9) for _ in range(c * 4)]
            linear = {**window, **rqb, "cin": c, "cout": 1, "bias": [draw.randint(-99, 99)],
                      "w": weights}
            cases = {
                "conv": {**linear, "groups": 1, "dh": 1, "dw": 1}, "conv_transpose": linear,
                "rescale": rqb, "add": {}, "mul": {"rnd": 2, "mult": -3, "shift": 2},
                "lut16": {"T": [draw.randint(-99, 99) for _ in range(257)]},
                "sigmoid": {"f": 4, "o": 6}, "elu": {"f": 3}, "leaky": {"a": 9999},
                "igdn": {"c": c, "rnd": 3, "shift": 3, "beta": [2] * c, "gamma": [1] * c * c},
                "chscale": {"rnd": 0, "c": c, "m": [-3] * c, "s": [1] * c},
                "l2norm": {"k": 5, "eps": 3}, "layernorm_c": {"k": 5, "eps": 3},
                "clamp": {"lo": -5, "hi": 5}, "maxpool": window, "divc": {"d": 3},
            }
            for op, params in cases.items():
                inputs = 2 if op in ("add", "mul") else 1
                graph = one_node(op, params, *[Input(c, 3, 3, lo, hi)] * inputs)
                tensors = [([c, 3, 3], [draw.choice((lo, hi, draw.randint(lo, hi)))
                                        for _ in range(c * 9)]) for _ in range(inputs)]
                low, high = list(named(Bounds(graph, plan(graph))).values())[-1]
                (_, data), = Instance(graph).decode(tensors)
                self.assertTrue(low <= min(data) and max(data) <= high, op)


class Npu(unittest.TestCase):
    def verdict(self, op, params, *inputs, **keywords):
        return npu_verdict(*load(write_graph(one_node(op, params, *inputs, **keywords))))

    def test_flags_and_reasons(self):
        x = Input(1, 2, 2, -9, 9)
        rqb = {**RQB, "rnd": 3, "mult": [-(1 << 15)], "shift": [60]}
        self.assertEqual(self.verdict("rescale", rqb, x),
                         {"npu": True, "npu_flags": ["mult:wide", "round:half_even", "shift_60"],
                          "npu_reasons": []})
        self.assertEqual(self.verdict("rescale", RQB, x)["npu_flags"], [])
        self.assertEqual(self.verdict("leaky", {"a": 1 << 20}, x)["npu_flags"], ["round:half_up"])
        self.assertEqual(self.verdict("conv_transpose", {**TRANSPOSE, "sw": 2}, x)["npu_flags"],
                         ["phase"])
        self.assertEqual(self.verdict("divc", {"d": 1}, Input(1, 1, 1, 0, 1 << 40),
                                      max_elems=(1 << 24) + 1)["npu_reasons"],
                         ["op:divc", "profile", "size"])


class Certificates(unittest.TestCase):
    def test_annex_b3(self):
        graphs = LOWERINGS["int_conv/1"].apply({"net.whm": B3_MEMBER}, {})
        raw, verdict = certificate("wai.neural.int_conv", "int_conv/1",
                                   set_digest({"net.whm": B3_MEMBER}), graphs)
        self.assertEqual((raw, verdict), (B3_CERTIFICATE, "acc64"))
        self.assertIsNone(certificate_fault(parse_canonical_file(raw)))

    def test_a_claim_in_place_of_a_verdict_is_a_fault(self):
        value = parse_canonical_file(B3_CERTIFICATE)
        value["verdict"] = value["roles"][0]["verdict"] = "acc32"
        self.assertIsNotNone(certificate_fault(value))
        for change in ({"roles": []}, {"set": 1}, {"cert": "x"}, {"roles": [1]}, {"verdict": []}):
            self.assertIsNotNone(certificate_fault(
                {**parse_canonical_file(B3_CERTIFICATE), **change}))

    def test_digest_of_several_members(self):
        a, b = hashlib.sha256(b"A").hexdigest(), hashlib.sha256(b"B").hexdigest()
        listing = f"wai.prior.set/1\n{b} T.whm\n{a} g_s.whm\n"
        self.assertEqual(set_digest({"g_s.whm": b"A", "T.whm": b"B"}),
                         hashlib.sha256(listing.encode()).hexdigest())
        self.assertEqual(set_digest({"x": b"A"}), a)


if __name__ == "__main__":
    unittest.main()
