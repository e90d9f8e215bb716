// Result bundles of the C ABI.
#include "core/base/sha256.h"
#include "core/bundle/export.h"
#include "core/bundle/observations.h"
#include "core/bundle/reader.h"
#include "core/capi/boundary.h"

struct helx_bundle {
  helx::LoadedBundle value;
};

namespace helx::capi {
namespace {

absl::StatusOr<std::string> Open(helx_bytes folder, helx_bundle** bundle) {
  if (bundle == nullptr) return InvalidArgument("bundle is NULL");
  *bundle = nullptr;
  HELX_ASSIGN_OR_RETURN(LoadedBundle value, LoadBundle(std::string(View(folder))));
  *bundle = new helx_bundle{std::move(value)};
  return std::string();
}

absl::StatusOr<std::string> ViewJson(const LoadedBundle& bundle) {
  HELX_ASSIGN_OR_RETURN(Json manifest, ParseJson(bundle.manifest_text));
  return Compact(Json{{"assessment", bundle.result.Assessment()},
                      {"content_digest", bundle.content_digest},
                      {"manifest", std::move(manifest)},
                      {"manifest_sha256", Sha256Hex(bundle.manifest_text)},
                      {"request", bundle.request.ToJson()},
                      {"result", bundle.result.ToJson()}});
}

absl::StatusOr<std::string> Verify(const LoadedBundle& bundle, size_t sample, helx_bytes specs_text,
                                   const helx_bytes* references, size_t count,
                                   helx_bytes policy_text) {
  HELX_ASSIGN_OR_RETURN(const Json specs, ParseArgument(specs_text, "specs"));
  if (!specs.is_array() || specs.size() != count || (count > 0 && references == nullptr)) {
    return InvalidArgument("specs is not a list of as many items as there are references");
  }
  std::vector<TensorData> tensors;
  for (size_t i = 0; i < count; ++i) {
    TensorData& tensor = tensors.emplace_back();
    HELX_ASSIGN_OR_RETURN(tensor.spec,
                          SpecFromJson(specs[i], "specs[" + std::to_string(i) + "]"));
    tensor.data = View(references[i]);
  }
  HELX_ASSIGN_OR_RETURN(const ComparisonEntry policy, ParsePolicy(policy_text));
  HELX_ASSIGN_OR_RETURN(const Verification verification,
                        VerifySample(bundle, static_cast<int64_t>(sample), tensors, policy));
  return Compact(VerificationToJson(verification));
}

// Runs `work` on the bundle behind a handle.
template <typename Work>
int WithBundle(const helx_bundle* bundle, helx_buffer* out, Work work) {
  return Call(out, [&]() -> absl::StatusOr<std::string> {
    if (bundle == nullptr) return InvalidArgument("bundle is NULL");
    return work(bundle->value);
  });
}

}  // namespace
}  // namespace helx::capi

using helx::LoadedBundle;
using helx::capi::WithBundle;

extern "C" {

int helx_bundle_open(helx_bytes folder, helx_bundle** bundle, helx_buffer* out) {
  return helx::capi::Call(out, [&] { return helx::capi::Open(folder, bundle); });
}

void helx_bundle_free(helx_bundle* bundle) { delete bundle; }

int helx_bundle_view(const helx_bundle* bundle, helx_buffer* out) {
  return WithBundle(bundle, out, helx::capi::ViewJson);
}

int helx_bundle_output(const helx_bundle* bundle, size_t sample, size_t output, helx_buffer* out) {
  return WithBundle(bundle, out, [&](const LoadedBundle& b) { return b.Output(sample, output); });
}

int helx_bundle_artifact(const helx_bundle* bundle, helx_bytes path, helx_buffer* out) {
  return WithBundle(bundle, out, [&](const LoadedBundle& b) {
    return b.ReadArtifact(std::string(helx::capi::View(path)));
  });
}

int helx_bundle_verify(const helx_bundle* bundle, size_t sample, helx_bytes specs,
                       const helx_bytes* references, size_t count, helx_bytes policy,
                       helx_buffer* out) {
  return WithBundle(bundle, out, [&](const LoadedBundle& b) {
    return helx::capi::Verify(b, sample, specs, references, count, policy);
  });
}

int helx_bundle_input_identity(const helx_bundle* bundle, helx_buffer* out) {
  return WithBundle(bundle, out, [](const LoadedBundle& b) -> absl::StatusOr<std::string> {
    HELX_ASSIGN_OR_RETURN(const helx::InputIdentity identity, helx::BundleInputIdentity(b));
    return helx::capi::Compact(helx::capi::IdentityToJson(identity));
  });
}

int helx_bundle_observations(const helx_bundle* bundle, helx_buffer* out) {
  return WithBundle(bundle, out, [](const LoadedBundle& b) -> absl::StatusOr<std::string> {
    HELX_ASSIGN_OR_RETURN(const helx::Json view, helx::Observations(b));
    return helx::CanonicalJson(view);
  });
}

int helx_bundle_export(const helx_bundle* bundle, helx_buffer* out) {
  return WithBundle(bundle, out, helx::RenderExport);
}

}  // extern "C"
