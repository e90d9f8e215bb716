from pathlib import Path
from helia_estimator.api import (
    ComparisonPolicy, NaNPolicy, ReferenceOrigin, ReferenceOutputs,
    TensorData, TensorTolerance, Tolerance,
    load_result, output_tensors, verify_outputs,
)

result = load_result("results/my-run")
actual = output_tensors(result, sample_index=0)
reference = ReferenceOutputs(
    tensors=tuple(
        TensorData(t.spec, Path(f"reference-{t.spec.index}.bin").read_bytes())
        for t in actual
    ),
    origin=ReferenceOrigin.FILES,
    description="Original model, independent reference tool/version and matching initialization/input sequence",
)
policy = ComparisonPolicy(
    default=Tolerance(absolute=0, relative=0),
    per_tensor=(TensorTolerance(0, Tolerance(absolute=1, relative=0)),),
    nan=NaNPolicy.NEVER_MATCH,
)
check = verify_outputs(result, 0, reference, policy)
print(check.matched, check.tensors)
