"""The package as pip installs it: away from the source tree and the build folder."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("HELX_BUILD_DIR") or SOURCE.parents[1] / "build")

PROGRAM = """
import helx, sys
from helx import _core, _locate
from helia_estimator.api import TensorData, TensorSpec, compare_tensors
from helx.v1 import jobs_pb2_grpc
spec = TensorSpec(0, "x", "int8", (2,))
verdict = compare_tensors(TensorData(spec, b"ab"), TensorData(spec, b"ac"))
assert verdict.mismatches == 1, verdict
prefix = sys.prefix + "/"
for file in (helx.__file__, jobs_pb2_grpc.__file__, _core._library()._name):
    assert file.startswith(prefix), (file, prefix)
assert _locate.build_folder() is None
assert (_locate._PACKAGE / "py.typed").is_file()
"""


class WheelTest(unittest.TestCase):
    def test_pip_installs_a_package_that_needs_nothing_of_the_tree(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # A copy, since setuptools leaves its work beside what it builds.
            shutil.copytree(
                SOURCE,
                folder / "source",
                ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__"),
            )
            # With the system's packages, since Debian's grpcio and protobuf must do.
            self.run_in(folder, sys.executable, "-m", "venv", "--system-site-packages", "venv")
            python = folder / "venv" / "bin" / "python"
            self.run_in(
                folder,
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-index",
                "--no-build-isolation",
                "./source",
                HELX_BUILD_DIR=str(BUILD),
            )
            self.run_in(folder, python, "-c", PROGRAM)

    def run_in(self, folder, *command, **extra):
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "HELX_", "PIP_"))
        }
        done = subprocess.run(
            command,
            cwd=folder,
            env={**environment, **extra},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
