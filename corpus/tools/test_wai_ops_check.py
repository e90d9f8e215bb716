#!/usr/bin/env python3
"""Tests of the checker's readers and commands: canonical JSON, hostile vector files, exit statuses.

    python3 -I corpus/tools/test_wai_ops_check.py
"""

import os
import random
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, TOOLS)
sys.dont_write_bytecode = True

from wai_ops.canonical import (NotCanonical, canonical, canonical_line,  # noqa: E402
                               decode_base64, parse_canonical, parse_canonical_file)
from wai_ops.corpus import Corpus  # noqa: E402
from wai_ops.whg1 import Graph, Input, write_graph  # noqa: E402
from wai_ops_fixtures import B1, B3_CERTIFICATE, B3_MEMBER, b64, layer, whm  # noqa: E402


class CanonicalJson(unittest.TestCase):
    def test_accepts_its_own_form(self):
        for text in ('{"a":-1,"b":[true,false,null,"x"]}', "0", '"\\u000a\\u001f\\"\\\\/"',
                     '"\u00e9\u2028\U0001f600\x7f"', '{"":0,"Z":1,"a":2}', "1" * 50, "[]"):
            value = parse_canonical(text.encode())
            self.assertEqual(canonical(value), text)

    def test_refuses_every_other_form(self):
        for text in ("", " 1", "1 ", "-0", "01", "+1", "1.0", "1e2", "NaN", "Infinity", '"\\n"',
                     '"\\u000A"', '"\\u0041"', '"\\/"', '{"b":0,"a":0}', '{"a":0,"a":0}', "[1, 2]",
                     '"\n"', "[1,]", "tru", '"\\ud800"', "\ufeff1", "1\n", "{'a':1}"):
            with self.assertRaises(NotCanonical, msg=text):
                parse_canonical(text.encode())
        for raw in (b"\xff", b'"\xed\xa0\x80"', b'"\xc0\x80"'):
            with self.assertRaises(NotCanonical):
                parse_canonical(raw)

    def test_refuses_deep_nesting_and_reads_huge_integers(self):
        for text in ("[" * 100000 + "]" * 100000, '{"a":' * 5000 + "1" + "}" * 5000):
            with self.assertRaises(NotCanonical):
                parse_canonical(text.encode())
        value = parse_canonical(b"[-" + b"9" * 1000000 + b"]")
        self.assertLess(value[0], -10 ** 999)

    def test_a_file_ends_in_one_line_feed(self):
        self.assertEqual(parse_canonical_file(b"[1]\n"), [1])
        for raw in (b"[1]", b"[1]\n\n", b"[1]\r\n"):
            with self.assertRaises(NotCanonical):
                parse_canonical_file(raw)

    def test_base64_has_one_spelling(self):
        self.assertEqual(decode_base64("AAE="), b"\x00\x01")
        for text in ("AAF=", "AAE", "AA E=", "AAE=\n", "AA-_", "\u00e9", 7, None):
            self.assertIsNone(decode_base64(text), text)


class HostileVectors(unittest.TestCase):
    """A vector file with one bad line gives a message with file, line and id, and no exception."""

    def differences(self, op, raw):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "vectors"))
            with open(os.path.join(folder, "vectors", op + ".jsonl"), "wb") as file:
                file.write(raw)
            corpus = Corpus(folder)
            corpus._vector_file("vectors/" + op, corpus._graph_vector)
            return corpus.differences

    LINE = {"decodes": [{"expect": {"out": [{"data": [1, -2], "shape": [2, 1, 1]}]},
                         "in": [{"data": [1, -2], "shape": [2, 1, 1]}]}],
            "graph": b64(B1), "id": "rescale/x/00", "load": "ok", "profiles": ["acc32", "acc64"]}

    def test_a_good_line_has_none(self):
        self.assertEqual(self.differences("rescale", canonical_line(self.LINE)), [])

    def test_each_change_is_named(self):
        good = canonical_line(self.LINE)
        given = self.LINE["decodes"][0]["in"]
        true_for_one = {"out": [{"data": [True, -2], "shape": [2, 1, 1]}]}
        for change in ({"load": "plan"}, {"profiles": ["acc64"]}, {"decodes": 7}, {"graph": "AAE"},
                       {"graph": b64(B1[:-1])}, {"decodes": [{"expect": 1, "in": [1]}]},
                       {"extra": 0}, {"decodes": [{"expect": true_for_one, "in": given}]},
                       {"decodes": [{"expect": {"refuse": "caps"}, "in": []}]}):
            raw = canonical_line({**self.LINE, "id": "rescale/x/01", **change})
            found, = self.differences("rescale", good + raw)
            self.assertTrue(found.startswith('vectors/rescale.jsonl:2: "rescale/x/01": '), found)

    def test_lines_without_an_id(self):
        for raw in (b"\n", b"[]\n", b"{\n", b"\xff\n", b"[" * 99999 + b"\n", b'{"id":3}\n',
                    b'{"id":"other/x/00"}\n', b'{"id":"rescale/../../x"}\n'):
            found = self.differences("rescale", raw)
            self.assertTrue(found[0].startswith("vectors/rescale.jsonl:1"), found)
        good = canonical_line(self.LINE)
        self.assertIn("the id is", self.differences("rescale", good + good)[0])
        self.assertIn("no line feed", self.differences("rescale", good[:-1])[0])

    def test_huge_integers_are_refused_by_the_run(self):
        big = b"9" * 200000
        raw = canonical_line({**self.LINE, "decodes": [
            {"expect": {"refuse": "inputs"}, "in": [{"data": [1, 7777], "shape": [2, 1, 1]}]}]})
        self.assertEqual(self.differences("rescale", raw.replace(b"7777", big)), [])

    def test_damaged_bytes_never_raise(self):
        draw, good = random.Random(3), canonical_line(self.LINE)
        for _ in range(1500):
            raw = bytearray(good)
            for _ in range(draw.randint(1, 3)):
                at = draw.randrange(len(raw))
                raw[at:at + draw.randint(0, 3)] = bytes(draw.choice(b'[]{}",:0129-etx\\\xc3')
                                                        for _ in range(draw.randint(0, 3)))
            for found in self.differences("rescale", bytes(raw)):
                self.assertTrue(found.startswith("vectors/rescale.jsonl"), found)

    def test_a_graph_that_would_fill_the_memory_is_declined(self):
        graph = Graph((1 << 31) - 1, [Input(1, 1, 1, 0, 1)])
        value = 0
        for _ in range(40):
            value = graph.add("pad", value, pt=255, pb=255, pl=255, pr=255, v=0)
        graph.outputs = [value]
        raw = canonical_line({**self.LINE, "graph": b64(write_graph(graph)), "id": "pad/x/00",
                              "decodes": [{"expect": {"refuse": "shape"},
                                           "in": [{"data": [1], "shape": [1, 1, 1]}]}]})
        self.assertIn("larger than this checker evaluates", self.differences("pad", raw)[0])


class Commands(unittest.TestCase):
    """Exit statuses of §14.6, through the program."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.member = self.file("net.whm", B3_MEMBER)
        self.args = ["certify", "--capability", "wai.neural.int_conv", "--lowering", "int_conv/1",
                     "--member", "net.whm=" + self.member]

    def file(self, name, raw):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(raw)
        return path

    def run_tool(self, *args):
        done = subprocess.run([sys.executable,
    "-I",
    os.path.join(TOOLS,
    "wai_ops_check.py"),
    *args],
    capture_output=True,
    text=True,
     timeout=60)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode

    def test_certify(self):
        out = os.path.join(self.folder.name, "out.json")
        self.assertEqual(self.run_tool(*self.args, "--out", out, "--profile", "acc64"), 0)
        with open(out, "rb") as file:
            self.assertEqual(file.read(), B3_CERTIFICATE)
        self.assertEqual(self.run_tool(*self.args, "--check", out), 0)
        self.assertEqual(self.run_tool(*self.args, "--profile", "acc32"), 1)
        other = self.file("other.json", B3_CERTIFICATE[:-1])
        self.assertEqual(self.run_tool(*self.args, "--profile", "acc32", "--check", other), 3)

    def test_refusals(self):
        bad = self.file("bad.whm", B3_MEMBER[:-1])
        self.assertEqual(self.run_tool(*self.args[:-1], "net.whm=" + bad), 4)
        self.assertEqual(self.run_tool(*self.args, "--field", "c=1"), 4)
        plan_fails = self.file("plan.whm", canonical_line(whm(layers=[layer(cin=1, w=[1])])))
        self.assertEqual(self.run_tool(*self.args[:-1], "net.whm=" + plan_fails), 2)
        overflow = self.file("over.whm", canonical_line(whm(layers=[layer(bias=[(1 << 63) - 1])])))
        self.assertEqual(self.run_tool(*self.args[:-1], "net.whm=" + overflow), 1)

    def test_graphs_on_their_own(self):
        graph = self.file("g.whg1", B1)
        self.assertEqual(self.run_tool("certify", "--whg1", "g=" + graph, "--profile", "acc32"), 0)
        short = self.file("short.whg1", B1[:-1])
        self.assertEqual(
    self.run_tool(
        "certify",
        "--whg1",
        "g=" + graph,
        "--whg1",
        "h=" + short),
         2)
        self.assertEqual(self.run_tool("certify", "--whg1", "g=" + graph, "--field", "c=1"), 5)

    def test_usage(self):
        for args in ([], ["certify"], ["certify", "--whg1", "g"], ["/nowhere"], self.args[:-2],
                     [*self.args, "--whg1", "a=b"], [*self.args, "--member", "x=/nowhere"],
                     [*self.args, "--profile", "acc16"], [*self.args, "--lowering", "int_mlp/1"],
                     [*self.args, "--lowering", "int_conv/2"], [*self.args, "--field", "c=x"],
                     [*self.args, "--check", "/nowhere"], [self.folder.name, "--external", "x"],
                     [self.folder.name, "--external", "x=" + self.folder.name]):
            self.assertEqual(self.run_tool(*args), 5, args)

    def test_an_empty_corpus_differs(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(self.run_tool(empty), 3)


if __name__ == "__main__":
    unittest.main()
