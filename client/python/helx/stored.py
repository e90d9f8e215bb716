"""What a server says of the results it stores: verification, input identity, observations and export
without fetching a bundle and without running anything.

A target is an experiment's name ("name" or "name/run": its newest result), a job ("jobs/…"), or a
bundle's digest ("<sha256>/<size>"). Every function takes `server` as those of helx.estimation do.
The server reads the bundle whole and verifies it before it answers: EvidenceError when it is not
what it claims to be, NotFound when there is no such result.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Callable, Iterator, Mapping

import grpc

from helx import _check
from helx._blobs import Blob, BlobClient
from helx._connection import Backoff, Connection, is_transient
from helx.errors import NotFound
from helx.results import (
    Difference,
    InputIdentity,
    Observations,
    TensorVerdict,
    Verification,
    observations_from,
)
from helx.tensors import ComparisonPolicy, NaNPolicy, ReferenceOutputs, Tolerance
from helx.v1 import jobs_pb2, jobs_pb2_grpc, results_pb2, results_pb2_grpc, types_pb2

_DIGEST = re.compile(r"([0-9a-f]{64})/([0-9]{1,18})")
_ASSESSMENTS = {types_pb2.MATCH: "match", types_pb2.MISMATCH: "mismatch"}
_VERIFY_S = 600.0


@dataclass(frozen=True)
class StoredVerification:
    """A stored bundle that verified. `bundle` is its digest, `samples` holds the verdict of each
    sample (None: not compared), `assessment` is "match", "mismatch" or "not_compared".
    """

    bundle: str
    content_digest: str
    assessment: str
    samples: Mapping[int, Verification | None]


def verify_stored(target: str, *, server: str | None = None) -> StoredVerification:
    """Verifies a stored bundle again and recomputes the verdicts that it records."""
    _check.text(target, "target")
    with Connection(server) as connection:
        request = results_pb2.VerifyRequest(result=_named(connection, target))
        return _verified(_verify(connection, request))


def verify_stored_outputs(
    target: str,
    sample_index: int,
    reference: ReferenceOutputs,
    policy: ComparisonPolicy = ComparisonPolicy(),
    *,
    server: str | None = None,
) -> Verification:
    """verify_outputs for a stored result: the reference is uploaded, the outputs stay where they
    are.
    """
    _check.text(target, "target")
    _check.instance(reference, ReferenceOutputs, "reference")
    _check.instance(policy, ComparisonPolicy, "policy")
    sample = _check.integer(sample_index, "sample_index")
    blobs = tuple(Blob.of_bytes(tensor.data) for tensor in reference.tensors)
    with Connection(server) as connection:
        request = results_pb2.VerifyRequest(
            result=_named(connection, target),
            sample=sample,
            reference=_reference(reference, blobs),
            policy=_policy(policy),
        )
        BlobClient(connection).upload_missing(blobs)
        verdict = _verified(_verify(connection, request)).samples[sample]
    assert verdict is not None
    return verdict


def stored_input_identity(target: str, *, server: str | None = None) -> InputIdentity:
    """input_identity for a stored result."""
    _check.text(target, "target")
    with Connection(server) as connection:
        request = results_pb2.GetInputIdentityRequest(result=_named(connection, target))
        stub = results_pb2_grpc.ResultsStub(connection.channel)
        value = connection.call(stub.GetInputIdentity, request, _VERIFY_S)
    return InputIdentity(
        value.value or None,
        value.canonical_json or None,
        value.unavailable_reason or None,
        value.sequence_value or None,
        value.sequence_canonical_json or None,
    )


def stored_observations(target: str, *, server: str | None = None) -> Observations:
    """observations for a stored result."""
    _check.text(target, "target")
    with Connection(server) as connection:
        request = results_pb2.ObserveRequest(result=_named(connection, target))
        stub = results_pb2_grpc.ResultsStub(connection.channel)
        return observations_from(json.loads(_read(connection, stub.Observe, request)))


def render_stored(target: str, *, server: str | None = None) -> str:
    """render_result for a stored result."""
    _check.text(target, "target")
    with Connection(server) as connection:
        request = results_pb2.ExportRequest(result=_named(connection, target))
        stub = results_pb2_grpc.ResultsStub(connection.channel)
        return _read(connection, stub.Export, request).decode("utf-8")


def _named(connection: Connection, target: str) -> results_pb2.GetResultRequest:
    digest = _DIGEST.fullmatch(target)
    if digest is not None:
        bundle = types_pb2.Digest(hash=digest[1], size_bytes=int(digest[2]))
        return results_pb2.GetResultRequest(bundle=bundle)
    if not target.startswith("jobs/"):
        return results_pb2.GetResultRequest(experiment=target)
    stub = jobs_pb2_grpc.JobsStub(connection.channel)
    job = connection.call(stub.Get, jobs_pb2.GetJobRequest(name=target))
    if not job.HasField("bundle"):
        raise NotFound(f"{target} has no bundle; look at its phase", "not_found")
    return results_pb2.GetResultRequest(bundle=job.bundle)


def _verify(
    connection: Connection, request: results_pb2.VerifyRequest
) -> results_pb2.VerifyResponse:
    response: results_pb2.VerifyResponse
    stub = results_pb2_grpc.ResultsStub(connection.channel)
    response = connection.call(stub.Verify, request, _VERIFY_S)
    return response


def _read(connection: Connection, method: Callable[..., Iterator[Any]], request: Any) -> bytes:
    """A text that comes in pieces; asked for anew when the server restarts in between."""
    backoff = Backoff()
    while True:
        try:
            return b"".join(piece.data for piece in method(request, timeout=_VERIFY_S))
        except grpc.RpcError as error:
            if not is_transient(error) or not backoff.pause():
                raise connection.error_of(error) from None
            connection.revive()


def _reference(
    reference: ReferenceOutputs, blobs: tuple[Blob, ...]
) -> results_pb2.ReferenceOutputs:
    tensors = [
        results_pb2.ReferenceTensor(
            spec=results_pb2.TensorSpec(
                index=tensor.spec.index,
                name=tensor.spec.name,
                dtype=str(tensor.spec.dtype),
                shape=tensor.spec.shape,
            ),
            digest=blob.digest.to_proto(),
        )
        for tensor, blob in zip(reference.tensors, blobs)
    ]
    return results_pb2.ReferenceOutputs(
        origin=str(reference.origin), description=reference.description, tensors=tensors
    )


def _policy(policy: ComparisonPolicy) -> results_pb2.ComparisonPolicy:
    def tolerance(value: Tolerance) -> results_pb2.Tolerance:
        return results_pb2.Tolerance(
            absolute=float(value.absolute), relative=float(value.relative)
        )

    return results_pb2.ComparisonPolicy(
        default_tolerance=tolerance(policy.default),
        per_tensor=[
            results_pb2.OutputTolerance(output=item.output, tolerance=tolerance(item.tolerance))
            for item in policy.per_tensor
        ],
        nan=(
            results_pb2.MATCH_BOTH
            if policy.nan == NaNPolicy.MATCH_BOTH
            else results_pb2.NEVER_MATCH
        ),
    )


def _verified(response: results_pb2.VerifyResponse) -> StoredVerification:
    samples: dict[int, Verification | None] = {}
    for sample in response.samples:
        samples[sample.sample] = (
            _verification(sample.verification) if sample.HasField("verification") else None
        )
    return StoredVerification(
        f"{response.bundle.hash}/{response.bundle.size_bytes}",
        response.content_digest,
        _ASSESSMENTS.get(response.assessment, "not_compared"),
        MappingProxyType(samples),
    )


def _verification(value: results_pb2.Verification) -> Verification:
    return Verification(
        value.matched,
        value.reference_index,
        tuple(
            TensorVerdict(
                tensor.output,
                tensor.elements,
                tensor.mismatches,
                tensor.nonfinite_pairs,
                tensor.max_abs_error or None,
                (
                    Difference(
                        tuple(tensor.first_difference.position),
                        tensor.first_difference.actual,
                        tensor.first_difference.reference,
                    )
                    if tensor.HasField("first_difference")
                    else None
                ),
            )
            for tensor in value.tensors
        ),
    )
