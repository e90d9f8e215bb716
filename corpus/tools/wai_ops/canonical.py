"""Canonical JSON (§8.5) and base64 (§14.1), and the JSON type tests every reader uses."""

import base64
import binascii
import json
import re

_LONG_DIGITS = re.compile("([0-9]{1000})[0-9]+")
_SHORT_ESCAPE = re.compile(r"\\(.)")
_LONG_FORM = {"b": "\\u0008", "t": "\\u0009", "n": "\\u000a", "f": "\\u000c", "r": "\\u000d"}


class NotCanonical(Exception):
    """The bytes are not one canonical JSON value."""


def _unique(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise NotCanonical("an object repeats a key")
    return value


def _no_number(text):
    raise NotCanonical(f"{text[:40]} is not an integer")


def canonical(value):
    """The canonical text of a value made of dicts, lists, strings, integers, bools and None."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if "\\" not in text:
        return text
    return _SHORT_ESCAPE.sub(lambda m: _LONG_FORM.get(m.group(1), m.group(0)), text)


def canonical_line(value):
    return canonical(value).encode() + b"\n"


def parse_canonical(raw):
    """The value of canonical bytes; NotCanonical when they are not.

    A number of more than 1000 digits is cut to its first 1000: it stays beyond every range of the
    text, so every outcome is the same, and reading it takes linear time.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotCanonical(f"not UTF-8 at byte {error.start}") from None
    text = _LONG_DIGITS.sub(r"\1", text)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_float=_no_number,
                           parse_constant=_no_number)
        again = canonical(value)
    except json.JSONDecodeError as error:
        raise NotCanonical(f"not JSON at character {error.pos}: {error.msg}") from None
    except RecursionError:
        raise NotCanonical("nested too deeply") from None
    except UnicodeEncodeError:
        raise NotCanonical("an unpaired surrogate") from None
    if again != text:
        at = next((i for i, (a, b) in enumerate(zip(again, text)) if a != b),
                  min(len(again), len(text)))
        raise NotCanonical(f"not the canonical form at character {at}")
    return value


def parse_canonical_file(raw):
    """One canonical value and one line feed."""
    if not raw.endswith(b"\n"):
        raise NotCanonical("no line feed at the end")
    return parse_canonical(raw[:-1])


def is_int(value):
    return type(value) is int


def is_list(value):
    return type(value) is list


def is_str(value):
    return type(value) is str


def is_ints(value):
    return type(value) is list and all(type(v) is int for v in value)


def has_keys(value, keys):
    return type(value) is dict and value.keys() == set(keys)


def decode_base64(text):
    """The bytes of padded RFC 4648 base64, or None; one byte string has one spelling."""
    if type(text) is not str:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None
    return data if base64.b64encode(data).decode() == text else None
