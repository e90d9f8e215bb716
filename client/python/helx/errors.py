"""What goes wrong, by kind. Every error has a stable `code` (docs/formats.md lists those of
documents and bundles).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence


class HelxError(Exception):
    """The base of all errors of this package.

    `code` is a stable identifier such as "wrong_length" or "artifact_modified"; str(error) tells
    what was found, what is allowed and what to do.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class InvalidInput(HelxError, ValueError):
    """A document, model, tensor, policy or argument that is not allowed. Nothing was run or
    written.
    """


class NotFound(HelxError, LookupError):
    """Something named does not exist."""


class EvidenceError(HelxError):
    """A result bundle, or bytes that a server sent, are not what they claim to be."""


class ServerUnreachable(HelxError):
    """No server answers, and none could be started."""


@dataclass(frozen=True)
class Violation:
    """One reason why a request was refused.

    `code` is stable, `subject` says what it is about ("operator 7 (CUSTOM)"), `message` what was
    found and what to do.
    """

    code: str
    subject: str
    message: str


class RequestRefused(InvalidInput):
    """The document or the model was refused when it was frozen, before anything was built or
    run.
    """

    def __init__(self, message: str, code: str, violations: Sequence[Violation]) -> None:
        super().__init__(message, code)
        self.violations = tuple(violations)


class JobError(HelxError):
    """A job that did not succeed.

    `job` is its name ("jobs/…"), `phase` one of FAILED, CANCELLED, TIMED_OUT, ABANDONED; `fault`
    says whose it is when it FAILED (USER, INFRA, DEVICE, BUG), else it is None.
    """

    def __init__(
        self,
        message: str,
        code: str,
        job: str,
        phase: str,
        fault: str | None,
        violations: Sequence[Violation],
    ) -> None:
        super().__init__(message, code)
        self.job = job
        self.phase = phase
        self.fault = fault
        self.violations = tuple(violations)
