"""Result bundles, offline: load and verify, read outputs, compare, identify inputs, export."""

from __future__ import annotations

import os
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path
from typing import Any, Mapping, NoReturn

from helx import _check, _core, _files
from helx._frozen import FrozenDict, frozen
from helx.errors import InvalidInput
from helx.tensors import ComparisonPolicy, ReferenceOrigin, ReferenceOutputs, TensorData, TensorSpec

_MATCHED = {"match": True, "mismatch": False, "not_compared": None}


@dataclass(frozen=True)
class Metric:
    """A figure that may be unavailable: then `value` is None and `reason` says why, never 0 for
    "not counted".

    `basis` tells what counted ("qemu-icount", "elf", "runner"), `accuracy` how well ("exact",
    "estimate").
    """

    value: int | None
    basis: str
    accuracy: str
    reason: str


@dataclass(frozen=True)
class Difference:
    """The first element, row-major, that does not match.

    `position` is in the tensor's shape, () for a scalar. The values are exact decimals, or the
    hexadecimal of their stored bytes when they are not finite.
    """

    position: tuple[int, ...]
    actual: str
    reference: str


@dataclass(frozen=True)
class TensorVerdict:
    """One output against its reference.

    `max_abs_error` is over the pairs of finite values, an exact decimal without exponent in
    stored-value units, None without such a pair. `nonfinite_pairs` counts pairs with an infinity or
    a NaN on either side.
    """

    output: int
    elements: int
    mismatches: int
    nonfinite_pairs: int
    max_abs_error: str | None
    first_difference: Difference | None

    @property
    def matched(self) -> bool:
        return self.mismatches == 0

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TensorVerdict:
        first = value["first_difference"]
        return cls(
            value["output"],
            value["elements"],
            value["mismatches"],
            value["nonfinite_pairs"],
            value["max_abs_error"],
            (
                None
                if first is None
                else Difference(tuple(first["position"]), first["actual"], first["reference"])
            ),
        )


@dataclass(frozen=True)
class Verification:
    """The verdict on one invocation's outputs. `reference_index` is the reference's position in the
    request.
    """

    matched: bool
    reference_index: int
    tensors: tuple[TensorVerdict, ...]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Verification:
        return cls(
            value["matched"],
            value["reference_index"],
            tuple(TensorVerdict.from_json(tensor) for tensor in value["tensors"]),
        )


@dataclass(frozen=True)
class Sample:
    """One measured invocation.

    `signatures` are the hexadecimal SHA-256 of each output's bytes. `output_tensors` are the
    retained files, relative to the bundle, () without capture. `verification` is None without a
    reference.
    """

    index: int
    instructions: Metric
    signatures: tuple[str, ...]
    output_tensors: tuple[str, ...]
    verification: Verification | None


@dataclass(frozen=True)
class Measurements:
    """`memory` has bytes by name: rom_bytes, ram_bytes, arena_bytes, stack_high_water_bytes and
    others.
    """

    samples: tuple[Sample, ...]
    memory: Mapping[str, Metric]


@dataclass(frozen=True)
class RetainedTensor:
    """A tensor kept in the bundle, at `path` relative to it."""

    spec: TensorSpec
    path: str
    sha256: str
    size_bytes: int

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RetainedTensor:
        return cls(TensorSpec.from_json(value), value["path"], value["sha256"], value["size"])


@dataclass(frozen=True)
class RetainedReference:
    """Reference outputs kept in the bundle."""

    origin: ReferenceOrigin
    description: str
    tensors: tuple[RetainedTensor, ...]


@dataclass(frozen=True)
class TensorEvidence:
    """What the model was fed and what its outputs were held to.

    `input_intent` is "explicit" or "implicit_zeros". `inputs` is None when nothing was captured or
    when each sample has its own set (`input_sequence`). `request_digest` is the hexadecimal SHA-256
    that was compiled into the image and that the runner reported.
    """

    input_intent: str
    inputs: tuple[RetainedTensor, ...] | None
    input_sequence: tuple[tuple[RetainedTensor, ...], ...] | None
    outputs: tuple[TensorSpec, ...]
    references: tuple[RetainedReference, ...]
    policy: ComparisonPolicy
    request_digest: str


@dataclass(frozen=True)
class Tool:
    """An exact tool: its version, and in `detail` whatever else distinguishes two builds or
    settings of it.
    """

    name: str
    version: str
    detail: str


class Result:
    """A bundle as load_result read and verified it; it cannot be changed.

    `path` is the bundle's folder. `matched` is True or False when outputs were compared with
    references, else None. `document` is result.json, `request` the frozen request and `manifest`
    manifest.json, each as JSON values. `executed` is False for a build that was not run.
    """

    path: Path
    document: Mapping[str, Any]
    request: Mapping[str, Any]
    manifest: Mapping[str, Any]
    manifest_sha256: str
    content_digest: str
    assessment: str
    matched: bool | None
    tensors: TensorEvidence
    measurements: Measurements
    request_identity: str
    executed: bool
    platform: str
    core: str
    engine: Tool
    toolchain: Tool
    target: Tool
    _bundle: _core.Bundle

    def __init__(self, path: Path, bundle: _core.Bundle) -> None:
        view = frozen(bundle.view())
        document = view["result"]
        members = {
            "_bundle": bundle,
            "path": path,
            "document": document,
            "request": view["request"],
            "manifest": view["manifest"],
            "manifest_sha256": view["manifest_sha256"],
            "content_digest": view["content_digest"],
            "assessment": view["assessment"],
            "matched": _MATCHED[view["assessment"]],
            "tensors": _evidence(document["tensors"]),
            "measurements": _measurements(document["measurements"]),
            "request_identity": document["request_identity"],
            "executed": document["executed"],
            "platform": document["platform"],
            "core": document["core"],
            "engine": Tool(**document["engine"]),
            "toolchain": Tool(**document["toolchain"]),
            "target": Tool(**document["target"]),
        }
        for name, value in members.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenInstanceError(f"a result cannot be changed: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"a result cannot be changed: {name}")

    def __repr__(self) -> str:
        return f"Result(path={str(self.path)!r}, matched={self.matched})"

    def read_artifact(self, path: str) -> bytes:
        """The bytes of a file that the manifest lists, checked against it again. NotFound,
        EvidenceError.
        """
        return self._bundle.artifact(_check.instance(path, str, "path"))


def _metric(value: Mapping[str, Any]) -> Metric:
    return Metric(value["value"], value["basis"], value["accuracy"], value["reason"])


def _retained(tensors: Any) -> tuple[RetainedTensor, ...]:
    return tuple(RetainedTensor.from_json(tensor) for tensor in tensors)


def _evidence(value: Mapping[str, Any]) -> TensorEvidence:
    inputs, sequence = value["inputs"], value["input_sequence"]
    references = tuple(
        RetainedReference(
            ReferenceOrigin(item["origin"]), item["description"], _retained(item["tensors"])
        )
        for item in value["references"]
    )
    return TensorEvidence(
        value["input_intent"],
        None if inputs is None else _retained(inputs),
        None if sequence is None else tuple(_retained(tensors) for tensors in sequence),
        tuple(TensorSpec.from_json(spec) for spec in value["outputs"]),
        references,
        ComparisonPolicy.from_json(value["policy"]),
        value["request_digest"],
    )


def _sample(value: Mapping[str, Any]) -> Sample:
    verification = value["verification"]
    return Sample(
        value["index"],
        _metric(value["instructions"]),
        tuple(value["signatures"]),
        tuple(value["output_tensors"]),
        None if verification is None else Verification.from_json(verification),
    )


def _measurements(value: Mapping[str, Any]) -> Measurements:
    return Measurements(
        tuple(_sample(sample) for sample in value["samples"]),
        FrozenDict((name, _metric(figure)) for name, figure in value["memory"].items()),
    )


def load_result(path: str | os.PathLike[str]) -> Result:
    """Reads a bundle folder, believes nothing and recomputes every verdict.

    EvidenceError when a file is missing, modified, unlisted or a link, when request, result, runner
    and image do not belong together, or when a retained verdict is not what the retained bytes
    give; `code` says which (docs/formats.md).
    """
    folder = _check.path(path, "path")
    return Result(folder, _core.Bundle(folder))


def output_tensors(result: Result, sample_index: int = 0) -> tuple[TensorData, ...]:
    """The captured outputs of one measured invocation, in output order. NotFound when it did not
    capture them.
    """
    _check.instance(result, Result, "result")
    sample = _check.integer(sample_index, "sample_index")
    return tuple(
        TensorData(spec, result._bundle.output(sample, output))
        for output, spec in enumerate(result.tensors.outputs)
    )


def verify_outputs(
    result: Result,
    sample_index: int,
    reference: ReferenceOutputs,
    policy: ComparisonPolicy = ComparisonPolicy(),
) -> Verification:
    """Compares one measured invocation's captured outputs with references.

    An element matches when abs(actual - reference) <= absolute + relative * abs(reference) in
    stored-value units, decided exactly. InvalidInput when count, name, dtype or shape disagree
    (output_count, wrong_name, wrong_dtype, wrong_shape) or the policy names an output that does not
    exist (unknown_output); NotFound when the sample has no captured outputs.
    """
    _check.instance(result, Result, "result")
    _check.instance(reference, ReferenceOutputs, "reference")
    _check.instance(policy, ComparisonPolicy, "policy")
    return Verification.from_json(
        result._bundle.verify(
            _check.integer(sample_index, "sample_index"),
            [tensor.spec.to_json() for tensor in reference.tensors],
            [tensor.data for tensor in reference.tensors],
            policy.to_json(),
        )
    )


def compare_tensors(
    actual: TensorData, reference: TensorData, policy: ComparisonPolicy = ComparisonPolicy()
) -> TensorVerdict:
    """Compares two tensors of the same spec without a bundle. The policy's override for that index
    applies, if any.
    """
    _check.instance(actual, TensorData, "actual")
    _check.instance(reference, TensorData, "reference")
    _check.instance(policy, ComparisonPolicy, "policy")
    if actual.spec != reference.spec:
        raise InvalidInput(
            f"the reference is {reference.spec} and the actual tensor {actual.spec}; "
            "allowed is one spec for both",
            "wrong_spec",
        )
    return TensorVerdict.from_json(
        _core.compare(actual.spec.to_json(), actual.data, reference.data, policy.to_json())
    )


@dataclass(frozen=True)
class InputIdentity:
    """The identity of the bytes a model was fed, whoever supplied them.

    `value` is "helx.inputs/v1:sha256:<hex>" over the UTF-8 of `canonical_json`, or None with
    `unavailable_reason`. A sequence of input sets (one per sample) has "helx.input-sequence/v1:…"
    in `sequence_value` instead.
    """

    value: str | None
    canonical_json: str | None = field(repr=False)
    unavailable_reason: str | None
    sequence_value: str | None = None
    sequence_canonical_json: str | None = field(default=None, repr=False)


def input_identity(result: Result) -> InputIdentity:
    """The identity of a result's stored inputs. The model is not run."""
    value = _check.instance(result, Result, "result")._bundle.input_identity()
    return InputIdentity(
        value["value"],
        value["canonical_json"],
        value["unavailable_reason"],
        value["sequence_value"],
        value["sequence_canonical_json"],
    )


@dataclass(frozen=True)
class Workload:
    """What was run: the model, its inputs' identity and the acquisition."""

    input_identity: str | None
    input_identity_unavailable_reason: str | None
    input_sequence_identity: str | None
    model: Mapping[str, Any]
    samples: int
    state_policy: str
    warmups: int


@dataclass(frozen=True)
class Observations:
    """The portable view of a result: public schema 1.0-draft, mapping helx-schema4-draft4
    (docs/formats.md).

    `observations` are figures with metric, unit, value, basis, accuracy and reason. What is HELX's
    own is in `extensions["helia-estimator"]`. No number here is floating point: tolerances and
    errors are decimal text.
    """

    schema_version: str
    mapping: str
    producer: Mapping[str, Any]
    subject: Mapping[str, Any]
    outcome: Mapping[str, Any]
    system: Mapping[str, Any]
    workload: Workload
    observations: tuple[Mapping[str, Any], ...]
    artifacts: tuple[Mapping[str, Any], ...]
    extensions: Mapping[str, Any] | None


def observations(result: Result) -> Observations:
    """A result in the terms of the portable export."""
    return observations_from(_check.instance(result, Result, "result")._bundle.observations())


def observations_from(value: Mapping[str, Any]) -> Observations:
    """From the export's JSON value."""
    value = frozen(value)
    workload = value["workload"]
    known = {name: workload[name] for name in Workload.__dataclass_fields__}
    return Observations(
        value["schema_version"],
        value["mapping"],
        value["producer"],
        value["subject"],
        value["outcome"],
        value["system"],
        Workload(**known),
        tuple(value["observations"]),
        tuple(value["artifacts"]),
        value.get("extensions"),
    )


def render_result(result: Result) -> str:
    """The portable export as JSON text, the same that `helx results export` writes."""
    return _check.instance(result, Result, "result")._bundle.export()


def export_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Writes the portable export to a file, in place of an older one at once.

    Not into a bundle, whose evidence that would spoil: InvalidInput, `unwritable`.
    """
    place = _check.path(path, "path")
    for folder in place.parents:
        if (folder / "manifest.json").is_file():
            raise InvalidInput(
                f"{place} lies inside the bundle {folder}; choose another path", "unwritable"
            )
    _files.write(place, render_result(result).encode("utf-8"))
