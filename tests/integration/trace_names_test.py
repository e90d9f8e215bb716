"""Every test that a requirement trace in docs names exists, and every file that one names."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def text_of(*globs: str) -> str:
    return "".join(path.read_text("utf-8") for glob in globs for path in sorted(ROOT.glob(glob)))


def cells_of(trace: str) -> list[str]:
    """The cells of a trace's tables beside the requirement's own words."""
    lines = (ROOT / "docs" / trace).read_text("utf-8").splitlines()
    return [cell for line in lines if line.startswith("|") and line.count("|") >= 3
            for cell in line.split("|")[2:-1]]


class TraceNamesTest(unittest.TestCase):
    def setUp(self):
        self.sources = text_of("tests/**/*.cc")
        self.python = text_of("client/python/tests/*.py", "tests/integration/*/*.py",
                              "corpus/tools/test_*.py")

    def check_tests(self, cells) -> int:
        named = 0
        for cell in cells:
            for suite, name in re.findall(r"\b([A-Z]\w+)\.([A-Z]\w+)", cell):
                self.assertIn(f"({suite}, {name})", self.sources, cell)
                named += 1
            for name in re.findall(r"\btest_\w+\b(?!\.py)", cell):
                self.assertIn(f"def {name}(", self.python, cell)
                named += 1
        return named

    def test_tensor_io(self):
        cells = cells_of("tensor-io-trace.md")
        named = self.check_tests(cells)
        for cell in cells:
            # After a suite's first test, others are named alone; so are rows of a table of cases.
            for name in re.findall(r"[,:] ([A-Z][A-Za-z0-9]{8,})\b(?!\.)", cell):
                found = re.search(rf', {name}\)|Case\{{"{name}"', self.sources)
                self.assertIsNotNone(found, f"{name} in {cell}")
                named += 1
        self.assertGreater(named, 100)

    def test_ops_conformance(self):
        cells = cells_of("ops-conformance-trace.md")
        self.assertGreater(self.check_tests(cells), 100)
        programs = text_of("tests/**/CMakeLists.txt")
        files = 0
        for cell in cells:
            for name in re.findall(r"\bhelx_(?:ops|whg1)_\w+|\bwai_verify_\w+", cell):
                self.assertIn(name, programs, cell)
            for name in re.findall(r"`([\w.-]+/[\w./-]*)`", cell):
                self.assertTrue((ROOT / name).exists(), f"{name} in {cell}")
                files += 1
        self.assertGreater(files, 50)


if __name__ == "__main__":
    unittest.main()
