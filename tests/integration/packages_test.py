#!/usr/bin/env python3
"""The Debian packages, built, installed, used, upgraded, removed and purged: packages_test.py SOURCE BUILD

All of it happens in an overlay of this host's file system, which is thrown away; that needs root and overlayfs, and skips
without (fails with HELX_REQUIRE_PACKAGES=1).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = BUILD = None
NAMES = ("helx-client", "helx-server", "helx-worker")
# The exposure that `systemd-analyze security` computes, 0 the best; docs/operators-guide.md has the figures.
MOST_EXPOSED = {"helxd.service": 1.5, "helx-worker.service": 4.0}


def run(*command, check=True, **named):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **named)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


class Overlay:
    """This host's files, with changes that end with the process: a mount namespace of this process's own."""

    def __init__(self, debs):
        self.debs = debs
        self.folder = Path(tempfile.mkdtemp(prefix="helx-packages-"))
        run("mount", "-t", "tmpfs", "tmpfs", self.folder)
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir()
        self.root = self.folder / "root"
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir=/,upperdir={self.folder}/upper,workdir={self.folder}/work", self.root)

    def close(self):
        run("umount", self.root)
        run("umount", self.folder)
        self.folder.rmdir()

    def command(self, *words):
        """As on a host of its own: its root, its processes, which end with the first."""
        enter = ("cd $1; mount -t proc proc proc; mount --rbind /dev dev; mount -t tmpfs run run; mount -t tmpfs tmp tmp; "
                 "chmod 1777 tmp; mount --bind $2 mnt; mount --bind $3 media; pivot_root . .; umount -l .; cd /; shift 3; "
                 '"$@"')
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", enter, "enter", self.root, self.debs,
                SOURCE, *words]

    def run(self, *words, check=True):
        return run(*self.command(*words), check=check,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"})

    def traces(self):
        """Paths of HELX below the places where packages put files."""
        found = []
        for place in ("usr/bin", "usr/lib", "usr/share", "etc", "var/lib", "var/cache"):
            for folder, folders, files in os.walk(self.root / place):
                folders[:] = [each for each in folders if each not in ("dpkg", "node_modules", "python3")]
                found += [os.path.join(folder, each) for each in (*folders, *files) if each.startswith("helx")]
        return sorted(path.removeprefix(str(self.root)) for path in found)


# As the units start them, from the installed files: a daemon, a worker, and an experiment of the corpus.
USE = """
set -e
install -d -m 0700 -o helx /run/helxd /var/lib/helxd
install -d -o helx /var/lib/helx-worker /var/cache/helx-worker
HELXD_OPTIONS=$(sed -n 's/^HELXD_OPTIONS=//p' /etc/helx/helxd.env)
HELX_WORKER_OPTIONS=$(sed -n 's/^HELX_WORKER_OPTIONS=//p' /etc/helx/helx-worker.env)
runuser -u helx -- /usr/bin/helxd --data-dir /var/lib/helxd --workers 0 $HELXD_OPTIONS &
for i in $(seq 100); do [ -S /run/helxd/helxd.sock ] && break; sleep 0.1; done
runuser -u helx -- /usr/bin/helx-worker --state-dir /var/lib/helx-worker --cache-dir /var/cache/helx-worker $HELX_WORKER_OPTIONS &
cd /tmp
cp /media/corpus/models/digits/digits.tflite .
printf 'name: digits\\nmodel: digits.tflite\\n' >experiment.yaml
helxctl --server unix:/run/helxd/helxd.sock run -c experiment.yaml
helxctl results verify results/digits
man -w helxctl helxd helx-worker

# With certificates, as the guide makes them.
export HELX_CERTIFICATE_GROUP=helx
certificates=/usr/share/helx-server/certificates
$certificates ca /etc/helx/pki
$certificates server /etc/helx/pki localhost 127.0.0.1
$certificates worker /etc/helx/pki rack1
$certificates client /etc/helx/pki lab operator olga
runuser -u helx -- cat /etc/helx/pki/rack1.key >/dev/null
! runuser -u helx -- cat /etc/helx/pki/ca.key 2>/dev/null
! runuser -u helx -- cat /etc/helx/pki/olga.key 2>/dev/null
install -d -o helx /tmp/tls
runuser -u helx -- /usr/bin/helxd --data-dir /tmp/tls --workers 0 --listen 127.0.0.1:7411 --tls-cert /etc/helx/pki/server.crt \
  --tls-key /etc/helx/pki/server.key --tls-client-ca /etc/helx/pki/ca.crt &
for i in $(seq 100); do [ -S /tmp/tls/run/helxd.sock ] && break; sleep 0.1; done
sleep 1
helxctl --server localhost:7411 --tls-ca /etc/helx/pki/ca.crt --tls-cert /etc/helx/pki/olga.crt --tls-key /etc/helx/pki/olga.key list
rm -r /etc/helx/pki
echo everything worked
"""


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="helx-cpack-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder)
        cls.debs = {name: next(cls.folder.glob(f"{name}_*.deb")) for name in NAMES}
        cls.overlay = Overlay(cls.folder)
        cls.addClassCleanup(cls.overlay.close)
        # A host may have HELX installed already.
        cls.before = cls.overlay.traces()

    def test_dependencies_are_what_the_programs_load(self):
        for name, library in (("helx-client", "libyaml-cpp0.7"), ("helx-server", "librocksdb"),
                              ("helx-worker", "libseccomp2")):
            depends = run("dpkg-deb", "-f", self.debs[name], "Depends").stdout
            self.assertIn(library, depends, name)
        self.assertRegex(run("dpkg-deb", "-f", self.debs["helx-worker"], "Depends").stdout,
                         "bubblewrap.*gcc-arm-none-eabi.*qemu-system-arm")

    def test_install_use_upgrade_remove_purge(self):
        overlay = self.overlay
        installed = [f"/mnt/{deb.name}" for deb in self.debs.values()]
        overlay.run("dpkg", "-i", *installed)
        overlay.run("getent", "passwd", "helx")
        used = overlay.run("bash", "-c", USE)
        self.assertIn("verified", used.stdout, used.stderr)
        self.assertIn("everything worked", used.stdout, used.stderr)
        # What the operator wrote outlives an upgrade.
        conffile = overlay.root / "etc/helx/helxd.env"
        conffile.write_text("HELXD_OPTIONS=--listen unix:/run/helxd/other.sock\n")
        overlay.run("dpkg", "-i", *installed)
        self.assertIn("other.sock", conffile.read_text())
        overlay.run("dpkg", "-r", *NAMES)
        self.assertTrue(conffile.exists())
        self.assertTrue((overlay.root / "var/lib/helxd/db").is_dir(), "results outlive a removal")
        self.assertFalse((overlay.root / "usr/bin/helxd").exists())
        overlay.run("dpkg", "-P", *NAMES)
        self.assertEqual(overlay.traces(), self.before)
        self.assertNotEqual(overlay.run("getent", "passwd", "helx", check=False).returncode, 0)

    def test_units_are_sound_and_hardened(self):
        for unit, most in MOST_EXPOSED.items():
            path = SOURCE / "deploy" / "systemd" / unit
            done = run("systemd-analyze", "security", "--offline=true", path)
            exposure = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout).group(1))
            print(f"{unit}: exposure {exposure}")
            self.assertLessEqual(exposure, most, done.stdout)
            # Words that systemd does not know would be passed over in silence.
            verified = run("systemd-analyze", "verify", "--man=no", path, check=False)
            self.assertNotRegex(verified.stderr, "Unknown|Invalid|Failed to parse")


def reason_to_skip():
    if os.geteuid() != 0:
        return "mounting an overlay needs root"
    for program in ("dpkg-shlibdeps", "bwrap", "man", "systemd-analyze"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    probe = run("unshare", "-m", "bash", "-c", "d=$(mktemp -d) && mount -t tmpfs t $d && mkdir $d/u $d/w $d/r && "
                "mount -t overlay o -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/r", check=False)
    return "" if probe.returncode == 0 else f"no overlay can be mounted here: {probe.stderr.strip()}"


if __name__ == "__main__":
    why = reason_to_skip()
    if why:
        print(why)
        sys.exit(1 if os.environ.get("HELX_REQUIRE_PACKAGES") == "1" else 77)
    if "HELX_OWN_MOUNTS" not in os.environ:
        os.execvpe("unshare", ["unshare", "-m", sys.executable, *sys.argv], {**os.environ, "HELX_OWN_MOUNTS": "1"})
    SOURCE, BUILD = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
    unittest.main(verbosity=2)
