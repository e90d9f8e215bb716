#include "client/cli/bundle_locator.h"
#include "client/cli/text.h"
#include "client/cli/tolerance_options.h"
#include "client/cli/verbs.h"
#include "client/cpp/reference_files.h"
#include "client/cpp/result_client.h"
#include "core/bundle/verify.h"

namespace helx::cli {
namespace {

// What is compared: a bundle at hand, or one that the server reads where it lies.
struct Subject {
  std::optional<LoadedBundle> loaded;
  std::optional<Digest> stored;
  std::shared_ptr<client::Connection> connection;
  std::vector<TensorSpec> outputs;
  int64_t samples = 0;
};

struct SampleVerdict {
  int64_t sample = 0;
  Verification verification;
};

class Compare : public Command {
 public:
  std::string_view Name() const override { return "compare"; }
  std::string_view Summary() const override {
    return "Compare a result's captured outputs with another result's or with files; runs nothing";
  }

  void Configure(Options& options) override {
    options.Path("target", target_, kBundleHelp, Options::Need::kRequired);
    options.Text("reference", other_, "The result whose outputs are the reference");
    options.Path("--reference-dir", references_,
                 "Compare with files instead: DIR/output-<index>.bin, with several samples "
                 "DIR/<sample>/output-<index>.bin");
    options.Integer("--sample", sample_, 0, 1'000'000, "Only this sample (default: all)");
    tolerance_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    if (other_.empty() == references_.empty()) {
      return InvalidArgument("give a second result or --reference-dir DIR, one of them");
    }
    HELX_ASSIGN_OR_RETURN(const ComparisonEntry policy, tolerance_.Policy());
    HELX_ASSIGN_OR_RETURN(const BundlePlace place, LocateBundle(invocation, target_));
    HELX_ASSIGN_OR_RETURN(const Subject subject, Open(place, invocation.stop));
    std::optional<LoadedBundle> other;
    if (!other_.empty()) {
      HELX_ASSIGN_OR_RETURN(const BundlePlace other_place, LocateBundle(invocation, other_));
      HELX_ASSIGN_OR_RETURN(other, Load(other_place, invocation.stop));
    }
    HELX_RETURN_IF_ERROR(CheckSamples(subject, other));
    std::vector<SampleVerdict> verdicts;
    const int64_t end = sample_ < 0 ? subject.samples : sample_ + 1;
    for (int64_t sample = std::max<int64_t>(sample_, 0); sample < end; ++sample) {
      HELX_ASSIGN_OR_RETURN(const std::vector<TensorData> reference,
                            Reference(subject, other, sample));
      HELX_ASSIGN_OR_RETURN(Verification verification,
                            Verify(subject, sample, reference, policy, invocation.stop));
      verdicts.push_back({sample, std::move(verification)});
    }
    return Report(invocation, place.where, verdicts);
  }

 private:
  static absl::StatusOr<LoadedBundle> Load(const BundlePlace& place, std::stop_token stop) {
    if (place.folder.empty() && !place.stored) {
      return NotFound(place.where + " has no bundle; 'status' says why");
    }
    return LoadPlace(place, stop);
  }

  absl::StatusOr<Subject> Open(const BundlePlace& place, std::stop_token stop) const {
    Subject subject;
    if (!place.folder.empty() || !place.stored || !other_.empty()) {
      HELX_ASSIGN_OR_RETURN(subject.loaded, Load(place, stop));
      subject.outputs = subject.loaded->result.outputs;
      subject.samples = static_cast<int64_t>(subject.loaded->result.samples.size());
      return subject;
    }
    subject.connection = place.connection;
    HELX_ASSIGN_OR_RETURN(subject.stored, client::FromProto(place.stored->bundle()));
    client::ResultClient results(place.connection);
    HELX_ASSIGN_OR_RETURN(const auto recorded, results.Verify(*subject.stored, stop));
    subject.samples = recorded.samples_size();
    HELX_ASSIGN_OR_RETURN(subject.outputs, StoredOutputs(results, *subject.stored, stop));
    return subject;
  }

  static absl::StatusOr<std::vector<TensorSpec>> StoredOutputs(client::ResultClient& results,
                                                               const Digest& bundle,
                                                               std::stop_token stop) {
    HELX_ASSIGN_OR_RETURN(const std::string text, results.Observe(bundle, stop));
    HELX_ASSIGN_OR_RETURN(const Json view, ParseJson(text));
    std::vector<TensorSpec> outputs;
    const Json::json_pointer place("/extensions/helia-estimator/tensor_binding/outputs");
    if (!view.contains(place)) return DataLoss("the server's view of the bundle names no outputs");
    const Json list = view.at(place);
    for (Json item : list) {
      item.erase("quantization");
      HELX_ASSIGN_OR_RETURN(outputs.emplace_back(), SpecFromJson(item, "outputs"));
    }
    return outputs;
  }

  absl::Status CheckSamples(const Subject& subject,
                            const std::optional<LoadedBundle>& other) const {
    if (subject.samples == 0) {
      return NotFound("the result has no samples: it was built, not run");
    }
    if (sample_ >= subject.samples) {
      return NotFound("there is no sample " + std::to_string(sample_) + "; the result has " +
                      std::to_string(subject.samples));
    }
    const auto others = other ? other->result.samples.size() : 0;
    if (!other || sample_ >= 0 || static_cast<int64_t>(others) == subject.samples) {
      return absl::OkStatus();
    }
    return InvalidArgument("the results have " + std::to_string(subject.samples) + " and " +
                           std::to_string(others) + " samples; choose one with --sample");
  }

  absl::StatusOr<std::vector<TensorData>> Reference(const Subject& subject,
                                                    const std::optional<LoadedBundle>& other,
                                                    int64_t sample) const {
    if (!other) {
      return client::ReadReferenceFiles(references_, sample, subject.samples, subject.outputs);
    }
    std::vector<TensorData> tensors;
    for (size_t k = 0; k < other->result.outputs.size(); ++k) {
      HELX_ASSIGN_OR_RETURN(std::string bytes, other->Output(static_cast<size_t>(sample), k));
      tensors.push_back({other->result.outputs[k], std::move(bytes)});
    }
    return tensors;
  }

  static absl::StatusOr<Verification> Verify(const Subject& subject, int64_t sample,
                                             const std::vector<TensorData>& reference,
                                             const ComparisonEntry& policy, std::stop_token stop) {
    if (subject.loaded) return VerifySample(*subject.loaded, sample, reference, policy);
    return client::ResultClient(subject.connection)
        .VerifySample(*subject.stored, sample, {"files", "--reference-dir"}, reference, policy,
                      stop);
  }

  static ExitCode Report(Invocation& invocation, const std::string& where,
                         const std::vector<SampleVerdict>& verdicts) {
    bool matched = true;
    Json list = Json::array();
    Table table({"Sample", "Output", "Elements", "Mismatches", "Largest error", "First difference"},
                {true, true, true, true});
    for (const SampleVerdict& verdict : verdicts) {
      matched = matched && verdict.verification.matched;
      list.push_back(
          {{"sample", verdict.sample}, {"verification", VerificationToJson(verdict.verification)}});
      for (const TensorVerdict& tensor : verdict.verification.tensors) {
        table.Add({std::to_string(verdict.sample), std::to_string(tensor.output),
                   Grouped(tensor.elements), Grouped(tensor.mismatches),
                   tensor.max_abs_error.value_or("no finite pair"), DifferenceText(tensor)});
      }
    }
    const std::string assessment = matched ? "match" : "mismatch";
    if (invocation.json) {
      invocation.PrintJson(
          {{"where", Utf8(where)}, {"assessment", assessment}, {"samples", std::move(list)}});
    } else {
      table.Print(invocation.out);
      invocation.out << assessment << '\n';
    }
    return matched ? kOk : kMismatch;
  }

  static std::string DifferenceText(const TensorVerdict& tensor) {
    if (!tensor.first_difference) return "";
    std::string position;
    for (const int64_t i : tensor.first_difference->position) {
      position += (position.empty() ? "" : ", ") + std::to_string(i);
    }
    return "[" + position + "]: " + tensor.first_difference->actual + ", reference " +
           tensor.first_difference->reference;
  }

  std::string target_;
  std::string other_;
  std::string references_;
  int64_t sample_ = -1;
  ToleranceOptions tolerance_;
};

}  // namespace

std::unique_ptr<Command> MakeCompare() { return std::make_unique<Compare>(); }

}  // namespace helx::cli
