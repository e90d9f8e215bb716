// The frozen request: every input bound by digest, every tool named exactly. A pure value; its
// canonical JSON is its identity (helx.request/v1:sha256:...), and the build and run keys are
// projections of it.
#ifndef HELX_CORE_EXPERIMENT_FROZEN_REQUEST_H_
#define HELX_CORE_EXPERIMENT_FROZEN_REQUEST_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/status.h"
#include "core/experiment/document.h"
#include "core/experiment/placement.h"
#include "core/tensor/tensor_spec.h"

namespace helx {

// A tensor bound by its digest.
struct BoundTensor {
  TensorSpec spec;
  Digest digest;

  friend bool operator==(const BoundTensor&, const BoundTensor&) = default;
};

struct BoundReference {
  std::string origin;
  std::string description;
  std::vector<BoundTensor> tensors;

  friend bool operator==(const BoundReference&, const BoundReference&) = default;
};

// helx.tensor-request/v1: what goes into the runner and what its outputs are held to. Its SHA-256
// is compiled into the image. Capture and the acquisition are not part of it.
struct TensorRequest {
  bool explicit_inputs = false;                      // false: implicit_zeros
  std::vector<std::vector<BoundTensor>> input_sets;  // one set, or one per sample
  std::vector<TensorSpec> outputs;
  std::vector<BoundReference> references;
  ComparisonEntry comparison;

  Json ToJson() const;
  static absl::StatusOr<TensorRequest> FromJson(const Json& value);
  // Hex SHA-256 of the canonical JSON.
  absl::StatusOr<std::string> DigestHex() const;
};

// An exact tool: {"name","version"} plus whatever distinguishes two builds of it.
struct ToolIdentity {
  std::string name;     // "builtin", "arm-none-eabi-gcc", "qemu-system-arm"
  std::string version;  // exact
  std::string detail;   // package version, board and clock settings, ...

  friend bool operator==(const ToolIdentity&, const ToolIdentity&) = default;
};

struct Acquisition {
  int64_t warmup = 0;
  int64_t samples = 1;
  std::string state = "reset";
  bool capture = false;  // outputs as bytes beside their signatures

  friend bool operator==(const Acquisition&, const Acquisition&) = default;
};

struct FrozenRequest {
  Digest model;
  ToolIdentity engine;
  ToolIdentity toolchain;
  ToolIdentity target;
  std::string platform;
  bool execute = true;
  PlacementEntry placement;
  bool probe = false;  // a diagnostic build: the image reports every operator's outputs
  Acquisition acquisition;
  TensorRequest tensors;

  // Schema helx.request/v1.
  Json ToJson() const;
  absl::StatusOr<std::string> Canonical() const;
  // "helx.request/v1:sha256:<64 hex>" over the canonical text.
  absl::StatusOr<std::string> Identity() const;
  // Both refuse unknown members; Parse also refuses any text but the canonical one.
  static absl::StatusOr<FrozenRequest> FromJson(const Json& value);
  static absl::StatusOr<FrozenRequest> Parse(std::string_view canonical);

  // Hex SHA-256 of the projection that can change the image: model, engine, toolchain, platform,
  // placement, tensor-request digest, and whether it is a diagnostic build.
  absl::StatusOr<std::string> BuildKey() const;
  // Hex SHA-256 of {build key, acquisition}: what a build bundle is named by, since its
  // request.json carries the acquisition that running the bundle will use. Bundles of one build key
  // hold the same image.
  absl::StatusOr<std::string> BuildBundleKey() const;
  // Hex SHA-256 of {build key, target, acquisition}.
  absl::StatusOr<std::string> RunKey() const;
};

// {"detail","name","version"} and {"capture","samples","state","warmup"}: shared by request and
// result. The readers take the enclosing object and name the member's path in errors.
Json ToolToJson(const ToolIdentity& tool);
absl::StatusOr<ToolIdentity> ToolFromJson(const Json& object, const char* name,
                                          std::string_view where);
Json AcquisitionToJson(const Acquisition& acquisition);
absl::StatusOr<Acquisition> AcquisitionFromJson(const Json& object, std::string_view where);

// What freezing learned from the model and from the worker.
struct FreezeFacts {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  ToolIdentity engine;
  ToolIdentity toolchain;
  ToolIdentity target;
};

// Binds a job document. Checks inputs and references against the model's interface: order, name,
// dtype, shape, byte length, boolean bytes (via `tensor_bytes`, which returns the content of a
// digest), counts and limits. The first disagreement is INVALID_ARGUMENT naming the key path, what
// was found and what is allowed.
absl::StatusOr<FrozenRequest> Freeze(
    const ParsedJobDocument& document, const FreezeFacts& facts,
    const std::function<absl::StatusOr<std::string>(const Digest&)>& tensor_bytes,
    const DocumentLimits& limits = {});

// The digest of `count` zero bytes.
Digest ZeroDigest(int64_t count);

}  // namespace helx

#endif  // HELX_CORE_EXPERIMENT_FROZEN_REQUEST_H_
