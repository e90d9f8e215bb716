from helia_estimator.api import input_identity, load_result, observations

result = load_result("results/my-run")
identity = input_identity(result)  # Frozen InputIdentity; no model execution.
print(identity.value, identity.unavailable_reason)
view = observations(result)
print(view.workload.input_identity)
assert view.extensions is not None
for sample in view.extensions["helia-estimator"]["tensor_binding"]["samples"]:
    print(sample["sample_index"], sample["status"], sample["reference_index"])
