"""An embedded server of the test's own: started by the package, ended afterwards."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DIGITS = ROOT / "corpus" / "models" / "digits"


class ServiceTest(unittest.TestCase):
    """One server for all tests of a class; each test works in a folder with the digits model."""

    @classmethod
    def setUpClass(cls):
        cls.root = Path(tempfile.mkdtemp(prefix="helx-py-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        (cls.root / "run").mkdir(mode=0o700)
        cls.environment = {
            **os.environ,
            "HOME": str(cls.root / "home"),
            "XDG_RUNTIME_DIR": str(cls.root / "run"),
            # Compiled kernels, shared with the other tests of the build.
            "XDG_CACHE_HOME": str(
                Path(os.environ.get("HELX_BUILD_DIR") or ROOT / "build") / "test-cache"
            ),
            "TMPDIR": str(cls.root),
        }
        for name in ("HELX_SERVER", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            cls.environment.pop(name, None)
        saved = dict(os.environ)
        os.environ.clear()
        os.environ.update(cls.environment)
        cls.addClassCleanup(os.environ.update, saved)
        cls.addClassCleanup(os.environ.clear)
        cls.addClassCleanup(cls.end_server)

    @classmethod
    def server_pid(cls):
        """The process that listens on the embedded server's socket, or None."""
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(cls.root / "run" / "helx" / "helxd.sock"))
            except OSError:
                return None
            return struct.unpack(
                "3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            )[0]

    @classmethod
    def end_server(cls):
        pid = cls.server_pid()
        if pid is None:
            return
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 30
        while cls.server_pid() is not None and time.monotonic() < deadline:
            time.sleep(0.05)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(dir=self.root))
        previous = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, previous)
        shutil.copy(DIGITS / "digits.tflite", "model.tflite")

    def run_python(self, path, *arguments):
        """Runs a program in a process of its own, as a user would."""
        return subprocess.run(
            [sys.executable, str(path), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
