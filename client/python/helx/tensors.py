"""Tensors and the policy that binds them: metadata, bytes, literals, references, tolerances.

Bytes are little-endian and row-major without padding; float16 and float32 are IEEE 754 binary16 and
binary32; a bool is one byte, 0 or 1. Comparisons are in stored-value units: quantised values are
compared as their stored integers.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from typing import Any, Mapping

from helx import _check, _core
from helx.errors import InvalidInput


class DType(enum.StrEnum):
    """Storage types. Their values are NumPy's names of the same types."""

    BOOL = "bool"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT16 = "float16"
    FLOAT32 = "float32"

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return _ITEM_BYTES[self]


_ITEM_BYTES = {
    DType.BOOL: 1,
    DType.INT8: 1,
    DType.UINT8: 1,
    DType.INT16: 2,
    DType.INT32: 4,
    DType.INT64: 8,
    DType.FLOAT16: 2,
    DType.FLOAT32: 4,
}


class ReferenceOrigin(enum.StrEnum):
    """Where reference outputs come from. HELX does not judge whether a reference is independent or
    correct.
    """

    FILES = "files"
    HOST_LITERT = "host_litert"
    OTHER = "other"


class NaNPolicy(enum.StrEnum):
    """NaN against NaN: never a match, or a match whatever the payloads. NaN against a number never
    matches.
    """

    NEVER_MATCH = "never_match"
    MATCH_BOTH = "match_both"


def _member(kind: type[enum.StrEnum], value: Any, what: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(kind)
        raise InvalidInput(f"{what} is {value!r}; allowed: {allowed}", "not_allowed") from None


@dataclass(frozen=True)
class TensorSpec:
    """What a model says of one of its inputs or outputs.

    `index` is the position among the primary subgraph's inputs or outputs, from 0; `shape` is
    concrete, every dimension at least 1, and () for a scalar.
    """

    index: int
    name: str
    dtype: DType
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", _check.integer(self.index, "TensorSpec.index"))
        _check.utf8(_check.instance(self.name, str, "TensorSpec.name"), "TensorSpec.name")
        object.__setattr__(self, "dtype", _member(DType, self.dtype, "TensorSpec.dtype"))
        if isinstance(self.shape, (str, bytes)) or not hasattr(self.shape, "__iter__"):
            _check.instance(self.shape, tuple, "TensorSpec.shape")
        shape = tuple(
            _check.integer(size, f"TensorSpec.shape[{i}]", 1) for i, size in enumerate(self.shape)
        )
        object.__setattr__(self, "shape", shape)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of storage."""
        return self.elements * self.dtype.itemsize

    def to_json(self) -> dict[str, Any]:
        return {
            "dtype": str(self.dtype),
            "index": self.index,
            "name": self.name,
            "shape": list(self.shape),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TensorSpec:
        return cls(value["index"], value["name"], value["dtype"], tuple(value["shape"]))


@dataclass(frozen=True)
class TensorData:
    """A tensor's metadata together with its bytes.

    `data` may be given as any bytes-like object and is kept as bytes. InvalidInput unless it is
    storage of `spec`: its exact length (wrong_length) and, for bool, only bytes 0 and 1
    (boolean_byte). With NumPy: `numpy.frombuffer(t.data, t.spec.dtype).reshape(t.spec.shape)`.
    """

    spec: TensorSpec
    data: bytes = field(repr=False)

    def __post_init__(self) -> None:
        _check.instance(self.spec, TensorSpec, "TensorData.spec")
        if not isinstance(self.data, bytes):
            try:
                object.__setattr__(self, "data", memoryview(self.data).tobytes())
            except TypeError:
                _check.instance(self.data, bytes, "TensorData.data")
        _core.check_tensor(self.spec.to_json(), self.data)


@dataclass(frozen=True)
class TensorLiteral:
    """A tensor whose bytes stand in the document itself, as lower-case hexadecimal without
    prefix.
    """

    index: int
    name: str
    dtype: DType
    shape: tuple[int, ...]
    hex: str = field(repr=False)

    def __post_init__(self) -> None:
        spec = TensorSpec(self.index, self.name, self.dtype, self.shape)
        for member in ("index", "dtype", "shape"):
            object.__setattr__(self, member, getattr(spec, member))
        TensorData(spec, self._decoded())

    @classmethod
    def from_tensor(cls, tensor: TensorData) -> TensorLiteral:
        _check.instance(tensor, TensorData, "tensor")
        spec = tensor.spec
        return cls(spec.index, spec.name, spec.dtype, spec.shape, tensor.data.hex())

    @property
    def spec(self) -> TensorSpec:
        return TensorSpec(self.index, self.name, self.dtype, self.shape)

    def to_tensor(self) -> TensorData:
        return TensorData(self.spec, self._decoded())

    def to_json(self) -> dict[str, Any]:
        return {**self.spec.to_json(), "hex": self.hex}

    def _decoded(self) -> bytes:
        _check.instance(self.hex, str, "TensorLiteral.hex")
        try:
            data = bytes.fromhex(self.hex)
        except ValueError as error:
            raise InvalidInput(f"TensorLiteral.hex: {error}", "wrong_hex") from None
        if data.hex() != self.hex:
            raise InvalidInput(
                "TensorLiteral.hex holds capitals or blanks; allowed are 0-9 and a-f", "wrong_hex"
            )
        return data


@dataclass(frozen=True)
class TensorFile:
    """A tensor whose bytes are in a file, read when the request is frozen. `file` is relative to
    the request's base_dir.
    """

    index: int
    name: str
    dtype: DType
    shape: tuple[int, ...]
    file: str

    def __post_init__(self) -> None:
        spec = TensorSpec(self.index, self.name, self.dtype, self.shape)
        for member in ("index", "dtype", "shape"):
            object.__setattr__(self, member, getattr(spec, member))
        object.__setattr__(self, "file", str(_check.path(self.file, "TensorFile.file")))

    @property
    def spec(self) -> TensorSpec:
        return TensorSpec(self.index, self.name, self.dtype, self.shape)

    def to_json(self) -> dict[str, Any]:
        return {**self.spec.to_json(), "file": self.file}


BoundTensor = TensorLiteral | TensorFile


def _bound_from_json(value: Mapping[str, Any]) -> BoundTensor:
    metadata = (value["index"], value["name"], value["dtype"], tuple(value["shape"]))
    if "file" in value:
        return TensorFile(*metadata, value["file"])
    return TensorLiteral(*metadata, value["hex"])


@dataclass(frozen=True)
class ReferenceOutputs:
    """Expected outputs of one invocation, in output order, and who made them."""

    tensors: tuple[TensorData, ...]
    origin: ReferenceOrigin
    description: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "tensors", _check.items(self.tensors, TensorData, "tensors"))
        object.__setattr__(self, "origin", _member(ReferenceOrigin, self.origin, "origin"))
        _check.utf8(_check.instance(self.description, str, "description"), "description")


@dataclass(frozen=True)
class TensorReference:
    """Reference outputs as a document holds them: what one measured invocation is compared with."""

    origin: ReferenceOrigin
    description: str
    tensors: tuple[BoundTensor, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", _member(ReferenceOrigin, self.origin, "origin"))
        _check.utf8(_check.instance(self.description, str, "description"), "description")
        object.__setattr__(
            self, "tensors", _check.items(self.tensors, (TensorLiteral, TensorFile), "tensors")
        )

    @classmethod
    def from_reference(cls, reference: ReferenceOutputs) -> TensorReference:
        _check.instance(reference, ReferenceOutputs, "reference")
        return cls(
            reference.origin,
            reference.description,
            tuple(TensorLiteral.from_tensor(tensor) for tensor in reference.tensors),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "origin": str(self.origin),
            "description": self.description,
            "tensors": [tensor.to_json() for tensor in self.tensors],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TensorReference:
        return cls(
            value["origin"],
            value["description"],
            tuple(_bound_from_json(tensor) for tensor in value["tensors"]),
        )


@dataclass(frozen=True)
class Tolerance:
    """An element matches when abs(actual - reference) <= absolute + relative * abs(reference),
    decided exactly.

    Both are finite and >= 0, `absolute` in stored-value units; a number stands for the double
    nearest to it, an int of any size included.
    """

    absolute: float = 0
    relative: float = 0

    def __post_init__(self) -> None:
        for member in ("absolute", "relative"):
            _check_tolerance(getattr(self, member), f"Tolerance.{member}")

    def to_json(self) -> dict[str, Any]:
        return {"absolute": self.absolute, "relative": self.relative}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tolerance:
        return cls(_number(value.get("absolute", 0)), _number(value.get("relative", 0)))


def _check_tolerance(value: Any, what: str) -> None:
    """InvalidInput unless the core takes it for one of a tolerance's numbers."""
    number = _check.instance(value, (int, float), what)
    if type(number) is int and 0 <= number < 2**53:
        return
    if isinstance(number, int) and number.bit_length() > 1024:
        raise InvalidInput(
            f"{what}: found an integer of {number.bit_length()} bits, which a double cannot hold; "
            "allowed: 0, or a number between 4.94e-324 and 1.79e308",
            "not_finite",
        )
    try:
        _core.tolerance_number(
            int.__repr__(number) if isinstance(number, int) else float.__repr__(number)
        )
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}", error.code) from None


def _number(value: float | str) -> float:
    """A tolerance's number from a document (a JSON number) or from canonical JSON (its text)."""
    if not isinstance(value, str):
        return value
    return int(value) if value.isdecimal() else float(value)


@dataclass(frozen=True)
class TensorTolerance:
    """A tolerance for the output of that ordinal, in place of the default."""

    output: int
    tolerance: Tolerance

    def __post_init__(self) -> None:
        object.__setattr__(self, "output", _check.integer(self.output, "TensorTolerance.output"))
        _check.instance(self.tolerance, Tolerance, "TensorTolerance.tolerance")


@dataclass(frozen=True)
class ComparisonPolicy:
    """How outputs are compared with references. Without arguments: exact equality, NaN never
    matching.
    """

    default: Tolerance = Tolerance()
    per_tensor: tuple[TensorTolerance, ...] = ()
    nan: NaNPolicy = NaNPolicy.NEVER_MATCH

    def __post_init__(self) -> None:
        _check.instance(self.default, Tolerance, "ComparisonPolicy.default")
        object.__setattr__(
            self,
            "per_tensor",
            _check.items(self.per_tensor, TensorTolerance, "ComparisonPolicy.per_tensor"),
        )
        object.__setattr__(self, "nan", _member(NaNPolicy, self.nan, "ComparisonPolicy.nan"))

    def to_json(self) -> dict[str, Any]:
        overrides = [
            {"output": item.output, **item.tolerance.to_json()} for item in self.per_tensor
        ]
        return {"default": self.default.to_json(), "nan": str(self.nan), "per_tensor": overrides}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ComparisonPolicy:
        overrides = tuple(
            TensorTolerance(item["output"], Tolerance.from_json(item))
            for item in value.get("per_tensor", ())
        )
        return cls(
            Tolerance.from_json(value.get("default", {})),
            overrides,
            value.get("nan", NaNPolicy.NEVER_MATCH),
        )


@dataclass(frozen=True)
class TensorIOPolicy:
    """What the model is fed and what its outputs are held to.

    TensorIOPolicy() feeds zeros and captures outputs. `inputs` are all of the model's inputs in
    index order, or none. `references` has one entry per measured invocation, or none.
    `input_sequence`, an extension, has one input set per sample instead of `inputs` (needs warmup 0
    and state carry). Inputs and references together are at most 16 MiB.
    """

    inputs: tuple[BoundTensor, ...] = ()
    references: tuple[TensorReference, ...] = ()
    comparison: ComparisonPolicy = ComparisonPolicy()
    input_sequence: tuple[tuple[BoundTensor, ...], ...] | None = None

    def __post_init__(self) -> None:
        bound = (TensorLiteral, TensorFile)
        object.__setattr__(self, "inputs", _check.items(self.inputs, bound, "inputs"))
        object.__setattr__(
            self, "references", _check.items(self.references, TensorReference, "references")
        )
        _check.instance(self.comparison, ComparisonPolicy, "comparison")
        if self.input_sequence is None:
            return
        sets = _check.items(self.input_sequence, (tuple, list), "input_sequence")
        if not sets:
            raise InvalidInput(
                "input_sequence is empty; give one input set per sample, or leave it out (None)",
                "empty_list",
            )
        object.__setattr__(
            self,
            "input_sequence",
            tuple(
                _check.items(tensors, bound, f"input_sequence[{i}]")
                for i, tensors in enumerate(sets)
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """The document's `tensor_io`."""
        value: dict[str, Any] = {}
        if self.inputs:
            value["inputs"] = [tensor.to_json() for tensor in self.inputs]
        if self.input_sequence is not None:
            value["input_sequence"] = [
                [tensor.to_json() for tensor in tensors] for tensors in self.input_sequence
            ]
        if self.references:
            value["references"] = [reference.to_json() for reference in self.references]
        if self.comparison != ComparisonPolicy():
            value["comparison"] = self.comparison.to_json()
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TensorIOPolicy:
        sequence = value.get("input_sequence")
        return cls(
            tuple(_bound_from_json(tensor) for tensor in value.get("inputs", ())),
            tuple(TensorReference.from_json(item) for item in value.get("references", ())),
            ComparisonPolicy.from_json(value.get("comparison", {})),
            (
                None
                if sequence is None
                else tuple(
                    tuple(_bound_from_json(tensor) for tensor in tensors) for tensors in sequence
                )
            ),
        )
