"""Which server to talk to: the caller's argument > HELX_SERVER > client.yaml > an embedded one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from helx import _check, _core
from helx.errors import InvalidInput, NotFound

_SOCKET_PATH_BYTES = 107  # sockaddr_un
_CONFIG_BYTES = 64 << 10
_CONFIG_KEYS = ("server", "tls_ca", "tls_cert", "tls_key")


@dataclass(frozen=True)
class Endpoint:
    """`address` as gRPC takes it; `source` says where it was written; an embedded server is started
    when none answers.
    """

    address: str
    source: str
    embedded: bool = False
    tls: TlsFiles | None = None


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of mutual TLS: the server's authority, this program's certificate and its key."""

    ca: str
    certificate: str
    key: str


def _absolute(variable: str) -> str | None:
    """An environment variable's folder; relative values are ignored, as the XDG specification
    asks.
    """
    value = os.environ.get(variable, "")
    return value if value.startswith("/") else None


def config_folder() -> Path | None:
    base = _absolute("XDG_CONFIG_HOME")
    if base:
        return Path(base) / "helx"
    home = _absolute("HOME")
    return Path(home) / ".config" / "helx" if home else None


def data_folder() -> Path:
    """Where the embedded server's store is."""
    base = _absolute("XDG_DATA_HOME")
    if base:
        return Path(base) / "helx"
    home = _absolute("HOME")
    if not home:
        raise InvalidInput(
            "neither XDG_DATA_HOME nor HOME names an absolute folder, so there is no "
            "place for the store; set one of them, or name a server",
            "no_data_folder",
        )
    return Path(home) / ".local" / "share" / "helx"


def runtime_folder() -> Path:
    """Where the embedded server's socket is."""
    base = _absolute("XDG_RUNTIME_DIR")
    if base:
        return Path(base) / "helx"
    return Path(_absolute("TMPDIR") or "/tmp") / f"helx-{os.geteuid()}"


def check_address(address: str, source: str) -> None:
    """InvalidInput (server_address) unless it is "unix:/absolute/path" or "host:port"."""

    def refuse(what: str) -> InvalidInput:
        return InvalidInput(
            f"server address {address!r} from {source}: {what}; allowed are "
            "unix:/absolute/path and host:port",
            "server_address",
        )

    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        if not path.startswith("/"):
            raise refuse("the socket's path must be absolute")
        if "\0" in path or len(os.fsencode(path)) > _SOCKET_PATH_BYTES:
            raise refuse(
                f"the system allows {_SOCKET_PATH_BYTES} bytes for a socket's path; use a "
                "folder with a shorter name"
            )
        return
    if not all("!" <= c <= "~" for c in address):
        raise refuse("only printable ASCII without spaces can be a host name")
    host, colon, port = address.rpartition(":")
    if not colon or not host:
        raise refuse("no port is given")
    if not port.isdecimal() or not 1 <= int(port[:6]) <= 65535:
        raise refuse("the port must be a number from 1 to 65535")
    if "/" in address:
        raise refuse("a host name has no '/'")


def _configured(path: Path) -> dict[str, str]:
    """What client.yaml sets."""
    try:
        with open(path, "rb") as file:
            text = file.read(_CONFIG_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror}; make it readable, or name a " "server",
            "unreadable_file",
        ) from None
    if len(text) > _CONFIG_BYTES:
        raise InvalidInput(f"{path} is larger than {_CONFIG_BYTES} bytes", "file_too_large")
    value = _core.document_json(text, str(path)) if text.strip() else None
    if value is None:
        return {}
    if not isinstance(value, dict) or set(value) - set(_CONFIG_KEYS):
        raise InvalidInput(
            f"{path}: allowed is one mapping with the keys {', '.join(_CONFIG_KEYS)}", "unknown_key"
        )
    for key, entry in value.items():
        if entry is not None and not isinstance(entry, str):
            raise InvalidInput(f"{path}: {key} is {entry!r}; allowed is text", "wrong_type")
    return {key: entry for key, entry in value.items() if entry is not None}


def _tls(address: str, configured: dict[str, str]) -> TlsFiles | None:
    """The TLS files for an address that is not a UNIX socket: HELX_TLS_* > client.yaml."""
    if address.startswith("unix:"):
        return None
    chosen = [
        os.environ.get(f"HELX_{key.upper()}") or configured.get(key, "") for key in _CONFIG_KEYS[1:]
    ]
    if all(chosen):
        return TlsFiles(*chosen)
    if any(chosen):
        raise InvalidInput(
            "TLS needs three files: set HELX_TLS_CA, HELX_TLS_CERT and HELX_TLS_KEY", "tls_files"
        )
    return None


def check_transport(endpoint: Endpoint) -> None:
    """InvalidInput (tls_files) for another host without certificates."""
    if endpoint.tls is not None or endpoint.address.startswith("unix:"):
        return
    host = endpoint.address.rpartition(":")[0]
    loopback = re.fullmatch(r"127\.[0-9.]*", host) is not None
    if loopback or host in ("localhost", "[::1]"):
        return
    raise InvalidInput(
        f"the server {endpoint.address} is on another host, where helxd speaks TLS only, and no certificate "
        "is configured; set HELX_TLS_CA, HELX_TLS_CERT and HELX_TLS_KEY",
        "tls_files",
    )


def resolve(server: str | None) -> Endpoint:
    """Decides the server. `server` is the caller's choice, or None."""
    endpoint: Endpoint | None
    if server is not None:
        _check.text(server, "server")
    if server:
        endpoint = Endpoint(server, "the argument server")
    elif os.environ.get("HELX_SERVER"):
        endpoint = Endpoint(os.environ["HELX_SERVER"], "HELX_SERVER")
    else:
        endpoint = None
    folder = config_folder()
    configured: dict[str, str] = {}
    if folder is not None:
        path = folder / "client.yaml"
        try:
            configured = _configured(path)
        except InvalidInput:
            if endpoint is None:  # what the caller or the environment says does not need the file
                raise
        if endpoint is None and configured.get("server"):
            endpoint = Endpoint(configured["server"], str(path))
    if endpoint is None:
        endpoint = Endpoint(f"unix:{runtime_folder() / 'helxd.sock'}", "embedded", embedded=True)
    check_address(endpoint.address, endpoint.source)
    return replace(endpoint, tls=_tls(endpoint.address, configured))
