"""Experiment documents as objects: read, change, save. The grammar is docs/formats.md,
"experiment.yaml".
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from helx import _check, _core, _files
from helx.errors import InvalidInput
from helx.tensors import TensorIOPolicy, TensorSpec

_DOCUMENT_BYTES = 40 << 20
_MODEL_BYTES = 64 << 20
_DOCUMENT_NAME = "request"  # of a document that was built from objects, in messages


@dataclass
class FvpConfig:
    """Execution. None stands for "not written": the document's default (or what a run overrides)
    applies.

    `enabled` False builds only. `tensor_io` None feeds zeros and keeps signatures only;
    TensorIOPolicy() captures outputs.
    """

    enabled: bool | None = None
    tensor_io: TensorIOPolicy | None = None


@dataclass(kw_only=True)
class Settings:
    """Engine, platform and acquisition. None stands for "not written", as in FvpConfig.

    `warmup` and `samples` count invocations; `state` is "reset" or "carry".
    """

    engine: str | None = None
    platform: str | None = None
    warmup: int | None = None
    samples: int | None = None
    state: str | None = None
    fvp: FvpConfig = field(default_factory=FvpConfig)


@dataclass(kw_only=True)
class RunConfig(Settings):
    """One entry of `runs`: overrides of the defaults. A tensor_io here replaces that of the
    defaults whole.
    """

    name: str


@dataclass
class ExperimentConfig:
    """A whole document. `model` is a path, or a list of paths, relative to the request's
    base_dir.
    """

    name: str
    model: str | list[str]
    defaults: Settings = field(default_factory=Settings)
    runs: list[RunConfig] | None = None

    def to_json(self) -> dict[str, Any]:
        """The document; what is None or empty is left out."""
        value: dict[str, Any] = {"name": self.name, "model": self.model}
        defaults = _settings_to_json(
            _check.instance(self.defaults, Settings, "config.defaults"), "config.defaults"
        )
        if defaults:
            value["defaults"] = defaults
        if self.runs is not None:
            runs = _check.items(self.runs, RunConfig, "config.runs")
            value["runs"] = [
                {"name": run.name, **_settings_to_json(run, f"config.runs[{i}]")}
                for i, run in enumerate(runs)
            ]
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ExperimentConfig:
        """From a document that the core has accepted."""
        _check_keys(value, ("name", "model", "defaults", "runs"), "document")
        runs = value.get("runs")
        return cls(
            value["name"],
            value["model"],
            _settings_from_json(value.get("defaults") or {}),
            None if runs is None else [_run_from_json(run) for run in runs],
        )


@dataclass(frozen=True)
class EstimateRequest:
    """A document together with the folder that its relative paths start from."""

    config: ExperimentConfig
    base_dir: str | os.PathLike[str] = "."

    def __post_init__(self) -> None:
        _check.instance(self.config, ExperimentConfig, "config")
        object.__setattr__(self, "base_dir", _check.path(self.base_dir, "base_dir"))

    def parse(self) -> _core.Experiment:
        """Checks the document and reads the tensor files it names. InvalidInput names the key path
        at fault.
        """
        try:
            document = _core.json_bytes(self.config.to_json(), "config")
        except (TypeError, ValueError, RecursionError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"config holds a value that no document can: {error}", "wrong_type"
            ) from None
        return _core.Experiment(document, _DOCUMENT_NAME, self.base_dir)


def load_request(path: str | os.PathLike[str]) -> EstimateRequest:
    """Reads an experiment document (experiment.yaml) and checks it.

    The request's `config` may be changed before it is used. Tensor files that the document names
    are read when the request is used; one that is missing is not an error yet. InvalidInput with
    file, line and key path otherwise.
    """
    place = _check.path(path, "path")
    text = _files.read(place, _DOCUMENT_BYTES, "an experiment document")
    folder = place.parent
    try:
        _core.Experiment(text, str(place), folder)
    except InvalidInput as error:
        if error.code != "unreadable_file":
            raise
    return EstimateRequest(
        ExperimentConfig.from_json(_core.document_json(text, str(place))), folder
    )


def save_request(request: EstimateRequest, path: str | os.PathLike[str]) -> None:
    """Writes the document with every tensor as explicit hexadecimal, in place of an older file at
    once.

    Paths of models stay as written, so the file belongs in the request's base_dir.
    """
    _check.instance(request, EstimateRequest, "request")
    _files.write(_check.path(path, "path"), request.parse().save())


def model_tensors(
    model: str | os.PathLike[str] | bytes,
) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The inputs and outputs of a .tflite model (a path, or its bytes), in index order. The model
    is not run.

    InvalidInput when it is not a readable model or an input or output has a type or shape that
    cannot be captured.
    """
    if not isinstance(model, bytes):
        model = _files.read(_check.path(model, "model"), _MODEL_BYTES, "a model")
    tensors = _core.model_tensors(model)
    return (
        tuple(TensorSpec.from_json(spec) for spec in tensors["inputs"]),
        tuple(TensorSpec.from_json(spec) for spec in tensors["outputs"]),
    )


_SETTINGS = ("engine", "platform", "warmup", "samples", "state")


def _settings_to_json(settings: Settings, where: str) -> dict[str, Any]:
    value = {key: getattr(settings, key) for key in _SETTINGS if getattr(settings, key) is not None}
    fvp_config = _check.instance(settings.fvp, FvpConfig, f"{where}.fvp")
    fvp: dict[str, Any] = {}
    if fvp_config.enabled is not None:
        fvp["enabled"] = fvp_config.enabled
    if fvp_config.tensor_io is not None:
        policy = _check.instance(fvp_config.tensor_io, TensorIOPolicy, f"{where}.fvp.tensor_io")
        fvp["tensor_io"] = policy.to_json()
    if fvp:
        value["fvp"] = fvp
    return value


def _settings_from_json(value: Mapping[str, Any], *, run: bool = False) -> Settings:
    _check_keys(value, (*_SETTINGS, "fvp", "aot", *(("name",) if run else ())), "settings")
    fvp = value.get("fvp") or {}
    _check_keys(fvp, ("enabled", "tensor_io"), "fvp")
    policy = fvp.get("tensor_io")
    settings = RunConfig(name=value["name"]) if run else Settings()
    for key in _SETTINGS:
        setattr(settings, key, value.get(key))
    settings.fvp = FvpConfig(
        fvp.get("enabled"), None if policy is None else TensorIOPolicy.from_json(policy)
    )
    return settings


def _run_from_json(value: Mapping[str, Any]) -> RunConfig:
    settings = _settings_from_json(value, run=True)
    assert isinstance(settings, RunConfig)
    return settings


def _check_keys(value: Any, allowed: tuple[str, ...], what: str) -> None:
    if not isinstance(value, Mapping):
        _check.instance(value, dict, what)
    for key in value:
        if key not in allowed:
            raise InvalidInput(
                f"{what} has the unknown key {key!r}; allowed: {', '.join(allowed)}", "unknown_key"
            )
