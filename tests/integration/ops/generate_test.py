#!/usr/bin/env python3
"""`wai-verify vectors gen` writes the committed corpus: generate_test.py WAI_VERIFY.

Compares whole trees: no file is missing, none is too many, and all but those section 14.6 of
docs/integer-operators.md excepts are equal byte for byte, twice, and in an environment unlike this
one: another folder, user name, locale, time zone, mask of permissions and content of fresh memory.
"""

import json
import os
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


ELSEWHERE = {"HOME": "/nowhere", "USER": "someone", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8",
             "TZ": "Pacific/Kiritimati", "TMPDIR": "/nowhere", "MALLOC_PERTURB_": "165",
             "HOSTNAME": "another"}


class Generate(unittest.TestCase):
    def generated(self, prefix="", environment=None, **options):
        with tempfile.TemporaryDirectory(prefix=prefix) as folder:
            subprocess.run([pathlib.Path(WAI_VERIFY).resolve(), "vectors", "gen", folder],
                           check=True, stdout=subprocess.DEVNULL, env=environment, **options)
            return tree(pathlib.Path(folder) / "ops-conformance")

    def test_the_generated_tree_is_the_committed_one(self):
        committed = tree(CORPUS)
        for name in hand_written():
            del committed[name]
        attempts = {"here": self.generated(), "again": self.generated(),
                    "elsewhere": self.generated("a b ü", ELSEWHERE, cwd="/",
                                                preexec_fn=lambda: os.umask(0o077))}
        for attempt, made in attempts.items():
            self.assertEqual(sorted(made), sorted(committed), attempt)
            for name, data in committed.items():
                self.assertTrue(made[name] == data, f"{name} differs, {attempt}")

    def test_a_full_disk_and_a_file_in_the_way_are_one_error_each(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "ops-conformance").mkdir()
            # The first file of the tree: every write to it finds no room.
            (root / "ops-conformance" / "certificates").mkdir()
            (root / "ops-conformance" / "certificates" / "falsification.json").symlink_to(
                "/dev/full")
            (root / "file").write_bytes(b"")
            for place, named in ((root, "falsification.json"), (root / "file", "file"),
                                 (pathlib.Path("/dev/full"), "/dev/full"),
                                 (pathlib.Path("/proc/self"), "/proc/self")):
                done = subprocess.run([WAI_VERIFY, "vectors", "gen", place], capture_output=True,
                                      text=True)
                self.assertEqual(done.returncode, 5, place)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(named, done.stderr)

    def test_results_that_cannot_be_printed_are_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([WAI_VERIFY, "vectors", "verify", CORPUS.parent], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 5)
        self.assertIn("standard output: cannot be written", done.stderr)


if __name__ == "__main__":
    WAI_VERIFY = sys.argv.pop(1)
    unittest.main()
