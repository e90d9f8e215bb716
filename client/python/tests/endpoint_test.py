"""Which server is chosen, and how an embedded one is started."""

import os
import socket
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from helx import _embedded, _endpoint
from helx.api import InvalidInput, ServerUnreachable
from helx._connection import Connection


class Isolated(unittest.TestCase):
    """Runs with an environment of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        values = {
            "HOME": str(self.folder / "home"),
            "PATH": "",
            "HELX_BUILD_DIR": os.environ.get("HELX_BUILD_DIR", ""),
        }
        patch = mock.patch.dict(os.environ, values, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def configure(self, text):
        folder = self.folder / "home" / ".config" / "helx"
        folder.mkdir(parents=True)
        (folder / "client.yaml").write_bytes(text)


class EndpointTest(Isolated):
    def test_precedence(self):
        embedded = _endpoint.resolve(None)
        self.assertEqual(embedded.address, f"unix:/tmp/helx-{os.geteuid()}/helxd.sock")
        self.assertTrue(embedded.embedded)
        os.environ["XDG_RUNTIME_DIR"] = "/run/user/7"
        self.assertEqual(_endpoint.resolve("").address, "unix:/run/user/7/helx/helxd.sock")
        os.environ["XDG_RUNTIME_DIR"] = "relative"  # ignored, as the specification asks
        os.environ["TMPDIR"] = "/var/tmp"
        self.assertEqual(
            _endpoint.resolve(None).address, f"unix:/var/tmp/helx-{os.geteuid()}/helxd.sock"
        )
        self.configure(b"server: configured:1\n")
        self.assertEqual(_endpoint.resolve(None).address, "configured:1")
        os.environ["HELX_SERVER"] = "environment:2"
        self.assertEqual(_endpoint.resolve(None).source, "HELX_SERVER")
        chosen = _endpoint.resolve("argument:3")
        self.assertEqual((chosen.address, chosen.embedded), ("argument:3", False))

    def test_tls_files_come_each_from_the_nearest_place(self):
        self.configure(b"server: lab:1\ntls_ca: /c/ca\ntls_cert: /c/cert\ntls_key: /c/key\n")
        os.environ["HELX_TLS_CERT"] = "/e/cert"
        chosen = _endpoint.resolve(None)
        self.assertEqual(chosen.tls, _endpoint.TlsFiles("/c/ca", "/e/cert", "/c/key"))
        self.assertIsNone(_endpoint.resolve("unix:/run/helxd.sock").tls)

    def test_plain_text_is_for_this_host_only(self):
        for address in ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/run/helxd.sock"):
            _endpoint.check_transport(_endpoint.resolve(address))
        for address in ("10.0.0.1:1", "lab.example:1", "127.lab.example:1"):
            with self.subTest(address=address), self.assertRaises(InvalidInput) as caught:
                _endpoint.check_transport(_endpoint.resolve(address))
            self.assertIn("TLS only", str(caught.exception))
        os.environ["HELX_TLS_CERT"] = "/e/cert"
        with self.assertRaises(InvalidInput):  # all three or none
            _endpoint.resolve("lab.example:1")

    def test_configurations_that_are_refused(self):
        self.configure(b"servers: a:1\n")
        for text in (
            b"servers: a:1\n",
            b"[a]\n",
            b"server: [a]\n",
            b"server: 'x\n",
            b"server: \xff\n",
            b"#" * (65 << 10),
        ):
            with self.subTest(text=text[:20]):
                (self.folder / "home/.config/helx/client.yaml").write_bytes(text)
                with self.assertRaises(InvalidInput) as caught:
                    _endpoint.resolve(None)
                self.assertIn("client.yaml", str(caught.exception))

    def test_empty_configurations(self):
        self.configure(b"")
        for text in (b"", b"\n", b"server:\n"):
            (self.folder / "home/.config/helx/client.yaml").write_bytes(text)
            self.assertTrue(_endpoint.resolve(None).embedded, text)

    def test_addresses_that_are_refused(self):
        for address in (
            "host",
            ":1",
            "host:",
            "host:0",
            "host:65536",
            "host:1x",
            "host:-1",
            "a b:1",
            "hö:1",
            "http://host:1",
            "unix:relative",
            "unix:",
            "unix:/" + "x" * 108,
            "host:" + "9" * 10000,
        ):
            with self.subTest(address=address[:20]):
                with self.assertRaises(InvalidInput) as caught:
                    _endpoint.resolve(address)
                self.assertEqual(caught.exception.code, "server_address")
        for address in ("host:1", "[::1]:65535", "127.0.0.1:8980", "unix:/" + "x" * 106):
            self.assertEqual(_endpoint.resolve(address).address, address)


class EmbeddedTest(Isolated):
    def refuses(self, call, *words):
        with self.assertRaises(ServerUnreachable) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def ensure(self):
        _embedded.ensure_server(self.folder / "run" / "helxd.sock")

    def test_the_sockets_folder_must_be_private(self):
        (self.folder / "run").mkdir(mode=0o755)
        self.refuses(self.ensure, "0755", "chmod 700")
        (self.folder / "run").rmdir()
        (self.folder / "real").mkdir(mode=0o700)
        (self.folder / "run").symlink_to(self.folder / "real")
        self.refuses(self.ensure, "symbolic link")
        (self.folder / "run").unlink()
        with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
            self.refuses(self.ensure, "belongs to user")

    def install(self, script):
        """A helxd of the test's own, in the only folder of PATH; the core library stays loaded."""
        _endpoint.resolve(None)
        os.environ["HELX_BUILD_DIR"] = str(self.folder / "build")
        program = self.folder / "build" / "bin" / "helxd"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)

    def test_no_program(self):
        os.environ["HELX_BUILD_DIR"] = str(self.folder)
        self.refuses(self.ensure, "helxd", "HELX_SERVER")

    def test_a_server_that_fails_is_explained_by_its_log(self):
        self.install('echo "cannot do it: $*"; exit 3\n')
        data = self.folder / "home/.local/share/helx"
        self.refuses(
            self.ensure,
            "exited with code 3",
            f"cannot do it: --listen unix:{self.folder}/run/helxd.sock --data-dir {data} "
            "--idle-exit-seconds 300",
        )
        self.assertEqual(data.stat().st_mode & 0o777, 0o700)

    def test_a_store_in_use_is_tried_again(self):
        self.install(f'echo x >> {self.folder}/starts; echo "in use by another helxd"; exit 1\n')
        with mock.patch.object(_embedded, "_START_LIMIT_S", 1.0):
            self.refuses(self.ensure, "in use by another helxd")
        self.assertGreaterEqual(len((self.folder / "starts").read_text().split()), 2)

    def test_a_server_that_answers_is_used(self):
        (self.folder / "run").mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "run" / "helxd.sock"))
            listener.listen()
            self.ensure()

    def test_an_unreachable_server_fails_fast(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{unused.getsockname()[1]}"
            self.refuses(lambda: Connection(address), address, "the argument server")
        self.refuses(lambda: Connection(f"unix:{self.folder}/absent.sock"), "absent.sock")


if __name__ == "__main__":
    unittest.main()
