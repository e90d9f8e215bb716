#include "client/cli/bundle_locator.h"
#include "client/cli/text.h"
#include "client/cli/tolerance_options.h"
#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/bundle_flow.h"
#include "client/cpp/layers.h"
#include "client/cpp/result_client.h"
#include "core/base/file.h"
#include "core/bundle/verify.h"

namespace helx::cli {
namespace {

constexpr int64_t kModelBytes = int64_t{64} << 20;

class ResultsBisect : public Command {
 public:
  std::string_view Name() const override { return "results bisect"; }
  std::string_view Summary() const override {
    return "Find the first operator whose output leaves the tolerance, by a diagnostic build";
  }

  void Configure(Options& options) override {
    options.Path("target", target_, kBundleHelp, Options::Need::kRequired);
    options.Path("--layers", layers_,
                 "The folder with the reference's output of every operator: op<NNN>-out<J>.bin",
                 Options::Need::kRequired);
    options.Path("--model", model_, "The model, if the server no longer holds it");
    options.Integer("--sample", sample_, 0, 1'000'000, "Which sample (default 0)");
    tolerance_.Configure(options);
    waiting_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(BundlePlace place, LocateBundle(invocation, target_));
    if (place.folder.empty() && !place.stored) {
      return NotFound(place.where + " has no bundle; 'status' says why");
    }
    HELX_ASSIGN_OR_RETURN(const LoadedBundle bundle, LoadPlace(place, invocation.stop));
    HELX_ASSIGN_OR_RETURN(const ComparisonEntry policy, Policy(bundle));
    HELX_ASSIGN_OR_RETURN(const JobEntry job, client::DiagnosticJob(bundle, sample_));
    if (place.connection == nullptr) {
      HELX_ASSIGN_OR_RETURN(place.connection, invocation.Connect());
    }
    HELX_ASSIGN_OR_RETURN(const std::string model, Model(bundle, place, invocation.stop));
    HELX_ASSIGN_OR_RETURN(auto jobs, Diagnose(invocation, place, bundle, job, model));
    if (jobs[0].phase() != helx::v1::SUCCEEDED) {
      return Conclude(invocation, jobs);
    }
    HELX_ASSIGN_OR_RETURN(const LoadedBundle diagnostic,
                          Diagnostic(place.connection, jobs[0], invocation.stop));
    HELX_ASSIGN_OR_RETURN(const Tolerance tolerance, ToleranceOf(policy.default_tolerance));
    HELX_ASSIGN_OR_RETURN(const client::Bisection found,
                          client::BisectLayers(diagnostic, model, layers_, tolerance,
                                               policy.nan_match_both ? NanPolicy::kMatchBoth
                                                                     : NanPolicy::kNeverMatch));
    if (found.compared == 0) {
      return InvalidArgument("no file of " + layers_ +
                             " is the output of an operator that the diagnostic build kept; "
                             "nothing was compared");
    }
    Print(invocation, found);
    return kOk;
  }

 private:
  // The options' tolerance; without one that of the result.
  absl::StatusOr<ComparisonEntry> Policy(const LoadedBundle& bundle) const {
    HELX_ASSIGN_OR_RETURN(ComparisonEntry policy, tolerance_.Policy());
    if (!policy.per_tensor.empty()) {
      return InvalidArgument(
          "--tolerance names an output of the model, and bisect compares those of its operators; "
          "use --absolute and --relative");
    }
    return policy == ComparisonEntry() ? bundle.result.comparison : policy;
  }

  absl::StatusOr<std::string> Model(const LoadedBundle& bundle, const BundlePlace& place,
                                    std::stop_token stop) const {
    const Digest& digest = bundle.request.model;
    if (!model_.empty()) {
      auto content = ReadFile(model_, kModelBytes);
      if (!content.ok()) return InvalidArgument(MessageOf(content.status()));
      if (DigestOf(std::string_view(*content)) != digest) {
        return InvalidArgument(model_ + " is not the model of this result (sha256:" + digest.hash +
                               ")");
      }
      return content;
    }
    client::BlobClient blobs(place.connection);
    HELX_ASSIGN_OR_RETURN(const auto missing, blobs.FindMissing({digest}, stop));
    if (!missing.empty()) {
      return NotFound("the server does not hold the model of this result (sha256:" + digest.hash +
                      "); give it with --model FILE");
    }
    return blobs.DownloadBytes(digest, stop);
  }

  absl::StatusOr<std::vector<helx::v1::Job>> Diagnose(Invocation& invocation,
                                                      const BundlePlace& place,
                                                      const LoadedBundle& bundle,
                                                      const JobEntry& job,
                                                      const std::string& model) const {
    helx::v1::SubmitJobRequest request;
    request.set_name("bisect");
    HELX_ASSIGN_OR_RETURN(*request.mutable_document(),
                          CanonicalJson(JobDocument(job, bundle.request.model)));
    std::vector<client::BlobContent> blobs{client::BlobContent::OfBytes(model)};
    for (const auto& [hash, bytes] : bundle.request_tensors) {
      blobs.push_back(client::BlobContent::OfBytes(bytes));
    }
    HELX_ASSIGN_OR_RETURN(helx::v1::Job submitted,
                          client::SubmitJob(place.connection, request, blobs, {}, invocation.stop));
    return WaitForJobs(invocation, place.connection, {std::move(submitted)}, waiting_);
  }

  static absl::StatusOr<LoadedBundle> Diagnostic(
      const std::shared_ptr<client::Connection>& connection, const helx::v1::Job& job,
      std::stop_token stop) {
    client::ResultClient results(connection);
    HELX_ASSIGN_OR_RETURN(const Digest digest, client::FromProto(job.bundle()));
    HELX_ASSIGN_OR_RETURN(const auto result, results.Get(digest, stop));
    HELX_ASSIGN_OR_RETURN(auto source, results.Open(result, stop));
    return LoadBundle(std::move(source));
  }

  static Json FirstToJson(const client::LayerVerdict& first) {
    const TensorComparison& compared = first.comparison;
    return {{"operator", first.op},
            {"name", Utf8(first.operator_name)},
            {"output", first.output},
            {"tensor", SpecToJson(first.spec)},
            {"elements", compared.elements},
            {"mismatches", compared.mismatches},
            {"nonfinite_pairs", compared.nonfinite_pairs},
            {"max_abs_error", compared.max_abs_error ? Json(*compared.max_abs_error) : Json()},
            {"first_difference",
             {{"position", compared.first_difference->position},
              {"actual", compared.first_difference->actual},
              {"reference", compared.first_difference->reference}}}};
  }

  static void Print(Invocation& invocation, const client::Bisection& found) {
    if (invocation.json) {
      Json skipped = Json::array();
      for (const std::string& text : found.skipped) skipped.push_back(Utf8(text));
      invocation.PrintJson({{"first", found.first ? FirstToJson(*found.first) : Json()},
                            {"compared", found.compared},
                            {"skipped", std::move(skipped)}});
      return;
    }
    for (const std::string& text : found.skipped) {
      invocation.err << "skipped " << Printable(text) << '\n';
    }
    if (!found.first) {
      invocation.out << "no operator's output leaves the tolerance ("
                     << Counted(found.compared, "output") << " compared)\n";
      return;
    }
    const client::LayerVerdict& first = *found.first;
    std::string position;
    for (const int64_t i : first.comparison.first_difference->position) {
      position += (position.empty() ? "" : ", ") + std::to_string(i);
    }
    Fields fields;
    fields.Add("First operator", std::to_string(first.op) + " (" + Printable(first.operator_name) +
                                     "), output " + std::to_string(first.output));
    fields.Add("Tensor", Printable(first.spec.name) + " " + SpecText(first.spec));
    fields.Add("Mismatches",
               Grouped(first.comparison.mismatches) + " of " + Grouped(first.comparison.elements));
    fields.Add("Largest error", first.comparison.max_abs_error.value_or("no finite pair"));
    fields.Add("First difference",
               "[" + position + "]: " + first.comparison.first_difference->actual + ", reference " +
                   first.comparison.first_difference->reference);
    fields.Add("Before it", Counted(found.compared - 1, "output") + " within the tolerance");
    fields.Print(invocation.out);
  }

  std::string target_;
  std::string layers_;
  std::string model_;
  int64_t sample_ = 0;
  ToleranceOptions tolerance_;
  WaitOptions waiting_;
};

}  // namespace

std::unique_ptr<Command> MakeResultsBisect() { return std::make_unique<ResultsBisect>(); }

}  // namespace helx::cli
