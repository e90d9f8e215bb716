"""The public names of HELX in Python.

Freeze, build and run experiments on a local or remote server; load and verify result bundles offline; compare outputs with
references; identify inputs; export. Every check, comparison and identity is computed by the same core library that the server
and the command line use.

    from helx.api import estimate, load_request
    outcome = estimate(load_request("experiment.yaml"))
    print(outcome.path, outcome.matched)
"""

from helx.errors import (EvidenceError, HelxError, InvalidInput, JobError, NotFound, RequestRefused,
                         ServerUnreachable, Violation)
from helx.estimation import (Build, FrozenRequest, Outcome, build, estimate, estimate_all, freeze,
                             run_build)
from helx.experiment import (EstimateRequest, ExperimentConfig, FvpConfig, RunConfig, Settings,
                             load_request, model_tensors, save_request)
from helx.results import (Difference, InputIdentity, Measurements, Metric, Observations, Result,
                          RetainedReference, RetainedTensor, Sample, TensorEvidence, TensorVerdict,
                          Tool, Verification, Workload, compare_tensors, export_result,
                          input_identity, load_result, observations, output_tensors, render_result,
                          verify_outputs)
from helx.tensors import (ComparisonPolicy, DType, NaNPolicy, ReferenceOrigin, ReferenceOutputs,
                          TensorData, TensorFile, TensorIOPolicy, TensorLiteral, TensorReference,
                          TensorSpec, TensorTolerance, Tolerance)

__all__ = [
    "Build", "ComparisonPolicy", "DType", "Difference", "EstimateRequest", "EvidenceError",
    "ExperimentConfig", "FrozenRequest", "FvpConfig", "HelxError", "InputIdentity", "InvalidInput",
    "JobError", "Measurements", "Metric", "NaNPolicy", "NotFound", "Observations", "Outcome",
    "ReferenceOrigin", "ReferenceOutputs", "RequestRefused", "Result", "RetainedReference",
    "RetainedTensor", "RunConfig", "Sample", "ServerUnreachable", "Settings", "TensorData",
    "TensorEvidence", "TensorFile", "TensorIOPolicy", "TensorLiteral", "TensorReference",
    "TensorSpec", "TensorTolerance", "TensorVerdict", "Tolerance", "Tool", "Verification",
    "Violation", "Workload", "build", "compare_tensors", "estimate", "estimate_all",
    "export_result", "freeze", "input_identity", "load_request", "load_result", "model_tensors",
    "observations", "output_tensors", "render_result", "run_build", "save_request",
    "verify_outputs",
]
