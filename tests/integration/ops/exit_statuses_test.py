#!/usr/bin/env python3
"""Both certifiers share one table of exit statuses: exit_statuses_test.py WAI_VERIFY.

Section 14.6 of docs/integer-operators.md: 0 the verdict meets the profile, 1 it does not, 2 a
graph is malformed or refused by load steps 1-7, 3 --check finds a difference, 4 the lowering
refuses the set, 5 usage; when several apply the order is 5, 4, 2, 3, 1. Every row of the table
below is asked of `wai-verify bounds`, `wai-verify certify`, `wai_ops_check.py certify` and, for
sets, `wai_ops_check.py --external`.
"""

import hashlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[3]
CHECKER = TREE / "corpus" / "tools" / "wai_ops_check.py"
CORPUS = TREE / "corpus" / "ops-conformance"
CAPABILITY, LOWERING = "wai.neural.int_conv", "int_conv/1"
WAI_VERIFY = ""
ELSEWHERE = tempfile.TemporaryDirectory()


def status_of(*command):
    done = subprocess.run([word if isinstance(word, bytes) else str(word) for word in command],
                          capture_output=True, text=True, errors="replace", timeout=600,
                          cwd=ELSEWHERE.name)
    if done.returncode < 0 or "Traceback" in done.stderr:
        raise AssertionError(done.stderr)
    return done.returncode


def checker(*words):
    return status_of(sys.executable, "-I", CHECKER, *words)


def committed(name, index="index"):
    entries = json.loads((CORPUS / "certificates" / (index + ".json")).read_bytes())
    return next(entry for entry in entries if entry["name"] == name)


class Statuses(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # conv_a's verdict is acc64; claim_acc32's is acc64 too, one weight past acc32.
        self.member = CORPUS / "sets" / "conv_a" / "net.whm"
        entry = committed("conv_a")
        self.certificate = (CORPUS / "certificates" / entry["capability"]
                            / (entry["digest"] + ".json"))
        self.graph = CORPUS / entry["graphs"][0][1].split("/", 1)[1]

    def set_with(self, change=lambda data: data):
        """A folder with conv_a's one member, changed."""
        folder = self.folder / "set"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "net.whm").write_bytes(change(self.member.read_bytes()))
        return folder

    def external(self, folder, profile, certificate):
        """The status of --external, from a corpus of one external.json and its certificate."""
        root = self.folder / "ops-conformance"
        shutil.rmtree(root, ignore_errors=True)
        place = root / "certificates" / CAPABILITY
        place.mkdir(parents=True)
        digest = self.certificate.stem
        (place / (digest + ".json")).write_bytes(certificate)
        entry = {"certificate": f"ops-conformance/certificates/{CAPABILITY}/{digest}.json",
                 "digest": digest, "job": "this test", "members": [["net.whm", "net.whm"]],
                 "name": "x", "profile": profile}
        (root / "certificates" / "external.json").write_text(
            json.dumps([entry], sort_keys=True, separators=(",", ":")) + "\n")
        return checker(root, "--external", f"x={folder}")

    def of_set(self, folder, profile="acc64", check=None, capability=CAPABILITY,
               lowering=LOWERING):
        """The statuses of the three certifying commands on a set."""
        options = ["--capability", capability, "--lowering", lowering, "--profile", profile]
        if check is not None:
            options += ["--check", check]
        member = ["--member", f"net.whm={folder / 'net.whm'}"]
        return {"bounds": status_of(WAI_VERIFY, "bounds", folder, *options),
                "certify": status_of(WAI_VERIFY, "certify", *options, *member),
                "checker": checker("certify", *options, *member)}

    def of_graph(self, path, profile="acc64"):
        options = ["--profile", profile]
        return {"bounds": status_of(WAI_VERIFY, "bounds", path, *options),
                "certify": status_of(WAI_VERIFY, "certify", *options, "--whg1", f"net={path}"),
                "checker": checker("certify", *options, "--whg1", f"net={path}")}

    def all_are(self, statuses, expected):
        self.assertEqual(statuses, {name: expected for name in statuses})

    def test_0_met(self):
        folder = self.set_with()
        self.all_are(self.of_set(folder, check=self.certificate), 0)
        self.assertEqual(self.external(folder, "acc64", self.certificate.read_bytes()), 0)
        self.all_are(self.of_graph(self.graph), 0)

    def test_1_not_met(self):
        folder = self.set_with()
        self.all_are(self.of_set(folder, profile="acc32"), 1)
        self.assertEqual(self.external(folder, "acc32", self.certificate.read_bytes()), 1)
        self.all_are(self.of_graph(self.graph, "acc32"), 1)
        for name in ("overflow_acc64", "claim_acc32"):
            entry = committed(name, "falsification")
            self.all_are(self.of_set(CORPUS / "sets" / name, profile=entry["claim"]), 1)

    def test_2_malformed(self):
        path = self.folder / "net.whg1"
        data = self.graph.read_bytes()
        for broken in (b"", data[:40], data[:-1], data + b"\0", b"WHG2" + data[4:],
                       data[:70] + bytes([data[70] ^ 1]) + data[71:]):
            path.write_bytes(broken)
            self.all_are(self.of_graph(path), 2)
            self.all_are(self.of_graph(path, "acc32"), 2)

    def test_3_differs(self):
        folder = self.set_with()
        check = self.folder / "certificate.json"
        text = self.certificate.read_bytes()
        for changed in (text[:-1], text.replace(b'"verdict":"acc64"', b'"verdict":"acc32"'), b""):
            self.assertNotEqual(changed, text)
            check.write_bytes(changed)
            self.all_are(self.of_set(folder, check=check), 3)
            # Before 1.
            self.all_are(self.of_set(folder, profile="acc32", check=check), 3)
            self.assertEqual(self.external(folder, "acc32", changed), 3)
        other = self.set_with(lambda data: data.replace(b'"max_elems":4096', b'"max_elems":4097'))
        self.assertNotEqual(hashlib.sha256((other / "net.whm").read_bytes()).hexdigest(),
                            self.certificate.stem)
        self.all_are(self.of_set(other, check=self.certificate), 3)
        self.assertEqual(self.external(other, "acc64", text), 3)

    def test_4_the_lowering_refuses(self):
        check = self.folder / "certificate.json"
        check.write_bytes(b"{}\n")
        for change in (lambda data: data[:-1], lambda data: b"", lambda data: b"{}\n",
                       lambda data: data.replace(b'"max_elems":4096', b'"max_elems":-1'),
                       lambda data: b"[" * 5000 + b"\n"):
            folder = self.set_with(change)
            # Before 3 and 1.
            self.all_are(self.of_set(folder, profile="acc32", check=check), 4)
            self.assertEqual(self.external(folder, "acc64", self.certificate.read_bytes()), 4)

    def test_5_usage(self):
        folder = self.set_with(lambda data: b"{}\n")
        self.all_are(self.of_set(folder, profile="acc16"), 5)
        self.all_are(self.of_set(folder, capability="wai.neural.gru"), 5)
        self.all_are(self.of_set(folder, lowering="int_conv/2"), 5)
        self.all_are(self.of_set(folder, check=self.folder / "none.json"), 5)
        self.all_are(self.of_graph(self.folder / "none.whg1"), 5)
        self.assertEqual(
            self.external(self.folder / "none", "acc64", self.certificate.read_bytes()), 5)
        self.assertEqual(status_of(WAI_VERIFY, "certify"), 5)
        self.assertEqual(checker("certify"), 5)
        graph, member = f"a={self.graph}", f"net.whm={self.member}"
        lowering = ["--capability", CAPABILITY, "--lowering", LOWERING]
        for words in (["--whg1", graph, "--member", member],
                      ["--whg1", f"a b={self.graph}"], ["--whg1", f"\u00fc={self.graph}"],
                      ["--whg1", "a="], ["--whg1", f"={self.graph}"],
                      ["--whg1", graph, "--whg1", graph],
                      ["--whg1", graph, "--field", "c=1"],
                      ["--whg1", graph, "--lowering", "int_conv/2"],
                      ["--whg1", graph, "--lowering", LOWERING, "--capability", "wai.neural.gru"],
                      ["--whg1", graph, "--profile", "acc64", "--profile", "acc64"],
                      [*lowering, "--member", member, "--member", member],
                      [*lowering, "--member", member, "--field", "c=x"],
                      [*lowering, "--member", member, "--field", "c=1", "--field", "c=1"],
                      ["--capability", CAPABILITY, "--member", member],
                      ["--lowering", LOWERING, "--member", member]):
            self.both(words, 5)

    def both(self, words, expected):
        """The status of both `certify` commands."""
        self.assertEqual((status_of(WAI_VERIFY, "certify", *words), checker("certify", *words)),
                         (expected, expected), words)

    # Of the command-line rule: each base has its status, and each change of it gives the same
    # status to both programs, whatever the base.
    def test_command_lines(self):
        good = ["--whg1", f"net={self.graph}"]
        broken = self.folder / "broken.whg1"
        broken.write_bytes(b"WHG1")
        empty = self.folder / "empty.whm"
        empty.write_bytes(b"")
        other = self.folder / "other.json"
        other.write_bytes(b"{}\n")
        bases = {0: good, 1: [*good, "--profile", "acc32"], 2: ["--whg1", f"net={broken}"],
                 3: [*good, "--check", other],
                 4: ["--capability", CAPABILITY, "--lowering", LOWERING, "--member",
                     f"net.whm={empty}"]}
        file = self.folder / "file"
        file.write_bytes(b"")
        usage = [["--nothing", "x"], ["--out"], ["--out", ""], ["--out="], ["--check="],
                 ["--profile", "acc32", "--profile", "acc32"], ["--prof", "acc64"], ["--"], ["-"],
                 ["-x"], ["word"], [""], ["--field", ""], ["--field", "c=\u0661"],
                 ["--capability", b"\xff"], ["--capability", b"\xed\xa0\x80"],
                 ["--capability", ""], ["--lowering", b"\xff"], ["--profile", b"\xff"],
                 ["--whg1", b"\xff=x"], ["--whg1", "--profile"]]
        unwritable = [["--out", "/dev/full"], ["--out", file / "x"], ["--out", self.folder]]
        written = self.folder / "made" / "here" / "c.json"
        for status, base in bases.items():
            self.both(base, status)
            for change in usage:
                # What is given twice is refused too.
                self.both([*base, *change], 5)
            for change in unwritable:
                # Where there is a certificate; a broken subject is found before.
                self.both([*base, *change], status if status in (2, 4) else 5)
            for help_word in ("-h", "--help"):
                self.both([help_word, *base], 0)
                self.both([*base, "--profile", "acc16", "--out", help_word], 0)
                self.both([*base, "--nothing", help_word], 0)
            for program in self.programs():
                shutil.rmtree(written.parent.parent, ignore_errors=True)
                self.assertEqual(status_of(*program, *base, f"--out={written}"), status)
                self.assertEqual(written.exists(), status in (0, 1, 3))
            # A name like an option's is a value where a value is due.
            self.both([*base, "--out", "-o"], status)
        path = os.fsencode(self.folder) + b"/\xff.whg1"
        pathlib.Path(os.fsdecode(path)).write_bytes(self.graph.read_bytes())
        self.both(["--whg1", b"net=" + path], 0)
        self.both(["--whg1", f"net={self.graph}", "--capability", "\u00fc\U0001f600"], 0)

    def programs(self):
        return [WAI_VERIFY, "certify"], [sys.executable, "-I", str(CHECKER), "certify"]

    def test_outputs_that_cannot_be_written(self):
        def without_reader(stream):
            reader, writer = os.pipe()
            os.close(reader)
            os.dup2(writer, stream)

        def full(stream):
            os.dup2(os.open("/dev/full", os.O_WRONLY), stream)

        subjects = {0: [], 1: ["--profile", "acc32"], 3: ["--check", "/dev/null"],
                    5: ["--profile", "acc16"]}
        out = self.folder / "out.json"
        for status, words in subjects.items():
            words = ["--whg1", f"net={self.graph}", *words]
            for spoil in (os.close, full, without_reader):
                for program in self.programs():
                    for stream, expected in ((1, 5), (2, status)):
                        done = subprocess.run(
                            [*program, *words, "--out", str(out)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                            preexec_fn=lambda: spoil(stream))
                        self.assertEqual(done.returncode, expected,
                                         (program, words, spoil.__name__, stream, done.stderr))
                        if out.exists():
                            self.assertTrue(out.read_bytes().startswith(b"{"))
        for command in ([WAI_VERIFY, "--help"], [sys.executable, "-I", str(CHECKER), "--help"]):
            done = subprocess.run(command, stderr=subprocess.PIPE, timeout=600,
                                  preexec_fn=lambda: full(1))
            self.assertEqual(done.returncode, 5, command)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_corpus_command_lines(self):
        for words, expected in ((["-h"], 0), (["--help"], 0), ([], 5), ([""], 5), (["--x"], 5),
                                ([CORPUS, CORPUS], 5), ([CORPUS, "--external", ""], 5),
                                ([CORPUS, "--field", "c=1"], 5), ([self.folder / "none"], 5)):
            self.assertEqual(checker(*words), expected, words)
        for words, expected in ((["-h"], 0), (["--help"], 0), ([], 5), ([""], 5), (["--x"], 5),
                                (["vectors", "verify", "-h"], 0), (["vectors", "verify", ""], 5),
                                (["vectors", "verify", CORPUS, CORPUS], 5),
                                (["vectors", "verify", self.folder / "none"], 5),
                                (["bounds"], 5), (["bounds", "--check"], 5),
                                (["bounds", self.graph, "--member", "a=b"], 5)):
            self.assertEqual(status_of(WAI_VERIFY, *words), expected, words)
        model = self.folder / "m.tflite"
        model.write_bytes(b"")
        words = ["import", model, "--out", self.folder / "m.tfq", "--rounding"]
        self.assertEqual(status_of(WAI_VERIFY, *words, "triple"), 5)
        self.assertEqual(status_of(WAI_VERIFY, *words, "double"), 2)

    def test_5_more_memory_than_there_is(self):
        """A state of 2^28 elements, two GiB, from a member of a thousand bytes."""
        text = (CORPUS / "sets" / "gru_a" / "cell.whm").read_bytes()
        for old, new in ((b'"h_cap":1', b'"h_cap":32768'), (b'"w_cap":1', b'"w_cap":4096'),
                         (b'"max_elems":4096', b'"max_elems":2147483647')):
            self.assertIn(old, text)
            text = text.replace(old, new)
        member = self.folder / "cell.whm"
        member.write_bytes(text)
        for program in ([WAI_VERIFY], [sys.executable, "-I", str(CHECKER)]):
            done = subprocess.run(
                [*program, "certify", "--capability", "wai.neural.gru", "--lowering",
                 "gru_cell/1", "--member", f"cell.whm={member}"], capture_output=True, text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("memory", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_fields_of_any_size_are_the_lowerings_to_refuse(self):
        world = CORPUS / "sets" / "world_a"
        words = ["--capability", "wai.world.model", "--lowering", "world_model/1",
                 "--member", f"T.whm={world / 'T.whm'}", "--member", f"g_s.whm={world / 'g_s.whm'}"]
        for field, status in (("c=2", 0), ("c=02", 0), ("c=3", 4), ("c=0", 4), ("c=-1", 4),
                              ("c=" + "9" * 30, 4), ("c=-" + "9" * 30, 4), ("c=+2", 5),
                              ("c=" + "9" * 101, 5), ("d=2", 4)):
            self.both([*words, "--field", field], status)
        self.both(words, 4)


if __name__ == "__main__":
    WAI_VERIFY = sys.argv.pop(1)
    unittest.main()
