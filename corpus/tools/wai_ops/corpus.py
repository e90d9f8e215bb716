"""The corpus: every file rewritten from its inputs and compared (§14)."""

import os
import re

from wai_ops.canonical import (NotCanonical, canonical_line, decode_base64, has_keys, is_str,
                               parse_canonical, parse_canonical_file)
from wai_ops.certificate import PROFILES, certificate, certificate_fault, meets
from wai_ops.lowerings import LOWERINGS
from wai_ops.npu import npu_verdict
from wai_ops.parameters import OPERATORS
from wai_ops.problem import Problem, Usage
from wai_ops.sets import SET_NAME, LoweringRefused, set_digest
from wai_ops.stage import STAGE_OPERATORS
from wai_ops.vectors import (ID_PART, first_difference, rewrite_graph_vector, rewrite_stage_vector,
                             short)
from wai_ops.whg1 import LoadRefused

ROOT = "ops-conformance"
GRAPH_FILES = (["vectors/" + op for op in OPERATORS]
               + ["graphs/" + name for name in ("phase", "state", "load", "run")]
               + ["graphs/lower_" + name.split("/")[0] for name in LOWERINGS])
_PATH_PART = re.compile("[A-Za-z0-9_.-]+")
MAX_FILE = 1 << 30  # bytes
FALSIFICATION = {"overflow_acc64": "acc64", "claim_acc32": "acc32"}


def read_file(path):
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from None
    if len(data) > MAX_FILE:
        raise Usage(f"{path}: larger than 1 GiB")
    return data


def _pairs_ok(value):
    return type(value) is list and all(type(pair) is list and len(pair) == 2
                                       and all(map(is_str, pair)) for pair in value)


class Corpus:
    """One verification of a corpus folder; `differences` are its findings."""

    def __init__(self, folder):
        self.folder = folder
        self.differences = []
        self.files = self._list()
        self.known = {"README.md", ".gitattributes"}
        self.ids = {}
        self.roles = {}
        self.npu_lines = []
        self.vectors = 0
        self.notes = []

    def _list(self):
        if not os.path.isdir(self.folder):
            raise Usage(f"{self.folder}: not a folder")
        found = set()
        for path, folders, names in os.walk(self.folder):
            for name in folders:
                if os.path.islink(os.path.join(path, name)):
                    raise Usage(f"{os.path.join(path, name)}: a link to a folder")
            for name in names:
                # Reading a pipe or a device might never end.
                if not os.path.isfile(os.path.join(path, name)):
                    raise Usage(f"{os.path.join(path, name)}: neither a file nor a folder")
                relative = os.path.relpath(os.path.join(path, name), self.folder)
                found.add(relative.replace(os.sep, "/"))
        return found

    def differ(self, where, what):
        self.differences.append(f"{where}: {what}")

    def read(self, path):
        """A corpus file's bytes, or None with a difference when it is not there."""
        self.known.add(path)
        if path not in self.files:
            self.differ(path, "missing")
            return None
        return read_file(os.path.join(self.folder, path))

    def require(self, path, expected, what):
        """The committed bytes must be the expected ones."""
        raw = self.read(path)
        if raw is not None and raw != expected:
            at = next((i for i, (a, b) in enumerate(zip(raw, expected)) if a != b),
                      min(len(raw), len(expected)))
            self.differ(path, f"differs from {what} at byte {at} (line {raw[:at].count(10) + 1})")

    def read_list(self, path):
        """A canonical file that holds a list, or an empty one with a difference."""
        raw = self.read(path)
        if raw is None:
            return []
        try:
            value = parse_canonical_file(raw)
        except NotCanonical as error:
            self.differ(path, error)
            return []
        if type(value) is not list:
            self.differ(path, "not a list")
            return []
        return value

    def verify(self):
        self._sets()
        self._external()
        for name in sorted(GRAPH_FILES, key=lambda name: name + ".jsonl"):
            self._vector_file(name, self._graph_vector)
        for op in sorted(STAGE_OPERATORS):
            self._vector_file("stage/" + op, self._stage_vector)
        for (form, name, role), used in self.roles.items():
            if not used[1]:
                self.differ(f"graphs/{form}.jsonl", f"no vector of {name}/{role}")
        self.require("npu.jsonl", b"".join(map(canonical_line, self.npu_lines)),
                     "the graphs' own verdicts")
        for path in sorted(self.files - self.known):
            self.differ(path, "not a file of the corpus")

    def _vector_file(self, name, check):
        path = name + ".jsonl"
        raw = self.read(path)
        if raw is None:
            return
        lines = raw.split(b"\n")
        if lines.pop():
            self.differ(f"{path}:{len(lines) + 1}", "no line feed at the end")
        if not lines:
            self.differ(path, "no vectors")
        for number, line in enumerate(lines, 1):
            self.vectors += 1
            where = f"{path}:{number}"
            try:
                doc = parse_canonical(line)
                where = self._id(where, path, doc)
                check(path, where, doc)
            except NotCanonical as error:
                self.differ(where, error)
            except Problem as error:
                self.differences.append(str(error))
            except MemoryError as error:
                self.differ(where, f"larger than this checker evaluates: {error}")
            except RecursionError:
                self.differ(where, "nested too deeply")

    def _id(self, where, path, doc):
        """The vector's id, checked, appended to its place."""
        identity = doc.get("id") if type(doc) is dict else None
        if type(identity) is not str:
            raise Problem(where, "not an object with an id")
        where = f"{where}: {short(identity)}"
        parts = identity.split("/")
        if len(parts) < 3 or not all(map(ID_PART.fullmatch, parts)):
            raise Problem(where, "an id is <file>/<class>/<name>")
        if parts[0] != path[path.index("/") + 1:-len(".jsonl")]:
            raise Problem(where, "the id does not begin with its file's name")
        if identity in self.ids:
            raise Problem(where, f"the id is {self.ids[identity]}'s too")
        self.ids[identity] = where
        return where

    def _same(self, where, doc, expected):
        difference = first_difference(doc, expected)
        if difference:
            self.differ(where, difference)

    def _graph_vector(self, path, where, doc):
        expected, loaded = rewrite_graph_vector(where, doc)
        self._same(where, doc, expected)
        folder, stem = path[:-len(".jsonl")].split("/")
        if loaded:
            self.npu_lines.append({"file": path, "id": doc["id"], **npu_verdict(*loaded)})
            ops = [node.op for node in loaded[0].nodes]
            if folder == "vectors" and ops != [stem]:
                self.differ(where, f"the graph's operators are {ops}, not {stem} alone")
        if stem.startswith("lower_"):
            form, name, role = doc["id"].split("/")[:3]
            lowered = self.roles.get((form, name, role))
            if lowered is None:
                self.differ(where, f"no set {name} of {form} has a role {role}")
            elif lowered[0] != decode_base64(doc["graph"]):
                self.differ(where, f"the graph is not the role {role} of sets/{name} as lowered")
            else:
                lowered[1] = True

    def _stage_vector(self, _, where, doc):
        self._same(where, doc, rewrite_stage_vector(where, doc))

    def _local(self, path):
        """A path relative to the root's parent, as a file of this machine."""
        if path.startswith(ROOT + "/"):
            self.known.add(path[len(ROOT) + 1:])
            return os.path.join(self.folder, path[len(ROOT) + 1:])
        return os.path.join(self.folder, "..", path)

    def _entry(self, where, entry, extra):
        """Checks an entry of index.json or falsification.json; its lowering, or Problem."""
        keys = {"capability", "digest", "graphs", "lowering", "members", "name", *extra}
        if type(entry) is not dict or not keys <= entry.keys():
            raise Problem(where, "not the fields of an entry")
        if type(entry["lowering"]) is not str or entry["lowering"] not in LOWERINGS:
            raise Problem(where, f"lowering {short(entry['lowering'])} is not one of §13")
        lowering = LOWERINGS[entry["lowering"]]
        if entry.keys() != keys | set(lowering.fields):
            raise Problem(where, f"its fields are not those of {entry['lowering']}")
        if type(entry["name"]) is not str or not SET_NAME.fullmatch(entry["name"]):
            raise Problem(where, "not a set's name")
        if not _pairs_ok(entry["members"]) or len(dict(entry["members"])) < len(entry["members"]):
            raise Problem(where, "members is not a list of [name, path] of distinct names")
        for _, path in entry["members"]:
            parts = path.split("/")
            if not all(map(_PATH_PART.fullmatch, parts)) or {".", ".."} & set(parts):
                raise Problem(where, f"member path {short(path)}")
        return lowering

    def _sets(self):
        entries = {}
        for file, extra in (("index", ()), ("falsification", ("claim",))):
            path = f"certificates/{file}.json"
            entries[file] = self.read_list(path)
            rewritten = []
            for i, entry in enumerate(entries[file]):
                try:
                    rewritten.append(self._set(f"{path}:1: entry {i}", file, entry, extra))
                except Problem as error:
                    self.differences.append(str(error))
                except Usage as error:
                    self.differ(f"{path}:1: entry {i}", error)
                except LoweringRefused as refusal:
                    self.differ(f"{path}:1: {entry['name']}", f"the lowering refuses: {refusal}")
            if len(rewritten) == len(entries[file]):
                rewritten.sort(key=lambda e: (e["capability"].encode(), e["name"].encode()))
                self.require(path, canonical_line(rewritten), "the list of its sets")
        self._set_lists(entries)

    def _set_lists(self, entries):
        """Each lowering has a set, and the falsification sets are the two of §14.3."""
        names = [e["name"] for e in entries["index"] + entries["falsification"]
                 if type(e) is dict and type(e.get("name")) is str]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.differ("certificates/index.json", f"two sets are named {name}")
        lowered = {form for form, _, _ in self.roles}
        for lowering in LOWERINGS:
            if "lower_" + lowering.split("/")[0] not in lowered:
                self.differ("certificates/index.json", f"no set of {lowering}")
        claims = {e["name"]: e.get("claim") for e in entries["falsification"]
                  if type(e) is dict and type(e.get("name")) is str}
        if claims != FALSIFICATION:
            self.differ("certificates/falsification.json",
                        f"the sets and claims are {short(claims)}, not {short(FALSIFICATION)}")

    def _set(self, where, file, entry, extra):
        """Lowers and certifies one set from its members; the entry as it must be."""
        lowering = self._entry(where, entry, extra)
        name, identity = entry["name"], entry["lowering"]
        where = f"{where}: {name}"
        files = {member: read_file(self._local(path)) for member, path in entry["members"]}
        fields = {field: entry[field] for field in lowering.fields}
        graphs = lowering.apply(files, fields)
        digest = set_digest(files)
        folder = f"certificates/{lowering.capability}/{digest}"
        committed = []
        for role, data in graphs:
            self.require(f"{folder}/{role}.whg1", data, f"the lowered graph of {name}/{role}")
            path = os.path.join(self.folder, folder, role + ".whg1")
            committed.append((role, read_file(path) if os.path.isfile(path) else data))
            if file == "index":
                self.roles["lower_" + identity.split("/")[0], name, role] = [data, False]
        try:
            raw, verdict = certificate(lowering.capability, identity, digest, committed)
        except LoadRefused as refusal:
            raise Problem(where, f"a lowered graph does not load: {refusal}") from None
        self.require(folder + ".json", raw, f"the certificate of {name}")
        if file == "index" and not meets(verdict, "acc64"):
            self.differ(where, "a lowered graph does not load: bounds")
        if file == "falsification" and meets(verdict, FALSIFICATION.get(name, "acc64")):
            self.differ(where, f"meets {entry['claim']}, the profile it must fail")
        result = {"capability": lowering.capability, "digest": digest,
                  "graphs": [[role, f"{ROOT}/{folder}/{role}.whg1"] for role, _ in graphs],
                  "lowering": identity, "name": name,
                  "members": sorted(entry["members"], key=lambda pair: pair[0].encode()), **fields}
        return {**result, **{key: entry[key] for key in extra}}

    def _external(self):
        """What can be checked of external.json's sets without their files."""
        path = "certificates/external.json"
        if path not in self.files:
            self.notes.append("external.json is absent: no external set was checked")
            return
        entries = self.read_list(path)
        for i, entry in enumerate(entries):
            try:
                value = self.external_certificate(f"{path}:1: entry {i}", entry)
            except Problem as error:
                self.differences.append(str(error))
                continue
            if not meets(value["verdict"], entry["profile"]):
                self.differ(entry["certificate"],
                            f"verdict {value['verdict']} does not meet {entry['profile']}")
            else:
                self.notes.append(f"external set {entry['name']}: its certificate is canonical, "
                                  f"names its set and meets {entry['profile']}; "
                                  "no more was checked")
        names = [entry.get("name") for entry in entries if type(entry) is dict]
        if not all(map(is_str, names)) or names != sorted(set(names), key=str.encode):
            self.differ(path, "the entries are not sorted by distinct names")

    def external_certificate(self, where, entry):
        """The value of an external entry's certificate: canonical, of its set, in its place."""
        check_external_entry(where, entry)
        path = entry["certificate"]
        where = f"{where}: {entry['name']}"
        raw = self.read(path[len(ROOT) + 1:])
        if raw is None:
            raise Problem(where, f"its certificate {path} is missing")
        try:
            value = parse_canonical_file(raw)
        except NotCanonical as error:
            raise Problem(path, error) from None
        fault = certificate_fault(value)
        if fault:
            raise Problem(path, fault)
        if value["set"] != entry["digest"]:
            raise Problem(path, f"its set is {short(value['set'])}, not {entry['digest']}")
        if path != f"{ROOT}/certificates/{value['capability']}/{entry['digest']}.json":
            raise Problem(where, f"certificate {path} is not its set's path")
        return value


def check_external_entry(where, entry):
    ok = (has_keys(entry, ("certificate", "digest", "job", "members", "name", "profile"))
          and all(is_str(entry[key]) for key in ("certificate", "digest", "job", "name"))
          and _pairs_ok(entry["members"]) and entry["profile"] in PROFILES)
    if not ok:
        raise Problem(where, "not the fields of an external set")
    if not entry["certificate"].startswith(ROOT + "/certificates/"):
        raise Problem(where, f"certificate {short(entry['certificate'])} is not in the corpus")
