"""The core library through its C ABI (core/capi/helx_core.h). All checking and comparing happens
there.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
import weakref
from typing import Any, Sequence

from helx import _check, _locate
from helx.errors import EvidenceError, HelxError, InvalidInput, NotFound

_ABI_VERSION = 2

# Canonical status numbers.
_INVALID_ARGUMENT, _NOT_FOUND, _FAILED_PRECONDITION, _OUT_OF_RANGE, _DATA_LOSS = 3, 5, 9, 11, 15
_KINDS: dict[int, type[HelxError]] = {
    _INVALID_ARGUMENT: InvalidInput,
    _FAILED_PRECONDITION: InvalidInput,
    _OUT_OF_RANGE: InvalidInput,
    _NOT_FOUND: NotFound,
    _DATA_LOSS: EvidenceError,
}


class _Bytes(ctypes.Structure):
    """helx_bytes, borrowing a Python bytes object for as long as the structure lives."""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    def __init__(self, content: bytes) -> None:
        super().__init__(ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p), len(content))
        self._content = content


class _Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


_Out = ctypes.POINTER(_Buffer)
_Handle = ctypes.c_void_p
_PARAMETERS: dict[str, list[Any]] = {
    "helx_model_tensors": [_Bytes],
    "helx_tensor_check": [_Bytes, _Bytes],
    "helx_compare": [_Bytes, _Bytes, _Bytes, _Bytes],
    "helx_input_identity": [_Bytes],
    "helx_document_json": [_Bytes, _Bytes],
    "helx_experiment_parse": [_Bytes, _Bytes, _Bytes, ctypes.POINTER(_Handle)],
    "helx_experiment_describe": [_Handle],
    "helx_experiment_save": [_Handle],
    "helx_experiment_job_document": [_Handle, ctypes.c_size_t, _Bytes, ctypes.c_int64],
    "helx_experiment_tensor": [_Handle, _Bytes],
    "helx_bundle_open": [_Bytes, ctypes.POINTER(_Handle)],
    "helx_bundle_view": [_Handle],
    "helx_bundle_output": [_Handle, ctypes.c_size_t, ctypes.c_size_t],
    "helx_bundle_artifact": [_Handle, _Bytes],
    "helx_bundle_verify": [
        _Handle,
        ctypes.c_size_t,
        _Bytes,
        ctypes.POINTER(_Bytes),
        ctypes.c_size_t,
        _Bytes,
    ],
    "helx_bundle_input_identity": [_Handle],
    "helx_bundle_observations": [_Handle],
    "helx_bundle_export": [_Handle],
}

_loaded: ctypes.CDLL | None = None
_loading = threading.Lock()


def _open_library() -> ctypes.CDLL:
    places = _locate.core_library_places()
    path = next((place for place in places if place.exists()), None)
    if path is None:
        raise HelxError(
            "libhelx_core.so is neither at "
            + " nor at ".join(str(place) for place in places)
            + "; build HELX first, or set HELX_BUILD_DIR to the folder it was built in",
            "core_library",
        )
    try:
        library = ctypes.CDLL(str(path))
        version = library.helx_core_abi_version()
    except (OSError, AttributeError) as error:
        raise HelxError(
            f"{path} cannot be used: {error}; build HELX again", "core_library"
        ) from error
    if version != _ABI_VERSION:
        raise HelxError(
            f"{path} has version {version} of the C ABI and this package needs "
            f"{_ABI_VERSION}; build and install both from the same source",
            "core_library",
        )
    for name, parameters in _PARAMETERS.items():
        function = getattr(library, name)
        function.argtypes = [*parameters, _Out]
        function.restype = ctypes.c_int
    library.helx_free.argtypes = [_Out]
    library.helx_free.restype = None
    for name in ("helx_experiment_free", "helx_bundle_free"):
        getattr(library, name).argtypes = [_Handle]
        getattr(library, name).restype = None
    return library


def _library() -> ctypes.CDLL:
    global _loaded
    with _loading:
        if _loaded is None:
            _loaded = _open_library()
        return _loaded


def _call(name: str, *arguments: Any) -> bytes:
    """Calls a function of the ABI; its result, or its error raised."""
    library = _library()
    out = _Buffer()
    status = getattr(library, name)(*arguments, ctypes.byref(out))
    try:
        content = ctypes.string_at(out.data, out.size) if out.size else b""
    finally:
        library.helx_free(ctypes.byref(out))
    if status == 0:
        return content
    kind = _KINDS.get(status, HelxError)
    if not content:
        raise kind(f"{name} failed with status {status}: out of memory", "resource_exhausted")
    error = json.loads(content)
    raise kind(error["message"], error["code"])


def _ask(name: str, *arguments: Any) -> Any:
    return json.loads(_call(name, *arguments))


def json_bytes(value: Any, what: str) -> bytes:
    """Compact JSON as UTF-8."""
    return _check.utf8(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")), what)


def _text(value: str, what: str) -> _Bytes:
    return _Bytes(_check.utf8(value, what))


def _json(value: Any, what: str) -> _Bytes:
    return _Bytes(json_bytes(value, what))


def model_tensors(model: bytes) -> Any:
    return _ask("helx_model_tensors", _Bytes(model))


def check_tensor(spec: dict[str, Any], data: bytes) -> Any:
    return _ask("helx_tensor_check", _json(spec, "spec"), _Bytes(data))


def tolerance_number(number: str) -> str:
    return _ask("helx_tolerance_number", _text(number, "tolerance"))


def compare(spec: dict[str, Any], actual: bytes, reference: bytes, policy: dict[str, Any]) -> Any:
    return _ask(
        "helx_compare",
        _json(spec, "spec"),
        _Bytes(actual),
        _Bytes(reference),
        _json(policy, "policy"),
    )


def input_identity(input_sets: Sequence[Sequence[dict[str, Any]]]) -> Any:
    return _ask("helx_input_identity", _json(input_sets, "input_sets"))


def document_json(yaml: bytes, file_name: str) -> Any:
    return _ask("helx_document_json", _Bytes(yaml), _text(file_name, "file name"))


class Experiment:
    """A parsed document. Raises InvalidInput when the document is not allowed."""

    def __init__(self, yaml: bytes, file_name: str, folder: str | os.PathLike[str]) -> None:
        handle = _Handle()
        _call(
            "helx_experiment_parse",
            _Bytes(yaml),
            _text(file_name, "file name"),
            _Bytes(os.fsencode(folder)),
            ctypes.byref(handle),
        )
        self._handle = handle
        weakref.finalize(self, _library().helx_experiment_free, handle)

    def describe(self) -> Any:
        return _ask("helx_experiment_describe", self._handle)

    def save(self) -> bytes:
        return _call("helx_experiment_save", self._handle)

    def job_document(self, job: int, model_sha256: str, model_size: int) -> bytes:
        return _call(
            "helx_experiment_job_document",
            self._handle,
            job,
            _text(model_sha256, "model digest"),
            model_size,
        )

    def tensor(self, sha256: str) -> bytes:
        return _call("helx_experiment_tensor", self._handle, _text(sha256, "tensor digest"))


class Bundle:
    """A result bundle that has been read and verified. Raises EvidenceError when it is refused."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        handle = _Handle()
        _call("helx_bundle_open", _Bytes(os.fsencode(folder)), ctypes.byref(handle))
        self._handle = handle
        weakref.finalize(self, _library().helx_bundle_free, handle)

    def view(self) -> Any:
        return _ask("helx_bundle_view", self._handle)

    def output(self, sample: int, output: int) -> bytes:
        return _call("helx_bundle_output", self._handle, sample, output)

    def artifact(self, path: str) -> bytes:
        return _call("helx_bundle_artifact", self._handle, _text(path, "path"))

    def verify(
        self,
        sample: int,
        specs: Sequence[dict[str, Any]],
        references: Sequence[bytes],
        policy: dict[str, Any],
    ) -> Any:
        contents = [_Bytes(reference) for reference in references]
        array = (_Bytes * len(contents))(*contents)
        return _ask(
            "helx_bundle_verify",
            self._handle,
            sample,
            _json(list(specs), "specs"),
            array,
            len(contents),
            _json(policy, "policy"),
        )

    def input_identity(self) -> Any:
        return _ask("helx_bundle_input_identity", self._handle)

    def observations(self) -> Any:
        return _ask("helx_bundle_observations", self._handle)

    def export(self) -> str:
        return _call("helx_bundle_export", self._handle).decode("utf-8")
