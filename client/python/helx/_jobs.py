"""Jobs and their bundles on a server: freeze, submit, wait, fetch."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import grpc

from helx import _core, _files
from helx._blobs import Blob, BlobClient, Digest
from helx._connection import Backoff, Connection, is_transient
from helx.errors import EvidenceError, HelxError, InvalidInput, JobError, RequestRefused, Violation
from helx.experiment import EstimateRequest
from helx.v1 import (
    experiments_pb2,
    experiments_pb2_grpc,
    jobs_pb2,
    jobs_pb2_grpc,
    results_pb2,
    results_pb2_grpc,
    types_pb2,
)

MODEL_BYTES = 64 << 20
_FREEZE_LIMIT_S = 300.0  # a freeze waits for a worker


@dataclass(frozen=True)
class PreparedJob:
    """One job of a document, ready to be submitted."""

    experiment: str
    run: str
    model_stem: str
    bundle_path: str
    document: bytes  # canonical helx.document/v1


@dataclass(frozen=True)
class Prepared:
    """A document's jobs and every blob that they name."""

    jobs: tuple[PreparedJob, ...]
    blobs: tuple[Blob, ...]


@dataclass(frozen=True)
class SubmitOptions:
    no_cache: bool = False
    queue_limit_s: float = 0
    run_limit_s: float = 0

    def apply(self, request: jobs_pb2.SubmitJobRequest) -> None:
        request.no_cache = self.no_cache
        request.queue_limit_ms = round(self.queue_limit_s * 1000)
        request.run_limit_ms = round(self.run_limit_s * 1000)


def prepare(request: EstimateRequest) -> Prepared:
    """Checks a document and reads the files it names. Needs no server."""
    experiment = request.parse()
    description = experiment.describe()
    blobs: dict[Digest, Blob] = {}
    models: dict[str, Digest] = {}
    jobs = []
    for index, job in enumerate(description["jobs"]):
        path = job["model_path"]
        if path not in models:
            blob = Blob.of_file(Path(request.base_dir) / path, MODEL_BYTES, "a model")
            models[path] = blob.digest
            blobs[blob.digest] = blob
        for tensor in job["tensors"]:
            digest = Digest(tensor["sha256"], tensor["size"])
            if digest not in blobs:
                blobs[digest] = Blob(digest, content=experiment.tensor(digest.hash))
        model = models[path]
        document = experiment.job_document(index, model.hash, model.size)
        jobs.append(
            PreparedJob(
                description["name"], job["run"], job["model_stem"], job["bundle_path"], document
            )
        )
    return Prepared(tuple(jobs), tuple(blobs.values()))


class JobClient:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._blobs = BlobClient(connection)
        self._jobs = jobs_pb2_grpc.JobsStub(connection.channel)
        self._experiments = experiments_pb2_grpc.ExperimentsStub(connection.channel)
        self._results = results_pb2_grpc.ResultsStub(connection.channel)

    def upload(self, blobs: tuple[Blob, ...]) -> None:
        self._blobs.upload_missing(blobs)

    def freeze(self, document: bytes, blobs: tuple[Blob, ...]) -> experiments_pb2.FreezeResponse:
        """The frozen request; RequestRefused with the violations."""
        request = experiments_pb2.FreezeRequest(document=document)
        response: experiments_pb2.FreezeResponse
        self.upload(blobs)
        try:
            response = self._connection.call(self._experiments.Freeze, request, _FREEZE_LIMIT_S)
        except InvalidInput as error:
            if error.code != "failed_precondition":
                raise
            self.upload(blobs)  # blobs that vanished since
            response = self._connection.call(self._experiments.Freeze, request, _FREEZE_LIMIT_S)
        if response.HasField("refusal"):
            raise _refusal(response.refusal)
        return response

    def submit(self, request: jobs_pb2.SubmitJobRequest, blobs: tuple[Blob, ...]) -> jobs_pb2.Job:
        """Submits once, however often the connection breaks on the way."""
        request.request_id = uuid.uuid4().hex
        job: jobs_pb2.Job
        try:
            job = self._connection.call(self._jobs.Submit, request)
        except InvalidInput as error:
            if error.code != "failed_precondition":
                raise
            self.upload(blobs)  # blobs that vanished since
            job = self._connection.call(self._jobs.Submit, request)
        return job

    def wait(
        self, job: jobs_pb2.Job, on_event: Callable[[jobs_pb2.Job], None] | None = None
    ) -> jobs_pb2.Job:
        """Follows the job's events to its end, telling `on_event` of each; goes on after the last
        event when the connection breaks.

        JobError or RequestRefused when it did not succeed.
        """
        backoff = Backoff()
        last = job.last_event - 1
        if job.finished and on_event is not None:
            on_event(job)  # answered from the store: there is no change to come
        while not job.finished:
            stream = self._jobs.Watch(jobs_pb2.WatchJobRequest(name=job.name, from_event=last + 1))
            try:
                for event in stream:
                    backoff.reset()
                    if event.sequence > last:
                        last, job = event.sequence, event.job
                        if on_event is not None:
                            on_event(job)
                    if job.finished:
                        break
            except grpc.RpcError as error:
                if not is_transient(error) or not backoff.pause():
                    raise self._connection.error_of(error) from None
                self._connection.revive()
            else:
                # A stream that ends early was cut by a server that shuts down in order.
                if not job.finished and not backoff.pause():
                    raise HelxError(
                        f"the server ended the events of {job.name} before the job ended; "
                        "see its log",
                        "internal",
                    )
            finally:
                stream.cancel()
        if job.phase != types_pb2.SUCCEEDED:
            raise _job_error(job)
        return job

    def fetch(self, bundle: Digest, folder: Path) -> None:
        """Writes a stored bundle to `folder`, in place of an older one in one step, verified before
        it is put there.
        """
        _files.check_bundle_place(folder)
        manifest = self._manifest(bundle)
        with _files.StagedFolder(folder) as staged:
            try:
                for name, digest in _artifacts(manifest):
                    path = staged.path / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with open(path, "xb") as file:
                        self._blobs.download(digest, file.write)
                (staged.path / "manifest.json").write_bytes(manifest)
            except OSError as error:
                raise HelxError(
                    f"cannot write {error.filename or staged.path}: {error.strerror}", "unwritable"
                ) from None
            _core.Bundle(staged.path)
            staged.commit()

    def _manifest(self, bundle: Digest) -> bytes:
        request = results_pb2.GetResultRequest(bundle=bundle.to_proto())
        manifest: bytes = self._connection.call(self._results.Get, request).manifest
        if Digest.of_bytes(manifest) != bundle:
            raise EvidenceError(
                f"the manifest that came for bundle {bundle} is "
                f"{Digest.of_bytes(manifest)}; the server's copy is damaged: run the "
                "job again with no_cache=True",
                "data_loss",
            )
        return manifest


def _artifacts(manifest: bytes) -> list[tuple[str, Digest]]:
    """The files that a manifest lists, so far as they may be written; the core judges the rest."""
    try:
        listed = [
            (item["path"], Digest(item["sha256"], item["size_bytes"]))
            for item in json.loads(manifest)["artifacts"]
        ]
        well_formed = all(
            isinstance(path, str) and isinstance(digest.hash, str) and isinstance(digest.size, int)
            for path, digest in listed
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        well_formed = False
    if not well_formed:
        raise EvidenceError(
            "manifest_invalid: the server's manifest is no list of files; run the job "
            "again with no_cache=True",
            "manifest_invalid",
        )
    for path, _ in listed:
        _files.check_bundle_path(path)
    return listed


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _violations(failure: types_pb2.Failure) -> list[Violation]:
    return [
        Violation(item.code, _text(item.subject), _text(item.message))
        for item in failure.violations
    ]


def _explained(failure: types_pb2.Failure) -> str:
    lines = [_text(failure.message)]
    lines += [
        f"{item.subject}: {item.message} [{item.code}]"
        for item in _violations(failure)
        if item.message not in lines[0]
    ]
    return "\n  ".join(line for line in lines if line) or "the server gave no reason; see its log"


def _refusal(failure: types_pb2.Failure) -> HelxError:
    if failure.fault == types_pb2.USER:
        return RequestRefused(_explained(failure), failure.code, _violations(failure))
    return HelxError(f"the request could not be frozen: {_explained(failure)}", failure.code)


def _job_error(job: jobs_pb2.Job) -> HelxError:
    failure = job.failure
    if (
        job.phase == types_pb2.FAILED
        and failure.fault == types_pb2.USER
        and not job.HasField("frozen_request")
    ):
        return _refusal(failure)
    phase = types_pb2.JobPhase.Name(job.phase)
    fault = types_pb2.Fault.Name(failure.fault) if job.phase == types_pb2.FAILED else None
    by_whom = f" ({fault})" if fault else ""
    why = f": {_explained(failure)}" if job.HasField("failure") else ""
    return JobError(
        f"{job.name} is {phase}{by_whom}{why}",
        failure.code or phase.lower(),
        job.name,
        phase,
        fault,
        _violations(failure),
    )
