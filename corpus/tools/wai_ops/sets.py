"""Sets, their digests, and a lowering's refusals (§13.0)."""

import hashlib
import re

SET_NAME = re.compile("[A-Za-z0-9_.]+")


class LoweringRefused(Exception):
    """A lowering's refusal: its code and what it found, naming member and layer."""

    def __init__(self, code, what):
        super().__init__(f"{code}: {what}")
        self.code = code


def require(condition, code, what):
    if not condition:
        raise LoweringRefused(code, what)


def set_digest(members):
    """§13.0's digest of {name: bytes}."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    if len(digests) == 1:
        return next(iter(digests.values()))
    lines = ["wai.prior.set/1"] + [f"{digests[name]} {name}"
                                   for name in sorted(digests, key=str.encode)]
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()
