"""JSON values that cannot be changed: what a verified bundle says stays what it says."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
    raise TypeError(
        "this is part of a result, which cannot be changed; copy it with copy.deepcopy first"
    )


class FrozenDict(dict[str, Any]):
    """A dict that refuses changes. Copies of it are plain dicts."""

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that refuses changes. Copies of it are plain lists."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # type: ignore[assignment]
    append = extend = insert = pop = remove = _refuse  # type: ignore[assignment]
    clear = sort = reverse = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return list, (list(self),)


def frozen(value: Any) -> Any:
    """A JSON value whose objects and lists cannot be changed."""
    if isinstance(value, dict):
        return FrozenDict({key: frozen(member) for key, member in value.items()})
    if isinstance(value, list):
        return FrozenList(frozen(member) for member in value)
    return value
