#!/usr/bin/env python3
"""Manual pages and completion, as the tools that read them see them: command_lines_test.py FOLDER PROGRAM...

FOLDER is what deploy/command_lines.py wrote for the programs. Each shell is asked for real; one that is not installed skips
its test.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = None
PROGRAMS = []


def run(*command, **named):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **named)


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


def verbs_of(program, *path):
    """The verbs that --help lists."""
    done = run(program, *path, "--help")
    part = done.stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"(?m)^  (\S+) ", part)


class ManualPages(unittest.TestCase):
    @needs("groff")
    def test_groff_has_nothing_to_say(self):
        for program in PROGRAMS:
            page = FOLDER / "man" / "man1" / f"{program.name}.1"
            done = run("groff", "-man", "-ww", "-Tascii", page, env={"PATH": "/usr/bin:/bin", "GROFF_NO_SGR": "1"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            text = re.sub(r".\x08", "", done.stdout)
            for option in re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", run(program, "--help").stdout):
                self.assertIn(option, text, page)

    @needs("groff")
    def test_every_verb_has_its_section(self):
        text = (FOLDER / "man" / "man1" / "helxctl.1").read_text().replace("\\-", "-")
        (helxctl,) = [program for program in PROGRAMS if program.name == "helxctl"]
        for verb in verbs_of(helxctl):
            below = verbs_of(helxctl, verb)
            for path in ([f"{verb} {each}" for each in below] or [verb]):
                self.assertIn(f".SS {path}\n", text)


class Completion(unittest.TestCase):
    """What is offered for a line whose last word is to be completed."""

    def check(self, offered):
        (helxctl,) = [program for program in PROGRAMS if program.name == "helxctl"]
        self.assertLessEqual(set(verbs_of(helxctl)), offered("helxctl "))
        self.assertEqual(offered("helxctl res"), {"results", "resubmit"})
        self.assertEqual(offered("helxctl results ve"), {"verify"})
        self.assertIn("--junit", offered("helxctl run --j"))
        self.assertNotIn("--junit", offered("helxctl show --j"))
        self.assertIn("--server", offered("helxctl --json results list --s"))
        self.assertEqual(offered("helxctl list --phase QUE"), {"QUEUED"})
        # The value of an option is no verb.
        self.assertIn("--limit", offered("helxctl --server run list --l"))
        self.assertIn("--metrics-listen", offered("helxd --m"))
        self.assertIn("--state-dir", offered("helx-worker --st"))

    def test_bash(self):
        def offered(line):
            program = line.split(" ")[0]
            function = "_" + program.replace("-", "_")
            words = line.split(" ")
            script = (f"source {FOLDER}/bash-completion/completions/{program}\n"
                      f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}\n"
                      # compopt is for a completion under way only.
                      f"compopt() {{ :; }}\n{function}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"")
            done = run("bash", "--norc", "-c", script)
            self.assertEqual(done.stderr, "")
            return set(done.stdout.split())

        self.check(offered)

    @needs("fish")
    def test_fish(self):
        def offered(line):
            program = line.split(" ")[0]
            script = f"source {FOLDER}/fish/vendor_completions.d/{program}.fish\ncomplete -C '{line}'"
            with tempfile.TemporaryDirectory() as home:  # where it keeps its history
                done = run("fish", "--no-config", "-c", script, env={"PATH": "/usr/bin:/bin", "HOME": home})
            return {each.split("\t")[0] for each in done.stdout.splitlines()}

        self.check(offered)

    @needs("zsh")
    def test_zsh_reads_it(self):
        for program in PROGRAMS:
            script = f"autoload -U compinit; compinit -D; source {FOLDER}/zsh/site-functions/_{program.name}"
            done = run("zsh", "-f", "-c", script)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    FOLDER = Path(sys.argv.pop(1))
    while len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        PROGRAMS.append(Path(sys.argv.pop(1)))
    unittest.main()
