#include "core/bundle/export.h"

#include "core/base/file.h"
#include "core/bundle/observations.h"

namespace helx {

absl::StatusOr<std::string> RenderExport(const LoadedBundle& bundle) {
  HELX_ASSIGN_OR_RETURN(const Json view, Observations(bundle));
  // The canonical writer refuses what JSON cannot say; the pretty one would write null instead.
  HELX_RETURN_IF_ERROR(Annotate(CanonicalJson(view).status(), "export"));
  return PrettyJson(view);
}

absl::Status ExportResult(const LoadedBundle& bundle, const std::string& path) {
  HELX_ASSIGN_OR_RETURN(const std::string text, RenderExport(bundle));
  return WriteFile(path, text);
}

}  // namespace helx
