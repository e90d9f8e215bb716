"""Starts helxd on a UNIX socket of the user's when none answers there, the way helxctl does
(client/cpp/embedded_server.h).

Both use the same socket, lock file, store and arguments, so a program and a terminal share one
server.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from helx import _endpoint, _locate
from helx.errors import ServerUnreachable

_IDLE_EXIT_SECONDS = 300
_START_LIMIT_S = 15.0
_POLL_S = 0.01
_ATTEMPT_PAUSE_S = 0.2
_LOG_LINES = 10
_STORE_IN_USE = "in use by another helxd"  # helxd's words when its data folder is locked


def _unreachable(message: str) -> ServerUnreachable:
    return ServerUnreachable(message, "embedded_server")


def ensure_server(socket_path: Path) -> None:
    """Returns once a server accepts connections on the socket. Safe against others that do the same
    at the same time.

    The server outlives this process and ends by itself when idle; its log is helxd.log beside the
    socket.
    """
    folder = socket_path.parent
    _make_private(folder)
    if _answers(socket_path):
        return
    program = _locate.program("helxd")
    if program is None:
        raise _unreachable(
            "no server is configured and none can be started: the program helxd is "
            "neither in the build folder nor in PATH; install it, or name a server "
            "with HELX_SERVER"
        )
    with _lock(folder / "helxd.lock"):
        if _answers(socket_path):
            return
        data = _endpoint.data_folder()
        _make_data_folder(data)
        command = [
            str(program),
            "--listen",
            f"unix:{socket_path}",
            "--data-dir",
            str(data),
            "--idle-exit-seconds",
            str(_IDLE_EXIT_SECONDS),
        ]
        deadline = time.monotonic() + _START_LIMIT_S
        while True:
            failure = _start(command, socket_path, folder / "helxd.log", deadline)
            if failure is None:
                return
            # An older server that is just stopping may still hold the store.
            if _STORE_IN_USE not in failure or time.monotonic() + _ATTEMPT_PAUSE_S > deadline:
                raise _unreachable(failure)
            time.sleep(_ATTEMPT_PAUSE_S)


def _make_private(folder: Path) -> None:
    """The socket's folder is its credential: the user's own, mode 0700, not a link."""
    try:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        info = os.lstat(folder)
    except OSError as error:
        raise _unreachable(
            f"cannot make the folder {folder}: {error.strerror}; set XDG_RUNTIME_DIR "
            "to a folder of yours that exists"
        ) from None
    if not stat.S_ISDIR(info.st_mode):
        raise _unreachable(f"{folder} is not a folder (a symbolic link is refused); remove it")
    if info.st_uid != os.geteuid():
        raise _unreachable(
            f"{folder} belongs to user {info.st_uid}, not to {os.geteuid()}; set "
            "XDG_RUNTIME_DIR to a folder of yours"
        )
    if info.st_mode & 0o777 != 0o700:
        raise _unreachable(
            f"{folder} has mode {info.st_mode & 0o777:04o}, which lets others in; "
            f"allowed is 0700: chmod 700 {folder}"
        )


def _make_data_folder(folder: Path) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
    except OSError as error:
        raise _unreachable(
            f"cannot make the folder of the store, {folder}: {error.strerror}; set "
            "XDG_DATA_HOME to a folder that you can write"
        ) from None


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
        return True


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise _unreachable(f"cannot open the lock file {path}: {error.strerror}") from None
    try:
        # Another process may be starting the server for as long as its own limit says.
        deadline = time.monotonic() + 2 * _START_LIMIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise _unreachable(
                        f"another process holds {path} and its server did not come "
                        "up; end that process, then try again"
                    ) from None
                time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _start(command: list[str], socket_path: Path, log: Path, deadline: float) -> str | None:
    """One start in a session of its own, so that the terminal's signals do not reach it. None, or
    why it failed.
    """
    socket_path.unlink(
        missing_ok=True
    )  # of a server that was killed; the lock makes this ours to do
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        return f"cannot start {command[0]}: {error.strerror}"
    finally:
        os.close(descriptor)
    while not _answers(socket_path):
        code = process.poll()
        if code is not None:
            ending = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
            return (
                f"the embedded server {command[0]} {ending} while it started; the end of its log "
                f"{log}:\n{_last_lines(log)}"
            )
        if time.monotonic() > deadline:
            process.terminate()
            process.wait()
            return (
                f"the embedded server {command[0]} did not answer on {socket_path} within "
                f"{_START_LIMIT_S:g} s; the end of its log {log}:\n{_last_lines(log)}"
            )
        time.sleep(_POLL_S)
    # Collects the process when it ends, however long this one lives.
    threading.Thread(target=process.wait, name="helxd", daemon=True).start()
    return None


def _last_lines(log: Path) -> str:
    try:
        lines = log.read_text("utf-8", "replace").splitlines()[-_LOG_LINES:]
    except OSError as error:
        return f"(unreadable: {error.strerror})"
    return "\n".join(lines) or "(the log is empty)"
