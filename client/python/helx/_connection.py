"""A connection to one helxd: channel, deadlines, and retries while a server restarts."""

from __future__ import annotations

import queue
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Callable

import grpc
from google.protobuf.message import DecodeError

from helx import _embedded, _endpoint
from helx.errors import EvidenceError, HelxError, InvalidInput, NotFound, ServerUnreachable
from helx.v1 import rpc_status_pb2

CALL_LIMIT_S = 30.0
_CONNECT_LIMIT_S = 5.0
_RETRY_WINDOW_S = 15.0
_LONGEST_PAUSE_S = 0.5
_OPTIONS = (
    ("grpc.max_receive_message_length", 16 << 20),  # a page of jobs with their histories
    ("grpc.max_send_message_length", 4 << 20),  # documents and pieces of blobs
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)

_KINDS: dict[grpc.StatusCode, type[HelxError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidInput,
    grpc.StatusCode.OUT_OF_RANGE: InvalidInput,
    grpc.StatusCode.ALREADY_EXISTS: InvalidInput,
    grpc.StatusCode.FAILED_PRECONDITION: InvalidInput,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.DATA_LOSS: EvidenceError,
}


def _reason(error: grpc.RpcError) -> str:
    """The stable code in a refusal's details, or nothing."""
    for name, value in error.trailing_metadata() or ():
        if name != "grpc-status-details-bin":
            continue
        details, info = rpc_status_pb2.RpcStatus(), rpc_status_pb2.ErrorInfo()
        try:
            details.ParseFromString(value)
            for detail in details.details:
                if detail.type_url == "type.googleapis.com/google.rpc.ErrorInfo":
                    info.ParseFromString(detail.value)
        except DecodeError:
            continue
        if info.domain == "helx":
            return str(info.reason)
    return ""


class Backoff:
    """Pauses between attempts: 50 ms doubling to 2 s, until failures have followed one another for
    the retry window.
    """

    def __init__(self) -> None:
        self._pause = 0.0
        self._deadline = 0.0
        self._last_failure: float | None = None

    def reset(self) -> None:
        """The server answered: the next failure is the first of its row."""
        self._last_failure = None

    def pause(self) -> bool:
        """Sleeps after a failure; False when the window has passed."""
        now = time.monotonic()
        # An attempt that lasted longer than the window (a quiet stream) was an answer too.
        if self._last_failure is None or now - self._last_failure > _RETRY_WINDOW_S:
            self._pause = 0.05
            self._deadline = now + _RETRY_WINDOW_S
        self._last_failure = now
        if now + self._pause > self._deadline:
            return False
        time.sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE_S)
        return True


def is_transient(error: grpc.RpcError) -> bool:
    return error.code() == grpc.StatusCode.UNAVAILABLE


def _channel(endpoint: _endpoint.Endpoint) -> grpc.Channel:
    """Mutual TLS where the endpoint has certificates, plain text on this host otherwise."""
    if endpoint.tls is None:
        return grpc.insecure_channel(endpoint.address, options=_OPTIONS)
    contents: list[bytes] = []
    for path in (endpoint.tls.ca, endpoint.tls.key, endpoint.tls.certificate):
        try:
            contents.append(Path(path).read_bytes())
        except OSError as error:
            raise InvalidInput(f"cannot read {path}: {error.strerror}", "tls_files") from None
    return grpc.secure_channel(
        endpoint.address, grpc.ssl_channel_credentials(*contents), options=_OPTIONS
    )


class Connection:
    """An open channel, a context manager. ServerUnreachable when none comes about within 5 s."""

    def __init__(self, server: str | None) -> None:
        self.endpoint = _endpoint.resolve(server)
        _endpoint.check_transport(self.endpoint)
        self.revive()
        self.channel = _channel(self.endpoint)
        try:
            self._connect()
        except BaseException:
            self.channel.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.channel.close()

    def revive(self) -> None:
        """Brings an embedded server back when it has ended; nothing for others."""
        if self.endpoint.embedded:
            _embedded.ensure_server(Path(self.endpoint.address.removeprefix("unix:")))

    def call(self, method: Callable[..., Any], request: Any, limit_s: float = CALL_LIMIT_S) -> Any:
        """Makes an idempotent unary call and repeats it while the server is away."""
        backoff = Backoff()
        while True:
            try:
                return method(request, timeout=limit_s)
            except grpc.RpcError as error:
                if not is_transient(error) or not backoff.pause():
                    raise self.error_of(error) from None
                self.revive()

    def error_of(self, error: grpc.RpcError) -> HelxError:
        """A failed call as one of ours; its code is the refusal's own, else gRPC's in lower case."""
        code: grpc.StatusCode = error.code()
        said = error.details() or f"the server gave no reason (gRPC code {code.name}); see its log"
        if code == grpc.StatusCode.UNAVAILABLE:
            return ServerUnreachable(
                f"the server at {self._who()} went away: {said}; see its log, then " "try again",
                "unavailable",
            )
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            return ServerUnreachable(
                f"the server at {self._who()} did not answer in time; see its "
                "log, then try again",
                "deadline_exceeded",
            )
        return _KINDS.get(code, HelxError)(said, _reason(error) or code.name.lower())

    def _who(self) -> str:
        return f"{self.endpoint.address} (from {self.endpoint.source})"

    def _connect(self) -> None:
        """Waits until the channel is connected or has failed once."""
        states: queue.SimpleQueue[grpc.ChannelConnectivity] = queue.SimpleQueue()
        deadline = time.monotonic() + _CONNECT_LIMIT_S
        self.channel.subscribe(states.put, try_to_connect=True)
        try:
            while True:
                try:
                    state = states.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    raise ServerUnreachable(
                        f"no connection to {self._who()} within {_CONNECT_LIMIT_S:g} s; check the "
                        "address and the network",
                        "unavailable",
                    ) from None
                if state == grpc.ChannelConnectivity.READY:
                    return
                if state in (
                    grpc.ChannelConnectivity.TRANSIENT_FAILURE,
                    grpc.ChannelConnectivity.SHUTDOWN,
                ):
                    raise ServerUnreachable(
                        f"no server answers at {self._who()}; start one with helxd --listen, or "
                        "correct the address",
                        "unavailable",
                    )
        finally:
            self.channel.unsubscribe(states.put)
