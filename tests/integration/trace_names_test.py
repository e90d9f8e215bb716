"""Every test that docs/tensor-io-trace.md names exists."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def text_of(*globs: str) -> str:
    return "".join(path.read_text("utf-8") for glob in globs for path in sorted(ROOT.glob(glob)))


class TraceNamesTest(unittest.TestCase):
    def test_every_named_test_exists(self):
        trace = (ROOT / "docs" / "tensor-io-trace.md").read_text("utf-8")
        cells = [line.split("|")[2] for line in trace.splitlines() if line.count("|") >= 3]
        sources = text_of("tests/**/*.cc")
        python = text_of("client/python/tests/*.py", "tests/integration/python/*.py")
        named = 0
        for cell in cells:
            for suite, name in re.findall(r"\b([A-Z]\w+)\.([A-Z]\w+)", cell):
                self.assertIn(f"({suite}, {name})", sources, cell)
                named += 1
            for name in re.findall(r"\btest_\w+\b(?!\.py)", cell):
                self.assertIn(f"def {name}(", python, cell)
                named += 1
            # After a suite's first test, others are named alone; so are rows of a table of cases.
            for name in re.findall(r"[,:] ([A-Z][A-Za-z0-9]{8,})\b(?!\.)", cell):
                found = re.search(rf', {name}\)|Case\{{"{name}"', sources)
                self.assertIsNotNone(found, f"{name} in {cell}")
                named += 1
        self.assertGreater(named, 100)


if __name__ == "__main__":
    unittest.main()
