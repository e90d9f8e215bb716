"""Uploads and downloads of content-addressed bytes."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Iterator

import grpc

from helx import _files
from helx._connection import Backoff, Connection, is_transient
from helx.errors import EvidenceError, InvalidInput, NotFound
from helx.v1 import blobs_pb2, blobs_pb2_grpc, types_pb2

_PIECE_BYTES = 256 << 10
_DIGESTS_PER_CALL = 10_000


@dataclass(frozen=True)
class Digest:
    """Hexadecimal SHA-256 and size in bytes."""

    hash: str
    size: int

    @classmethod
    def of_bytes(cls, content: bytes) -> Digest:
        return cls(hashlib.sha256(content).hexdigest(), len(content))

    @classmethod
    def of_proto(cls, digest: types_pb2.Digest) -> Digest:
        return cls(digest.hash, digest.size_bytes)

    def to_proto(self) -> types_pb2.Digest:
        return types_pb2.Digest(hash=self.hash, size_bytes=self.size)

    def __str__(self) -> str:
        return f"{self.hash}/{self.size}"


@dataclass(frozen=True)
class Blob:
    """Bytes to upload: held in memory, or a file that is read as it is sent."""

    digest: Digest
    content: bytes | None = None
    path: Path | None = None

    @classmethod
    def of_bytes(cls, content: bytes) -> Blob:
        return cls(Digest.of_bytes(content), content=content)

    @classmethod
    def of_file(cls, path: Path, limit: int, what: str) -> Blob:
        """Reads a regular file of at most `limit` bytes once, for its digest."""
        sha256, size = hashlib.sha256(), 0
        with _files.open_regular(path, limit, what) as file:
            while piece := file.read(1 << 20):
                sha256.update(piece)
                size += len(piece)
        return cls(Digest(sha256.hexdigest(), size), path=path)

    def pieces(self, offset: int) -> Iterator[tuple[int, bytes]]:
        """(offset, bytes) from `offset` to the end."""
        if self.path is None:
            content = self.content or b""
            for begin in range(offset, len(content), _PIECE_BYTES):
                yield begin, content[begin : begin + _PIECE_BYTES]
            return
        with _files.open_regular(self.path, self.digest.size, "what was read before") as file:
            file.seek(offset)
            while offset < self.digest.size:
                piece = file.read(min(_PIECE_BYTES, self.digest.size - offset))
                if not piece:
                    raise InvalidInput(
                        f"{self.path} became shorter while it was uploaded; try again",
                        "unreadable_file",
                    )
                yield offset, piece
                offset += len(piece)


class BlobClient:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = blobs_pb2_grpc.BlobsStub(connection.channel)

    def upload_missing(self, blobs: Iterable[Blob]) -> None:
        """Uploads those blobs that the server does not hold."""
        by_digest = {blob.digest: blob for blob in blobs}
        for digest in self._find_missing(list(by_digest)):
            self._upload(by_digest[digest])

    def _find_missing(self, digests: list[Digest]) -> list[Digest]:
        missing = []
        for begin in range(0, len(digests), _DIGESTS_PER_CALL):
            part = digests[begin : begin + _DIGESTS_PER_CALL]
            request = blobs_pb2.FindMissingRequest(digests=[digest.to_proto() for digest in part])
            response = self._connection.call(self._stub.FindMissing, request)
            missing += [Digest.of_proto(digest) for digest in response.missing]
        return [digest for digest in missing if digest in set(digests)]

    def _upload(self, blob: Blob) -> None:
        """Goes on where it was after a broken connection. The server refuses bytes that do not hash
        to the digest.
        """
        if blob.digest.size == 0:
            return  # the empty blob always exists
        name = f"-/uploads/{uuid.uuid4().hex}/blobs/{blob.digest}"
        backoff = Backoff()
        offset = 0
        while True:
            # gRPC swallows what the iterator of requests raises, so it is kept here.
            failures: list[Exception] = []
            try:
                response = self._stub.Write(self._requests(name, blob, offset, failures))
            except grpc.RpcError as error:
                if failures:
                    raise failures[0] from None
                if not is_transient(error) or not backoff.pause():
                    raise self._connection.error_of(error) from None
                self._connection.revive()
                offset = self._committed(name, blob)
                if offset == blob.digest.size:
                    return
                continue
            if response.committed_size != blob.digest.size:
                raise EvidenceError(
                    f"the server kept {response.committed_size} of "
                    f"{blob.digest.size} bytes of blob {blob.digest.hash}",
                    "data_loss",
                )
            return

    @staticmethod
    def _requests(
        name: str, blob: Blob, offset: int, failures: list[Exception]
    ) -> Iterator[blobs_pb2.WriteRequest]:
        try:
            for begin, piece in blob.pieces(offset):
                yield blobs_pb2.WriteRequest(
                    resource_name=name,
                    write_offset=begin,
                    data=piece,
                    finish_write=begin + len(piece) == blob.digest.size,
                )
        except Exception as error:
            failures.append(error)
            raise

    def _committed(self, name: str, blob: Blob) -> int:
        """How much of an upload has arrived."""
        request = blobs_pb2.QueryWriteStatusRequest(resource_name=name)
        try:
            answer = self._connection.call(self._stub.QueryWriteStatus, request)
        except NotFound:
            return 0
        if answer.complete:
            return blob.digest.size
        return answer.committed_size if 0 <= answer.committed_size < blob.digest.size else 0

    def download(self, digest: Digest, sink: Callable[[bytes], object]) -> None:
        """Streams a blob into `sink`; goes on where it was after a broken connection.

        EvidenceError when the bytes are not the blob's: what `sink` got is then worthless.
        """
        sha256, offset, backoff = hashlib.sha256(), 0, Backoff()
        while offset < digest.size:
            stream = self._stub.Read(
                blobs_pb2.ReadRequest(resource_name=f"-/blobs/{digest}", read_offset=offset)
            )
            try:
                for response in stream:
                    offset += len(response.data)
                    if offset > digest.size:
                        stream.cancel()
                        raise _damaged(digest, f"came with more than its {digest.size} bytes")
                    sha256.update(response.data)
                    sink(response.data)
                    backoff.reset()
            except grpc.RpcError as error:
                if not is_transient(error) or not backoff.pause():
                    raise self._connection.error_of(error) from None
                self._connection.revive()
                continue
            if offset < digest.size:
                raise _damaged(digest, f"ended after {offset} of {digest.size} bytes")
        if sha256.hexdigest() != digest.hash:
            raise _damaged(digest, f"came with bytes whose SHA-256 is {sha256.hexdigest()}")


def _damaged(digest: Digest, what: str) -> EvidenceError:
    return EvidenceError(
        f"blob {digest.hash} {what}; the server's copy is damaged: run the job again "
        "with no_cache=True",
        "data_loss",
    )
