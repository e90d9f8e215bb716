#!/usr/bin/env python3
"""The independent checker against the committed corpus of wai-ops/1, and against damaged copies.

    checker_test.py [CORPUSDIR]        (default: corpus/ops-conformance of this tree)

Each damage must be found and its file named: a checker that accepts everything would pass the
committed corpus too.
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = str(pathlib.Path(__file__).resolve().parents[3])
CHECKER = os.path.join(TREE, "corpus", "tools", "wai_ops_check.py")
CORPUS = os.path.join(TREE, "corpus", "ops-conformance")
LIMIT_S = 20


def run_checker(*args):
    done = subprocess.run([sys.executable, "-I", CHECKER, *args], capture_output=True, text=True,
                          timeout=600)
    if "Traceback" in done.stderr:
        raise AssertionError(done.stderr)
    return done.returncode, done.stdout + done.stderr


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n")


class Committed(unittest.TestCase):
    def test_every_byte_is_equal_in_time(self):
        # The processor's time: the wall clock would count what else the machine does.
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        status, text = run_checker(CORPUS)
        self.assertEqual(status, 0, text)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, LIMIT_S)

    def certify(self, entry, *args):
        command = ["certify", "--capability", entry["capability"], "--lowering", entry["lowering"]]
        for name, path in entry["members"]:
            self.assertTrue(path.startswith("ops-conformance/"), path)
            command += ["--member", name + "=" + os.path.join(CORPUS, path.split("/", 1)[1])]
        if "c" in entry:
            command += ["--field", "c=" + str(entry["c"])]
        certificate = os.path.join(CORPUS, "certificates", entry["capability"],
                                   entry["digest"] + ".json")
        return run_checker(*command, "--check", certificate, *args)

    def test_each_set_certifies_to_its_committed_certificate(self):
        for entry in read_json(os.path.join(CORPUS, "certificates", "index.json")):
            status, text = self.certify(entry)
            self.assertEqual(status, 0, (entry["name"], text))

    def test_each_falsification_set_fails_its_claim(self):
        entries = read_json(os.path.join(CORPUS, "certificates", "falsification.json"))
        self.assertEqual({e["name"] for e in entries}, {"overflow_acc64", "claim_acc32"})
        for entry in entries:
            status, text = self.certify(entry, "--profile", entry["claim"])
            self.assertEqual(status, 1, (entry["name"], text))

    def test_lowered_graphs_certify_on_their_own(self):
        entry = read_json(os.path.join(CORPUS, "certificates", "index.json"))[0]
        (role, path), *_ = entry["graphs"]
        graph = os.path.join(CORPUS, path.split("/", 1)[1])
        self.assertEqual(run_checker("certify", "--whg1", f"{role}={graph}")[0], 0)


class Damaged(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "ops-conformance")
        shutil.copytree(CORPUS, self.root)

    def found(self, path):
        """The checker exits 3 and names the file."""
        status, text = run_checker(self.root)
        self.assertEqual(status, 3, (path, text))
        self.assertIn(path, text)

    def replace(self, path, old, new):
        full = os.path.join(self.root, path)
        with open(full, "rb") as file:
            raw = file.read()
        self.assertIn(old, raw, path)
        with open(full, "wb") as file:
            file.write(raw.replace(old, new, 1))

    def index(self, name="index"):
        return read_json(os.path.join(self.root, "certificates", name + ".json"))

    def test_a_changed_value_of_each_kind_of_file(self):
        entry = self.index()[0]
        graph = entry["graphs"][0][1].split("/", 1)[1]
        member = entry["members"][0][1].split("/", 1)[1]
        certificate = f"certificates/{entry['capability']}/{entry['digest']}.json"
        for path, old, new in (
                ("vectors/conv.jsonl", b'"out":[{"data":[', b'"out":[{"data":[1'),
                ("vectors/rescale.jsonl", b'"profiles":["acc32","acc64"]', b'"profiles":["acc64"]'),
                ("vectors/sigmoid.jsonl", b'"load":"bounds"', b'"load":"plan"'),
                ("stage/rans64_decode.jsonl", b'"at":8', b'"at":7'),
                ("stage/mans_decode.jsonl", b'"modes":["step","whole"]', b'"modes":["whole"]'),
                ("graphs/load.jsonl", b'"load":"params"', b'"load":"nodes"'),
                ("graphs/run.jsonl", b'"refuse":"caps"', b'"refuse":"shape"'),
                ("graphs/state.jsonl", b'"data":[13]', b'"data":[14]'),
                ("npu.jsonl", b'"npu":true', b'"npu":false'),
                ("certificates/index.json", entry["digest"].encode(), b"0" * 64),
                (certificate, b'"verdict":"acc', b'"verdict":"none'),
                (graph, b"WHG1", b"WHG2"),
                (member, b'"max_elems":4096', b'"max_elems":4097')):
            with self.subTest(path=path):
                self.setUp()
                self.replace(path, old, new)
                self.found(path if path != member else entry["name"])

    def test_a_file_missing_or_too_many(self):
        vectors = os.path.join(self.root, "vectors")
        shutil.move(os.path.join(vectors, "divc.jsonl"), os.path.join(vectors, "x.jsonl"))
        self.found("vectors/divc.jsonl: missing")
        self.found("vectors/x.jsonl: not a file")

    def test_a_lowering_vector_of_another_graph(self):
        self.replace("graphs/lower_int_conv.jsonl", b'"id":"lower_int_conv/conv_a/net/00"',
                     b'"id":"lower_int_conv/conv_b/net/00"')
        self.found("graphs/lower_int_conv.jsonl:1")

    def test_a_falsification_set_that_meets_its_claim(self):
        self.replace("sets/claim_acc32/net.whm", b'"w":[32767,1]', b'"w":[32767,0]')
        self.found("meets acc32, the profile it must fail")

    def test_external_sets(self):
        """conv_a, moved out of the corpus, is an external set; its verdict is acc64."""
        entries = self.index()
        entry = next(e for e in entries if e["name"] == "conv_a")
        path = f"certificates/{entry['capability']}/{entry['digest']}.json"
        outside = os.path.join(os.path.dirname(self.root), "outside")
        shutil.move(os.path.join(self.root, "sets", "conv_a"), outside)
        external = {"certificate": "ops-conformance/" + path, "digest": entry["digest"],
                    "job": "elsewhere", "members": [["net.whm", "net.whm"]], "name": "x",
                    "profile": "acc64"}
        listing = os.path.join(self.root, "certificates", "external.json")
        write_json(listing, [external])
        command = [self.root, "--external", "x=" + outside]
        self.assertEqual(run_checker(*command)[0], 0)
        self.assertIn("no more was checked", run_checker(self.root)[1])
        self.assertEqual(run_checker(*command, "--external", "y=" + outside)[0], 5)
        write_json(listing, [{**external, "profile": "acc32"}])
        self.assertEqual(run_checker(*command)[0], 1)
        self.found("verdict acc64 does not meet acc32")
        write_json(listing, [external])
        member = os.path.join(outside, "net.whm")
        with open(member, "rb") as file:
            raw = file.read()
        for changed, status in ((raw.replace(b"4096", b"4097"), 3), (raw[:-1], 4)):
            with open(member, "wb") as file:
                file.write(changed)
            self.assertEqual(run_checker(*command)[0], status)
        os.remove(member)
        self.assertEqual(run_checker(*command)[0], 5)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        CORPUS = os.path.abspath(sys.argv.pop(1))
    unittest.main()
