"""The commands and their exit statuses (§14.6)."""

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
USAGE = """\
usage: wai_ops_check.py CORPUSDIR [--external NAME=DIR]... [--field NAME=INTEGER]...
       wai_ops_check.py certify --capability NAME --lowering ID --member NAME=PATH...
           [--field NAME=INTEGER]... [--profile acc32|acc64] [--out CERT] [--check CERT]
       wai_ops_check.py certify --whg1 ROLE=PATH... [--capability NAME] [--lowering ID]
           [--profile acc32|acc64] [--out CERT] [--check CERT]
0 every byte is equal, or the verdict meets the profile (acc64 unless given); 1 it does not;
2 a graph is malformed or refused at load by steps 1-7; 3 a byte differs;
4 the lowering refuses the set; 5 usage"""


def say(text):
    # A file's name or bytes may hold what the terminal's encoding does not.
    print(str(text).encode("ascii", "backslashreplace").decode())


def complain(text):
    # The status tells the same where nobody can read this; without a file, print would take
    # standard output.
    if sys.stderr is None:
        return
    try:
        print(str(text).encode("ascii", "backslashreplace").decode(), file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = None


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
            os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
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


def _text(name, value):
    """`value` when it is UTF-8; Python holds other bytes of the command line as surrogates."""
    try:
        return os.fsencode(value).decode()
    except UnicodeDecodeError:
        raise Usage(f"--{name} {value}: not UTF-8") from None


def _parse(argv, once, repeatable):
    """The words of a command line that are no options, and {option: [its values]} (§14.6)."""
    words, options = [], {name: [] for name in once + repeatable}
    rest = iter(argv)
    for word in rest:
        if not word.startswith("-"):
            words.append(word)
            continue
        option, equals, value = word.partition("=")
        name = option[2:] if option.startswith("--") else ""
        if name not in options:
            raise Usage(f"there is no option {option}; there are "
                        + ", ".join("--" + known for known in options))
        if not equals:
            value = next(rest, "")
        if not value:
            raise Usage(f"{option} lacks its value")
        if options[name] and name in once:
            raise Usage(f"{option} is given twice")
        options[name].append(value)
    return words, options


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
    words, options = _parse(argv, ("capability", "lowering", "profile", "out", "check"),
                            ("member", "whg1", "field"))
    if words:
        raise Usage(f"certify takes --member or --whg1, not {words[0]}")
    members, whg1 = options["member"], options["whg1"]
    if bool(members) == bool(whg1):
        raise Usage("give --member for a set or --whg1 for graphs, one of the two")
    capability, lowering, profile, out, check = (
        (options[name] or [default])[0] for name, default in
        (("capability", ""), ("lowering", ""), ("profile", "acc64"), ("out", None),
         ("check", None)))
    capability = _text("capability", capability)
    if profile not in PROFILES:
        raise Usage(f"--profile {profile}: none of {', '.join(PROFILES)}")
    if lowering and lowering not in LOWERINGS:
        raise Usage(f"lowering {lowering} is none of {', '.join(LOWERINGS)}")
    if lowering and (capability or members) and LOWERINGS[lowering].capability != capability:
        raise Usage(f"capability {capability!r} is not {lowering}'s")
    fields = _entry_fields(options["field"])
    files = {name: read_file(path)
             for name, path in _pairs("--member or --whg1", members + whg1).items()}
    check = None if check is None else read_file(check)
    if whg1:
        if fields:
            raise Usage("--field is of a set's entry, not of graphs on their own")
        graphs = sorted(files.items(), key=lambda item: item[0].encode())
        return certify(capability, lowering, set_digest(files), graphs, profile, out, check)
    if not lowering:
        raise Usage("--member needs --lowering and --capability")
    return certify_lowered(lowering, files, fields, profile, out, check)


def command_corpus(argv):
    words, options = _parse(argv, (), ("external", "field"))
    if len(words) != 1 or not words[0]:
        raise Usage("give one folder of a corpus, or certify; --help tells more")
    fields = _entry_fields(options["field"])
    if not options["external"]:
        if fields:
            raise Usage("--field needs --external")
        return verify_corpus(words[0])
    statuses = [certify_external(words[0], name, directory, fields)
                for name, directory in _pairs("--external", options["external"]).items()]
    order = (EXIT_USAGE, EXIT_REFUSED, EXIT_MALFORMED, EXIT_DIFFERS, EXIT_FAILS, EXIT_OK)
    return min(statuses, key=order.index)


def main(argv):
    if sys.stdout is None:
        complain("wai_ops_check.py: standard output: closed")
        return EXIT_USAGE
    try:
        status = run(argv)
        sys.stdout.flush()
        return status
    except OSError as error:
        complain(f"wai_ops_check.py: standard output: {error.strerror}")
        # Without a second attempt at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_USAGE


def run(argv):
    try:
        if "-h" in argv or "--help" in argv:
            say(USAGE)
            return EXIT_OK
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
