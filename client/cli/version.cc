#include "client/cli/verbs.h"
#include "core/bundle/manifest.h"
#include "core/bundle/result.h"

namespace helx::cli {
namespace {

class Version : public Command {
 public:
  std::string_view Name() const override { return "version"; }
  std::string_view Summary() const override { return "Print the version; needs no server"; }
  void Configure(Options&) override {}

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    if (invocation.json) {
      invocation.PrintJson(
          {{"version", HELX_VERSION},
           {"schemas", {ResultDocument::kSchema, std::string(Manifest::kSchema) + "/" +
                                                     std::to_string(Manifest::kVersion)}}});
    } else {
      invocation.out << "helxctl " << HELX_VERSION << '\n';
    }
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeVersion() { return std::make_unique<Version>(); }

}  // namespace helx::cli
