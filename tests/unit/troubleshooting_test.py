#!/usr/bin/env python3
"""docs/troubleshooting.md has every code that the sources give, and no other: troubleshooting_test.py ROOT

Codes are the literals at the places where an error is made. A code that is put together at run time counts by its prefix.
"""

import re
import sys
import unittest
from pathlib import Path

ROOT = None
WORD = r'"([a-z]+(?:_[a-z0-9]+)*_?)"'
PLACES = [
    r"MakeFailure\([^;]*?" + WORD + r",",
    r'FailureOutcome\(\s*"[A-Z]+",\s*' + WORD,
    r"WithErrorCode\([^;]*?" + WORD + r"\)",
    r"RefuseEvidence\(\s*" + WORD,
    r"FileError\([^;]*?,\s*" + WORD,
    r"Refuse\(\s*mark,\s*" + WORD,
    r"\bError\(\s*" + WORD,
    r"MakeViolation\(\s*" + WORD,
    r"Refusal\([^;]*?,\s*" + WORD + r"\)",
    r"(?:Malformed|Unsupported)\w*\([^;]{0,80}?" + WORD,
    r"kServerRestarted\[\] = " + WORD,
]


def codes_of_sources():
    found = {}
    for folder in ("core", "worker", "server", "client/cpp", "client/cli"):
        for path in sorted((ROOT / folder).rglob("*.cc")) + sorted((ROOT / folder).rglob("*.h")):
            if "core/ops" in str(path) or "worker/kernels" in str(path):
                continue
            text = path.read_text(encoding="utf-8")
            for place in PLACES:
                for match in re.finditer(place, text, re.DOTALL):
                    found.setdefault(match.group(1), path)
    return found


class Troubleshooting(unittest.TestCase):
    def test_every_code_has_a_row(self):
        page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
        rows = {code for line in page.splitlines() if line.startswith("|")
                for code in re.findall(r"`([a-z]+(?:_[a-z0-9]+)*)`", line)}
        found = codes_of_sources()
        self.assertGreater(len(found), 100)
        missing = {code: str(path) for code, path in found.items()
                   if "_" in code and not any(row == code or (code.endswith("_") and row.startswith(code)) for row in rows)}
        self.assertEqual(missing, {})
        sources = "".join(path.read_text(encoding="utf-8") for folder in ("core", "worker", "server", "client")
                          for path in (ROOT / folder).rglob("*.cc"))
        # Prose aside, a code on the page is a literal of the sources.
        prose = {"tensor_io", "helxctl", "helxd", "builtin", "model_tensors", "code"}
        unknown = {row for row in rows - prose if "_" in row and f'"{row}"' not in sources
                   and not any(code.endswith("_") and row.startswith(code) for code in found)}
        self.assertEqual(unknown, set())


if __name__ == "__main__":
    ROOT = Path(sys.argv.pop(1))
    unittest.main()
