"""Freeze, build and run experiments on a server, local or remote.

Every function here takes `server` ("unix:/path" or "host:port"); without it HELX_SERVER, then
client.yaml, decides, and else a server of the user's own is started. A job goes on when the waiting
program is interrupted.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from helx import _check, _files, _jobs
from helx._blobs import Blob, Digest
from helx._connection import Connection
from helx._jobs import JobClient, Prepared, PreparedJob, SubmitOptions
from helx.errors import HelxError, InvalidInput
from helx.experiment import EstimateRequest
from helx.results import Result, load_result
from helx.v1 import jobs_pb2, types_pb2

_MOST_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class Outcome:
    """A job that ran to its end. A numerical mismatch is a complete result too: `matched` is then
    False.

    `path` is the bundle's folder, `result` what load_result gives for it, `job` the job's name on
    the server. `cached` tells that the server already held this result.
    """

    result: Result
    path: Path
    job: str
    cached: bool

    @property
    def matched(self) -> bool | None:
        """True or False when outputs were compared with references, else None."""
        return self.result.matched


@dataclass(frozen=True)
class Progress:
    """What became of a job: `phase` is QUEUED, FREEZING, BUILDING, RUNNING, VERIFYING or how it
    ended (SUCCEEDED, FAILED, ...). While QUEUED, `queue_reason` says what it waits for and
    `queue_position` counts from 1.
    """

    experiment: str
    run: str
    model_stem: str
    job: str
    phase: str
    queue_reason: str
    queue_position: int


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class FrozenRequest:
    """A request with every input bound by digest and every tool named exactly.

    `identity` is "helx.request/v1:sha256:<hex>" over `canonical_json`. It can be built with
    build().
    """

    identity: str
    canonical_json: str = field(repr=False)
    experiment: str
    run: str
    model_stem: str
    bundle_path: str

    @property
    def request(self) -> Any:
        """The canonical JSON's value."""
        return json.loads(self.canonical_json)


@dataclass(frozen=True)
class Build:
    """An image that is bound to its tensor policy. `path` is its bundle's folder, `result` its
    content (not executed).
    """

    result: Result
    path: Path
    job: str
    cached: bool
    bundle_path: str


def estimate(
    request: EstimateRequest,
    *,
    server: str | None = None,
    output: str | os.PathLike[str] = "results",
    no_cache: bool = False,
    queue_limit_s: float = 0,
    run_limit_s: float = 0,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Runs an experiment of one job and leaves its bundle in `output`/<name>, in place of an older
    one.

    `no_cache` builds and runs again. The limits, in seconds, end a job that waits or runs longer
    (0: the server's own). `on_progress` is told of each change of a job; an exception in it ends
    the waiting, not the job. InvalidInput or RequestRefused when the request is not allowed,
    JobError when the job did not succeed, ServerUnreachable.
    """
    prepared = _single(request)
    options = _options(no_cache, queue_limit_s, run_limit_s)
    return _estimate(prepared, server, output, options, on_progress)[0]


def estimate_all(
    request: EstimateRequest,
    *,
    server: str | None = None,
    output: str | os.PathLike[str] = "results",
    no_cache: bool = False,
    queue_limit_s: float = 0,
    run_limit_s: float = 0,
    on_progress: OnProgress | None = None,
) -> tuple[Outcome, ...]:
    """The same for an experiment of several models and runs: one outcome per job, models first."""
    prepared = _jobs.prepare(_check.instance(request, EstimateRequest, "request"))
    options = _options(no_cache, queue_limit_s, run_limit_s)
    return _estimate(prepared, server, output, options, on_progress)


def freeze(request: EstimateRequest, *, server: str | None = None) -> FrozenRequest:
    """Binds a request of one job; nothing is built. RequestRefused tells everything that is wrong
    with it.
    """
    prepared = _single(request)
    job = prepared.jobs[0]
    with Connection(server) as connection:
        response = JobClient(connection).freeze(job.document, prepared.blobs)
    return FrozenRequest(
        f"helx.request/v1:sha256:{response.digest.hash}",
        response.frozen_request.decode("utf-8"),
        job.experiment,
        job.run,
        job.model_stem,
        job.bundle_path,
    )


def build(
    request: EstimateRequest | FrozenRequest,
    *,
    server: str | None = None,
    output: str | os.PathLike[str] = "builds",
    no_cache: bool = False,
    queue_limit_s: float = 0,
    run_limit_s: float = 0,
) -> Build:
    """Builds the image of a request of one job and leaves its bundle in `output`/<name>.

    Tensor policy, inputs and references are bound to the build: when they change, build again.
    """
    _check.instance(request, (EstimateRequest, FrozenRequest), "request")
    submission = jobs_pb2.SubmitJobRequest(kind=jobs_pb2.JOB_KIND_BUILD)
    if isinstance(request, FrozenRequest):
        job: FrozenRequest | PreparedJob = request
        frozen = Blob.of_bytes(request.canonical_json.encode("utf-8"))
        submission.frozen_request.CopyFrom(frozen.digest.to_proto())
        blobs: tuple[Blob, ...] = (frozen,)
    else:
        prepared = _single(request)
        job, blobs = prepared.jobs[0], prepared.blobs
        submission.document = prepared.jobs[0].document
    submission.name, submission.run, submission.model_stem = (
        job.experiment,
        job.run,
        job.model_stem,
    )
    _options(no_cache, queue_limit_s, run_limit_s).apply(submission)
    folder = _check.path(output, "output") / job.bundle_path
    ended = _run(server, [(submission, folder)], blobs)[0]
    return Build(load_result(folder), folder, ended.name, ended.cached, job.bundle_path)


def run_build(
    build: Build | str | os.PathLike[str],
    *,
    server: str | None = None,
    output: str | os.PathLike[str] = "results",
    no_cache: bool = False,
    queue_limit_s: float = 0,
    run_limit_s: float = 0,
) -> Outcome:
    """Runs a build bundle (a Build, or its folder) as it is: nothing is compiled and no replacement
    file is read.

    The result's bundle is left in `output`/<bundle path of the build>, or `output`/<name of the
    folder>.
    """
    if isinstance(build, Build):
        path, bundle_path = build.path, build.bundle_path
    else:
        path = _check.path(build, "build")
        bundle_path = path.absolute().name
    options = _options(no_cache, queue_limit_s, run_limit_s)
    folder = _check.path(output, "output") / bundle_path
    return _run_bundle(jobs_pb2.JOB_KIND_RUN_BUILD, path, folder, options, server)


def replay(
    result: Result | Outcome | str | os.PathLike[str],
    *,
    server: str | None = None,
    output: str | os.PathLike[str] = "replays",
    queue_limit_s: float = 0,
    run_limit_s: float = 0,
) -> Outcome:
    """Runs a result's image once more with the inputs that its bundle holds: nothing is compiled, no
    other file is read, and no stored result answers for it.

    The new bundle is left in `output`/<name of the result's folder>. Its content digest equals the
    result's when the target counts and computes the same again.
    """
    if isinstance(result, (Result, Outcome)):
        path = result.path
    else:
        path = _check.path(result, "result")
    options = _options(False, queue_limit_s, run_limit_s)
    folder = _check.path(output, "output") / path.absolute().name
    return _run_bundle(jobs_pb2.JOB_KIND_REPLAY, path, folder, options, server)


def _run_bundle(
    kind: jobs_pb2.JobKind.ValueType,
    path: Path,
    folder: Path,
    options: SubmitOptions,
    server: str | None,
) -> Outcome:
    built = load_result(path)
    if kind == jobs_pb2.JOB_KIND_RUN_BUILD and built.executed:
        raise InvalidInput(
            f"{path} is a result, which has run already; replay it instead", "not_a_build"
        )
    if kind == jobs_pb2.JOB_KIND_REPLAY and not built.executed:
        raise InvalidInput(
            f"{path} is a build, which has not run yet; use run_build", "not_a_result"
        )
    files = [artifact["path"] for artifact in built.manifest["artifacts"]]
    blobs = tuple(Blob.of_bytes(built.read_artifact(name)) for name in files)
    manifest = Blob.of_bytes((path / "manifest.json").read_bytes())
    if manifest.digest.hash != built.manifest_sha256:
        raise InvalidInput(f"{path} changed while it was read; try again", "unreadable_file")
    submission = jobs_pb2.SubmitJobRequest(
        kind=kind, name=folder.name, bundle=manifest.digest.to_proto()
    )
    options.apply(submission)
    ended = _run(server, [(submission, folder)], (*blobs, manifest))[0]
    return Outcome(load_result(folder), folder, ended.name, ended.cached)


def _single(request: EstimateRequest) -> Prepared:
    prepared = _jobs.prepare(_check.instance(request, EstimateRequest, "request"))
    if len(prepared.jobs) != 1:
        raise InvalidInput(
            f"the document asks for {len(prepared.jobs)} jobs (models x runs) and this "
            "function takes one; use estimate_all",
            "several_jobs",
        )
    return prepared


def _options(no_cache: bool, queue_limit_s: float, run_limit_s: float) -> SubmitOptions:
    for name, value in (("queue_limit_s", queue_limit_s), ("run_limit_s", run_limit_s)):
        seconds = _check.instance(value, (int, float), name)
        if not 0 <= seconds <= _MOST_SECONDS:
            raise InvalidInput(
                f"{name} is {value}; allowed are 0 (the server's limit) to "
                f"{_MOST_SECONDS} seconds",
                "out_of_range",
            )
    return SubmitOptions(_check.instance(no_cache, bool, "no_cache"), queue_limit_s, run_limit_s)


def _run(
    server: str | None,
    submissions: list[tuple[jobs_pb2.SubmitJobRequest, Path]],
    blobs: tuple[Blob, ...],
    on_progress: OnProgress | None = None,
) -> list[jobs_pb2.Job]:
    """Submits all, waits for all and fetches the bundle of each that succeeded; then the first
    failure raises.
    """
    for _, folder in submissions:
        _files.check_bundle_place(folder)

    def tell(job: jobs_pb2.Job) -> None:
        if on_progress is not None:
            on_progress(
                Progress(
                    job.experiment,
                    job.run,
                    job.model_stem,
                    job.name,
                    types_pb2.JobPhase.Name(job.phase),
                    job.queue_reason,
                    job.queue_position,
                )
            )

    ended, first_error = [], None
    with Connection(server) as connection:
        client = JobClient(connection)
        client.upload(blobs)
        jobs = [client.submit(submission, blobs) for submission, _ in submissions]
        for job, (_, folder) in zip(jobs, submissions):
            try:
                job = client.wait(job, tell)
                client.fetch(Digest.of_proto(job.bundle), folder)
            except HelxError as error:
                first_error = first_error or error
            ended.append(job)
    if first_error is not None:
        raise first_error
    return ended


def _estimate(
    prepared: Prepared,
    server: str | None,
    output: str | os.PathLike[str],
    options: SubmitOptions,
    on_progress: OnProgress | None,
) -> tuple[Outcome, ...]:
    root = _check.path(output, "output")
    submissions = []
    for job in prepared.jobs:
        submission = jobs_pb2.SubmitJobRequest(
            kind=jobs_pb2.JOB_KIND_RUN,
            name=job.experiment,
            run=job.run,
            model_stem=job.model_stem,
            document=job.document,
        )
        options.apply(submission)
        submissions.append((submission, root / job.bundle_path))
    ended = _run(server, submissions, prepared.blobs, on_progress)
    return tuple(
        Outcome(load_result(folder), folder, job.name, job.cached)
        for job, (_, folder) in zip(ended, submissions)
    )
