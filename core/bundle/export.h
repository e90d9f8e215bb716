// The portable export as a file: the observations of a bundle as JSON text.
#ifndef HELX_CORE_BUNDLE_EXPORT_H_
#define HELX_CORE_BUNDLE_EXPORT_H_

#include <string>

#include "core/base/status.h"
#include "core/bundle/reader.h"

namespace helx {

// Pretty-printed JSON that docs/schema/helx-export-1.0-draft.schema.json describes; the same bundle
// gives the same text. INVALID_ARGUMENT rather than a number that is floating point or text that is
// not UTF-8.
absl::StatusOr<std::string> RenderExport(const LoadedBundle& bundle);

// Writes it to `path` in place of an older file, atomically.
absl::Status ExportResult(const LoadedBundle& bundle, const std::string& path);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_EXPORT_H_
