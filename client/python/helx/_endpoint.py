"""Which server to talk to: the caller's argument > HELX_SERVER > client.yaml > an embedded one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from helx import _core
from helx.errors import InvalidInput, NotFound

_SOCKET_PATH_BYTES = 107  # sockaddr_un
_CONFIG_BYTES = 64 << 10


@dataclass(frozen=True)
class Endpoint:
    """`address` as gRPC takes it; `source` says where it was written; an embedded server is started
    when none answers.
    """

    address: str
    source: str
    embedded: bool = False


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


def _configured() -> Endpoint | None:
    """The server named in client.yaml, if any."""
    folder = config_folder()
    if folder is None:
        return None
    path = folder / "client.yaml"
    try:
        with open(path, "rb") as file:
            text = file.read(_CONFIG_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror}; make it readable, or name a " "server",
            "unreadable_file",
        ) from None
    if len(text) > _CONFIG_BYTES:
        raise InvalidInput(f"{path} is larger than {_CONFIG_BYTES} bytes", "file_too_large")
    value = _core.document_json(text, str(path)) if text.strip() else None
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) - {"server"}:
        raise InvalidInput(f"{path}: allowed is one mapping with the key server", "unknown_key")
    server = value.get("server")
    if server is None:
        return None
    if not isinstance(server, str):
        raise InvalidInput(f"{path}: server is {server!r}; allowed is text", "wrong_type")
    return Endpoint(server, str(path))


def resolve(server: str | None) -> Endpoint:
    """Decides the server. `server` is the caller's choice, or None."""
    endpoint: Endpoint | None
    if server:
        endpoint = Endpoint(server, "the argument server")
    elif os.environ.get("HELX_SERVER"):
        endpoint = Endpoint(os.environ["HELX_SERVER"], "HELX_SERVER")
    else:
        endpoint = _configured()
    if endpoint is None:
        endpoint = Endpoint(f"unix:{runtime_folder() / 'helxd.sock'}", "embedded", embedded=True)
    check_address(endpoint.address, endpoint.source)
    return endpoint
