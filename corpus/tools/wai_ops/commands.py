"""The commands and their exit statuses (§14.6)."""

import argparse
import os
import re
import sys

from wai_ops.canonical import NotCanonical, parse_canonical_file
from wai_ops.certificate import PROFILES, certificate, meets
from wai_ops.corpus import FALSIFICATION, ROOT, Corpus, read_file
from wai_ops.lowerings import LOWERINGS
from wai_ops.problem import Problem, Usage
from wai_ops.sets import SET_NAME, LoweringRefused, set_digest
from wai_ops.vectors import short
from wai_ops.whg1 import LoadRefused

EXIT_OK, EXIT_FAILS, EXIT_MALFORMED, EXIT_DIFFERS, EXIT_REFUSED, EXIT_USAGE = range(6)
SHOWN_DIFFERENCES = 100


def say(text, file=None):
    # A file's name or bytes may hold what the terminal's encoding does not.
    print(str(text).encode("ascii", "backslashreplace").decode(), file=file)


def complain(text):
    say(text, sys.stderr)


def verify_corpus(folder):
    corpus = Corpus(folder)
    corpus.verify()
    for note in corpus.notes:
        say(note)
    for difference in corpus.differences[:SHOWN_DIFFERENCES]:
        complain(difference)
    if corpus.differences:
        complain(f"{len(corpus.differences)} differences in {corpus.vectors} vectors")
        return EXIT_DIFFERS
    print(f"{corpus.vectors} vectors, {len(corpus.roles)} lowered graphs, "
          f"{len(FALSIFICATION)} falsification sets: every byte is equal")
    return EXIT_OK


def certify(capability, lowering, digest, graphs, profile, out=None, check=None):
    """Writes and compares one certificate; the exit status among 0, 1, 2, 3."""
    try:
        raw, verdict = certificate(capability, lowering, digest, graphs)
    except LoadRefused as refusal:
        complain(refusal)
        return EXIT_MALFORMED
    if out is not None:
        try:
            with open(out, "wb") as file:
                file.write(raw)
        except OSError as error:
            raise Usage(f"{out}: {error.strerror}") from None
    print(f"set {digest} verdict {verdict}")
    if check is not None and check != raw:
        at = next((i for i, (a, b) in enumerate(zip(check, raw)) if a != b),
                  min(len(check), len(raw)))
        complain(f"the certificate to check differs at byte {at} of {len(raw)}")
        return EXIT_DIFFERS
    if meets(verdict, profile):
        return EXIT_OK
    for role in parse_canonical_file(raw)["roles"]:
        for value, name in role["fail_" + profile]:
            complain(f"role {role['role']}: value {value} ({role['values'][value]['op']}) "
                     f"fails {profile} at {name}")
    return EXIT_FAILS


def certify_lowered(lowering_id, files, fields, profile, out=None, check=None, digest=None):
    """certify for a set's files; `digest`, when given, is the one the set must have."""
    lowering = LOWERINGS[lowering_id]
    try:
        graphs = lowering.apply(files, fields)
    except LoweringRefused as refusal:
        complain(f"the lowering refuses the set: {refusal}")
        return EXIT_REFUSED
    own = set_digest(files)
    status = certify(lowering.capability, lowering_id, own, graphs, profile, out, check)
    if digest not in (None, own) and status != EXIT_MALFORMED:
        complain(f"the set is {own}, not {digest}")
        return EXIT_DIFFERS
    return status


def certify_external(folder, name, directory, fields):
    corpus = Corpus(folder)
    where = os.path.join(folder, "certificates", "external.json")
    try:
        entries = parse_canonical_file(read_file(where))
    except NotCanonical as error:
        raise Usage(f"{where}: {error}") from None
    found = [entry for entry in entries if type(entry) is dict and entry.get("name") == name
             ] if type(entries) is list else []
    if len(found) != 1:
        raise Usage(f"{where}: no external set {name}")
    entry = found[0]
    try:
        value = corpus.external_certificate(where, entry)
    except Problem as error:
        complain(error)
        return EXIT_DIFFERS
    lowering = value["lowering"]
    if lowering not in LOWERINGS or LOWERINGS[lowering].capability != value["capability"]:
        complain(f"{entry['certificate']}: lowering {short(lowering)} of {value['capability']}")
        return EXIT_DIFFERS
    files = {member: read_file(os.path.join(directory, file)) for member, file in entry["members"]}
    check = read_file(os.path.join(folder, entry["certificate"][len(ROOT) + 1:]))
    return certify_lowered(lowering, files, fields, entry["profile"], check=check,
                           digest=entry["digest"])


class _Once(argparse.Action):
    def __call__(self, parser, namespace, value, option_string=None):
        if getattr(namespace, self.dest + "_given", False):
            parser.error(f"{option_string} is given twice")
        setattr(namespace, self.dest + "_given", True)
        setattr(namespace, self.dest, value)


class _Arguments(argparse.ArgumentParser):
    def error(self, message):
        raise Usage(message)


def _pairs(option, values):
    """{name: value} of an option's name=value arguments."""
    pairs = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not SET_NAME.fullmatch(name) or not value:
            raise Usage(f"{option} {text}: not <name>=<value>")
        if name in pairs:
            raise Usage(f"{option} {text}: {name} is given twice")
        pairs[name] = value
    return pairs


def _entry_fields(values):
    fields = {}
    for name, text in _pairs("--field", values).items():
        if not re.fullmatch("-?[0-9]{1,100}", text):
            raise Usage(f"--field {name}={text}: not an integer")
        fields[name] = int(text)
    return fields


def command_certify(argv):
    parser = _Arguments(prog="wai_ops_check.py certify", allow_abbrev=False)
    parser.add_argument("--capability", action=_Once, default="")
    parser.add_argument("--lowering", action=_Once, default="")
    parser.add_argument("--member", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--whg1", action="append", default=[], metavar="ROLE=PATH")
    parser.add_argument("--field", action="append", default=[], metavar="NAME=INTEGER")
    parser.add_argument("--profile", action=_Once, choices=PROFILES, default="acc64")
    parser.add_argument("--out", action=_Once, metavar="CERT")
    parser.add_argument("--check", action=_Once, metavar="CERT")
    args = parser.parse_args(argv)
    if bool(args.member) == bool(args.whg1):
        raise Usage("give --member for a set or --whg1 for graphs, one of the two")
    if args.lowering and args.lowering not in LOWERINGS:
        raise Usage(f"lowering {args.lowering} is none of {', '.join(LOWERINGS)}")
    given = args.capability or not args.whg1
    if args.lowering and given and LOWERINGS[args.lowering].capability != args.capability:
        raise Usage(f"capability {args.capability!r} is not {args.lowering}'s")
    fields = _entry_fields(args.field)
    files = {name: read_file(path)
             for name, path in _pairs("--member or --whg1", args.member + args.whg1).items()}
    check = None if args.check is None else read_file(args.check)
    if args.whg1:
        if fields:
            raise Usage("--field is of a set's entry, not of graphs on their own")
        graphs = sorted(files.items(), key=lambda item: item[0].encode())
        return certify(args.capability, args.lowering, set_digest(files), graphs, args.profile,
                       args.out, check)
    if not args.lowering:
        raise Usage("--member needs --lowering and --capability")
    return certify_lowered(args.lowering, files, fields, args.profile, args.out, check)


def command_corpus(argv):
    parser = _Arguments(prog="wai_ops_check.py", allow_abbrev=False,
                        description=__doc__.split("\n")[0],
                        epilog="wai_ops_check.py certify --help: certify one set or graphs.")
    parser.add_argument("corpus", metavar="CORPUSDIR")
    parser.add_argument("--external", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--field", action="append", default=[], metavar="NAME=INTEGER")
    args = parser.parse_args(argv)
    fields = _entry_fields(args.field)
    if not args.external:
        if fields:
            raise Usage("--field needs --external")
        return verify_corpus(args.corpus)
    statuses = [certify_external(args.corpus, name, directory, fields)
                for name, directory in _pairs("--external", args.external).items()]
    order = (EXIT_USAGE, EXIT_REFUSED, EXIT_MALFORMED, EXIT_DIFFERS, EXIT_FAILS, EXIT_OK)
    return min(statuses, key=order.index)


def main(argv):
    try:
        status = run(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except OSError as error:
        complain(f"wai_ops_check.py: standard output: {error.strerror}")
        # Without a second attempt at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_USAGE


def run(argv):
    try:
        if argv[:1] == ["certify"]:
            return command_certify(argv[1:])
        return command_corpus(argv)
    except Usage as error:
        complain(f"wai_ops_check.py: {error}")
        return EXIT_USAGE
    except MemoryError:
        complain("wai_ops_check.py: an input needs more memory than this machine has")
        return EXIT_USAGE
    except RecursionError:
        complain("wai_ops_check.py: an input is nested too deeply")
        return EXIT_USAGE
