"""Where the parts that a build makes are: the core library, the wire stubs, the server's
program.
"""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def build_folder() -> Path | None:
    """HELX_BUILD_DIR, else `build` of the source tree that this package lies in, else None."""
    named = os.environ.get("HELX_BUILD_DIR")
    if named:
        return Path(named).absolute()
    root = _PACKAGE.parents[2]
    return root / "build" if (root / "proto" / "helx" / "v1").is_dir() else None


def core_library_places() -> list[Path]:
    """Where libhelx_core.so may be, the first that exists wins."""
    places = [_PACKAGE / "lib" / "libhelx_core.so"]
    folder = build_folder()
    if folder is not None:
        built = folder / "lib" / "libhelx_core.so"
        places.insert(0 if "HELX_BUILD_DIR" in os.environ else 1, built)
    return places


def stub_folders() -> list[Path]:
    """Folders that may hold the generated package `v1`."""
    folder = build_folder()
    return [] if folder is None else [folder / "python" / "helx"]


def program(name: str) -> Path | None:
    """A program of HELX: of the build folder, else the first in PATH."""
    folders = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep)]
    built = build_folder()
    if built is not None:
        folders.insert(0, built / "bin")
    for folder in folders:
        candidate = folder / name
        if folder.is_absolute() and candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None
