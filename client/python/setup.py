"""Puts what HELX's build has made (core library, wire stubs) into the wheel."""

import os
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent


def built(relative: str) -> Path:
    folder = Path(os.environ.get("HELX_BUILD_DIR") or HERE.parents[1] / "build")
    path = folder / relative
    if not path.exists():
        raise SystemExit(
            f"{path} is missing; build HELX first (deploy/build), or set HELX_BUILD_DIR "
            "to the folder it was built in"
        )
    return path


class BuildWithParts(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # used from the tree, which finds the parts in the build folder
        package = Path(self.build_lib) / "helx"
        library = package / "lib" / "libhelx_core.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built("lib/libhelx_core.so"), library)
        shutil.copytree(
            built("python/helx/v1"),
            package / "v1",
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )


class PlatformWheel(bdist_wheel):
    """The library is for this platform and for any Python 3."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": BuildWithParts, "bdist_wheel": PlatformWheel}, distclass=WithLibrary)
