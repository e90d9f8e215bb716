from pathlib import Path
from helia_estimator.api import (
    EstimateRequest, TensorData, TensorIOPolicy, TensorLiteral,
    estimate, load_request, model_tensors,
)

request = load_request("experiment.yaml")
inputs, outputs = model_tensors("model.tflite")
values = tuple(
    TensorLiteral.from_tensor(TensorData(spec, Path(f"input-{spec.index}.bin").read_bytes()))
    for spec in inputs
)
config = request.config
config.defaults.fvp.tensor_io = TensorIOPolicy(inputs=values)
outcome = estimate(EstimateRequest(config, base_dir=request.base_dir))
