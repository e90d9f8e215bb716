"""Local files: read with a limit, written at once, bundle folders put in place in one step."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Iterator

from helx.errors import EvidenceError, InvalidInput

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


@contextmanager
def open_regular(path: Path, limit: int, what: str) -> Iterator[BinaryIO]:
    """Opens a regular file of at most `limit` bytes. O_NONBLOCK, since opening a FIFO must not
    hang.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise InvalidInput(
            f"cannot open {path}: {error.strerror}; give the path of {what}", "unreadable_file"
        ) from None
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        os.close(descriptor)
        raise InvalidInput(
            f"{path} is not a regular file; give the path of {what}", "unreadable_file"
        )
    with open(descriptor, "rb") as file:
        if info.st_size > limit:
            raise InvalidInput(
                f"{path} has {info.st_size} bytes; {what} may have {limit}", "file_too_large"
            )
        yield file


def read(path: Path, limit: int, what: str) -> bytes:
    with open_regular(path, limit, what) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise InvalidInput(f"{path} grew past {limit} bytes while it was read", "file_too_large")
    return content


def write(path: Path, content: bytes) -> None:
    """Puts a file in place of an older one at once; nothing is left behind when that fails.

    It never takes the place of anything but a regular file.
    """
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise InvalidInput(f"{path} is not a regular file; choose another path", "unwritable")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InvalidInput(
            f"cannot write {path}: {error.strerror}; choose a folder that exists and "
            "that you can write",
            "unwritable",
        ) from None
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(descriptor, 0o644)
        os.replace(name, path)
    except OSError as error:
        os.unlink(name)
        raise InvalidInput(
            f"cannot write {path}: {error.strerror}; choose another path", "unwritable"
        ) from None


def check_bundle_path(path: str) -> None:
    """Refuses a path that could leave the folder a bundle is written to."""
    parts = path.split("/")
    bad = (
        any(part in ("", ".", "..") for part in parts)
        or "\\" in path
        or any(ord(c) < 0x20 or ord(c) == 0x7F for c in path)
    )
    if bad:
        raise EvidenceError(
            f"unsafe_path: the manifest names {path!r}; allowed are relative paths "
            "without '.', '..' and control characters",
            "unsafe_path",
        )


def is_bundle(folder: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(folder / "manifest.json").st_mode)
    except OSError:
        return False


def check_bundle_place(folder: Path) -> None:
    """InvalidInput (place_taken) unless a bundle may be put there: nothing, an empty folder or an
    older bundle.
    """

    def refuse(why: str) -> InvalidInput:
        return InvalidInput(
            f"{folder} {why}; move it away, or choose another output folder", "place_taken"
        )

    place = folder.absolute()
    for parent in place.parents:
        if is_bundle(parent):
            raise refuse(f"lies inside the bundle {parent}")
    mode = None
    try:
        mode = os.lstat(place).st_mode
    except FileNotFoundError:
        pass
    except OSError as error:
        raise refuse(f"cannot be looked at ({error.strerror})") from None
    _check_new_folder(place.parent)
    if mode is None:
        return
    if not stat.S_ISDIR(mode):
        raise refuse("exists and is not a folder")
    if not is_bundle(place) and any(place.iterdir()):
        raise refuse("exists, is not empty and is not a bundle")


def _check_new_folder(folder: Path) -> None:
    """InvalidInput (unwritable) unless files can be written into the folder, or into the deepest one
    above it that exists: what a long job leaves must find a place.
    """
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".helx.", dir=folder))
    except OSError as error:
        raise InvalidInput(
            f"nothing can be written into {folder}: {error.strerror}; choose another output folder",
            "unwritable",
        ) from None


class StagedFolder:
    """A folder filled beside its destination, which then takes its place in one step: readers see
    old or new, never a mixture.

    As a context manager it removes what was not committed.
    """

    def __init__(self, destination: Path) -> None:
        self._destination = destination
        parent = self._destination.parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=f".{self._destination.name}.", dir=parent))
            self.path.chmod(0o755)
        except OSError as error:
            raise InvalidInput(
                f"cannot make a folder in {parent}: {error.strerror}; choose another "
                "output folder",
                "unwritable",
            ) from None

    def __enter__(self) -> StagedFolder:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def commit(self) -> None:
        try:
            os.rename(self.path, self._destination)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise InvalidInput(
                    f"cannot put {self.path} in place of {self._destination}: {error.strerror}; "
                    "choose another output folder",
                    "unwritable",
                ) from None
            self._exchange()

    def _exchange(self) -> None:
        """Swaps the two, so that the older folder is then the staged one and goes with it."""
        source, target = os.fsencode(self.path), os.fsencode(self._destination)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(_AT_FDCWD, source, _AT_FDCWD, target, _RENAME_EXCHANGE) == 0:
            return
        number = ctypes.get_errno()
        if number not in (errno.EINVAL, errno.ENOSYS):
            raise InvalidInput(
                f"cannot exchange {self.path} and {self._destination}: "
                f"{os.strerror(number)}; remove the older folder first",
                "unwritable",
            )
        aside = self.path.with_name(self.path.name + ".old")
        os.rename(self._destination, aside)  # where the file system cannot exchange: two steps
        os.rename(self.path, self._destination)
        shutil.rmtree(aside, ignore_errors=True)
