#include "client/cli/bundle_locator.h"
#include "client/cli/job_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/result_client.h"

namespace helx::cli {
namespace {

class ResultsFetch : public Command {
 public:
  std::string_view Name() const override { return "results fetch"; }
  std::string_view Summary() const override {
    return "Fetch a stored bundle into a folder, verified, in one step";
  }

  void Configure(Options& options) override {
    options.Text("target", target_,
                 "An experiment's name (name or name/run, the newest result), a job, or the "
                 "digest of a stored bundle",
                 Options::Need::kRequired);
    options.Path("-o,--output", output_,
                 "The bundle's folder (default: results/<name>, results/<name>/<run>)");
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const BundlePlace place, LocateStoredBundle(invocation, target_));
    if (!place.stored) return NotFound(place.where + " has no bundle; 'status' says why");
    client::ResultClient results(place.connection);
    HELX_ASSIGN_OR_RETURN(const std::string folder, Folder(invocation, place, results));
    const auto progress = [&invocation](int64_t done, int64_t total) {
      invocation.progress.Transfer("fetching", done, total);
    };
    HELX_RETURN_IF_ERROR(results.Fetch(*place.stored, folder, progress, invocation.stop));
    if (invocation.json) {
      invocation.PrintJson({{"folder", Utf8(folder)},
                            {"bundle", DigestText(place.stored->bundle())},
                            {"content_digest", place.stored->content_digest()},
                            {"assessment", AssessmentName(place.stored->assessment())}});
    } else {
      invocation.out << Printable(folder) << '\n';
    }
    return kOk;
  }

 private:
  absl::StatusOr<std::string> Folder(const Invocation& invocation, const BundlePlace& place,
                                     client::ResultClient& results) const {
    if (!output_.empty()) return output_;
    if (place.job) {
      return "results/" + place.job->experiment() +
             (place.job->run().empty() ? "" : "/" + place.job->run());
    }
    helx::v1::ListResultsRequest request;
    request.set_page_size(1000);
    do {
      HELX_ASSIGN_OR_RETURN(const auto page, results.List(request, invocation.stop));
      for (const auto& entry : page.results()) {
        if (entry.bundle().hash() != place.stored->bundle().hash()) continue;
        return "results/" + entry.experiment() + (entry.run().empty() ? "" : "/" + entry.run());
      }
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return InvalidArgument("this bundle is not listed under an experiment's name; give the folder with -o");
  }

  std::string target_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeResultsFetch() { return std::make_unique<ResultsFetch>(); }

}  // namespace helx::cli
