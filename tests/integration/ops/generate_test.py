#!/usr/bin/env python3
"""`wai-verify vectors gen` writes the committed corpus: generate_test.py WAI_VERIFY.

Compares whole trees: no file is missing, none is too many, and all but those section 14.6 of
docs/integer-operators.md excepts are equal byte for byte, twice.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

CORPUS = pathlib.Path(__file__).resolve().parents[3] / "corpus" / "ops-conformance"
WAI_VERIFY = ""


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def hand_written():
    """The files `gen` does not write."""
    entries = json.loads((CORPUS / "certificates" / "external.json").read_bytes())
    return ({"README.md", ".gitattributes", "certificates/external.json"}
            | {entry["certificate"].split("/", 1)[1] for entry in entries})


class Generate(unittest.TestCase):
    def generated(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([WAI_VERIFY, "vectors", "gen", folder], check=True,
                           stdout=subprocess.DEVNULL)
            return tree(pathlib.Path(folder) / "ops-conformance")

    def test_the_generated_tree_is_the_committed_one(self):
        committed = tree(CORPUS)
        for name in hand_written():
            del committed[name]
        for attempt in range(2):
            made = self.generated()
            self.assertEqual(sorted(made), sorted(committed), attempt)
            for name, data in committed.items():
                self.assertTrue(made[name] == data, f"{name} differs, attempt {attempt}")


if __name__ == "__main__":
    WAI_VERIFY = sys.argv.pop(1)
    unittest.main()
