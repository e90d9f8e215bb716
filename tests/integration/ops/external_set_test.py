#!/usr/bin/env python3
"""The external sets of the corpus, derived and certified anew: external_set_test.py WAI_VERIFY.

digits: corpus/models/digits/digits.tflite, imported up to its softmax (section 13.7 of
docs/integer-operators.md) with the two roundings of the kernels that made its expected outputs.
Both certifiers must write the committed certificate byte for byte. The set is the right one when
its graph, run on the model's inputs, gives the classes the model's expected outputs give: a
softmax keeps the order of its inputs.

    external_set_test.py WAI_VERIFY --write     writes external.json and its certificate
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[3]
CHECKER = TREE / "corpus" / "tools" / "wai_ops_check.py"
CORPUS = TREE / "corpus" / "ops-conformance"
MODEL = TREE / "corpus" / "models" / "digits"
CAPABILITY, LOWERING = "wai.neural.tflite_int8", "tflite_int8/1"
PROFILE = "acc32"
# The softmax's input in the file's tensor order.
LOGITS_TENSOR = 27
WAI_VERIFY = ""


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def import_digits(folder):
    """Writes model.tfq in `folder`; gives its digest."""
    call(WAI_VERIFY, "import", MODEL / "digits.tflite", "--rounding", "double", "--output",
         LOGITS_TENSOR, "--out", folder / "model.tfq")
    return hashlib.sha256((folder / "model.tfq").read_bytes()).hexdigest()


def entry_of(digest):
    return {"certificate": f"ops-conformance/certificates/{CAPABILITY}/{digest}.json",
            "digest": digest,
            "job": "CTest helx_ops_external_sets (tests/integration/ops/external_set_test.py)",
            "members": [["model.tfq", "model.tfq"]], "name": "digits", "profile": PROFILE}


def certifiers(folder, out):
    """Both certifiers' bytes."""
    call(WAI_VERIFY, "bounds", folder, "--capability", CAPABILITY, "--profile", PROFILE,
         "--out", out / "a.json")
    call(sys.executable, "-I", CHECKER, "certify", "--capability", CAPABILITY, "--lowering",
         LOWERING, "--member", f"model.tfq={folder / 'model.tfq'}", "--profile", PROFILE,
         "--out", out / "b.json")
    return (out / "a.json").read_bytes(), (out / "b.json").read_bytes()


def canonical(value):
    return (json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n").encode()


class ExternalSets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.set = self.folder / "set"
        self.set.mkdir()
        self.digest = import_digits(self.set)

    def test_the_list_is_the_sets_this_job_holds(self):
        self.assertEqual((CORPUS / "certificates" / "external.json").read_bytes(),
                         canonical([entry_of(self.digest)]))

    def test_both_certifiers_write_the_committed_bytes(self):
        path = CORPUS.parent / entry_of(self.digest)["certificate"]
        committed = path.read_bytes()
        for name, text in zip(("wai-verify", "wai_ops_check.py"),
                              certifiers(self.set, self.folder)):
            self.assertTrue(text == committed, name)
        call(sys.executable, "-I", CHECKER, CORPUS, "--external", f"digits={self.set}")

    def test_the_graph_classifies_as_the_model(self):
        call(WAI_VERIFY, "lower", self.set, "--capability", CAPABILITY, "--out", self.folder)
        decodes = self.folder / "decodes.jsonl"
        images = [(MODEL / "inputs" / f"{i:02}.bin").read_bytes() for i in range(16)]
        decodes.write_bytes(b"".join(
            canonical([{"data": [byte - 256 if byte > 127 else byte for byte in image],
                        "shape": [1, 8, 8]}]) for image in images))
        lines = call(WAI_VERIFY, "run", self.folder / "main.whg1", decodes).splitlines()
        self.assertEqual(len(lines), len(images))
        for i, line in enumerate(lines):
            logits = json.loads(line)["out"][0]["data"]
            raw = (MODEL / "expected" / f"s{i:02}" / "output-0.bin").read_bytes()
            scores = [byte - 256 if byte > 127 else byte for byte in raw]
            self.assertEqual((len(logits), len(scores)), (10, 10))
            best = scores.index(max(scores))
            self.assertEqual(logits[best], max(logits), i)
            for a in range(10):
                for b in range(10):
                    self.assertFalse(logits[a] < logits[b] and scores[a] > scores[b], (i, a, b))


def write():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "set").mkdir()
        entry = entry_of(import_digits(folder / "set"))
        first, second = certifiers(folder / "set", folder)
        if first != second:
            raise SystemExit("the certifiers differ")
        (CORPUS.parent / entry["certificate"]).write_bytes(first)
        (CORPUS / "certificates" / "external.json").write_bytes(canonical([entry]))


if __name__ == "__main__":
    WAI_VERIFY = sys.argv.pop(1)
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
