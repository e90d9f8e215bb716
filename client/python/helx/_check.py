"""Argument checks shared by the package: the right Python type, else InvalidInput (wrong_type)."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any, Iterable, TypeVar

from helx.errors import InvalidInput

_T = TypeVar("_T")


def instance(value: Any, kind: type[_T] | tuple[type[_T], ...], what: str) -> _T:
    """The value, when it is of that class (a bool is not a number)."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds):
        return value
    allowed = " or ".join(k.__name__ for k in kinds)
    raise InvalidInput(f"{what} is {_shown(value)}; allowed is {allowed}", "wrong_type")


def integer(value: Any, what: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """An int, or what converts to one without loss (a NumPy integer), within the bounds."""
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:
            pass
        else:
            if least <= number <= most:
                return number
            raise InvalidInput(f"{what} is {number}; allowed are {least} to {most}", "out_of_range")
    raise InvalidInput(f"{what} is {_shown(value)}; allowed is an integer", "wrong_type")


def items(values: Iterable[_T], kind: type[_T] | tuple[type[_T], ...], what: str) -> tuple[_T, ...]:
    """An iterable's items as a tuple, each of that class."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} is {_shown(values)}; allowed is a list or tuple", "wrong_type")
    return tuple(instance(value, kind, f"{what}[{i}]") for i, value in enumerate(values))


def path(value: str | os.PathLike[str], what: str) -> Path:
    """A path that the system can take."""
    instance(value, (str, os.PathLike), what)
    text = os.fspath(value)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInput(
            f"{what} is {_shown(text)}; allowed is the path of a file or folder", "wrong_path"
        )
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} is {_shown(text)}, which no file can be called (position {error.start})",
            "wrong_path",
        ) from None
    return Path(text)


def utf8(value: str, what: str) -> bytes:
    """The text's UTF-8; InvalidInput (not_utf8) when it holds a lone surrogate."""
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what}: {value!r} cannot be written as UTF-8 (position {error.start}); "
            "correct the text",
            "not_utf8",
        ) from None


def text(value: Any, what: str) -> str:
    """A str that can be written as UTF-8."""
    utf8(instance(value, str, what), what)
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    shown = text if len(text) <= 60 else text[:57] + "..."
    return f"{shown} ({type(value).__name__})"
