#include <filesystem>

#include "client/cli/bundle_locator.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/bundle_folder.h"
#include "client/cpp/result_client.h"
#include "core/base/file.h"
#include "core/bundle/export.h"

namespace helx::cli {
namespace {

class ResultsExport : public Command {
 public:
  std::string_view Name() const override { return "results export"; }
  std::string_view Summary() const override {
    return "Export what a verified bundle says, as portable JSON; a folder needs no server";
  }

  void Configure(Options& options) override {
    options.Path("target", target_, kBundleHelp, Options::Need::kRequired);
    options.Text("--format", format_, "The format: json (the default, and the only one)");
    options.Path("-o,--output", output_, "The file to write (default: standard output)");
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    if (format_ != "json") {
      return InvalidArgument("--format " + format_ + ": allowed is json");
    }
    HELX_RETURN_IF_ERROR(CheckOutput());
    HELX_ASSIGN_OR_RETURN(const BundlePlace place, LocateBundle(invocation, target_));
    HELX_ASSIGN_OR_RETURN(const std::string text, Text(place, invocation.stop));
    if (output_.empty()) {
      invocation.out << text;
      return kOk;
    }
    const absl::Status written = WriteFile(output_, text);
    if (!written.ok()) {
      return WithErrorCode(InvalidArgument(MessageOf(written) + "; choose a place with -o"),
                           "unwritable");
    }
    if (invocation.json) {
      invocation.PrintJson({{"where", Utf8(place.where)}, {"output", Utf8(output_)}});
    } else {
      invocation.out << Printable(output_) << '\n';
    }
    return kOk;
  }

 private:
  // A file takes the place of what is there: never of a device, a pipe or a link.
  absl::Status CheckOutput() const {
    if (output_.empty()) return absl::OkStatus();
    std::error_code error;
    const auto type = std::filesystem::symlink_status(output_, error).type();
    if (type != std::filesystem::file_type::not_found &&
        type != std::filesystem::file_type::regular) {
      return WithErrorCode(
          InvalidArgument(output_ + " is not a regular file; choose another place with -o"),
          "unwritable");
    }
    return client::CheckOutsideBundles(output_);
  }

  // A stored bundle is read and verified where it lies.
  static absl::StatusOr<std::string> Text(const BundlePlace& place, std::stop_token stop) {
    if (place.folder.empty() && place.stored) {
      HELX_ASSIGN_OR_RETURN(const Digest digest, client::FromProto(place.stored->bundle()));
      return client::ResultClient(place.connection).Export(digest, stop);
    }
    if (place.folder.empty()) return NotFound(place.where + " has no bundle; 'status' says why");
    HELX_ASSIGN_OR_RETURN(const LoadedBundle bundle, LoadPlace(place, stop));
    return RenderExport(bundle);
  }

  std::string target_;
  std::string format_ = "json";
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeResultsExport() { return std::make_unique<ResultsExport>(); }

}  // namespace helx::cli
