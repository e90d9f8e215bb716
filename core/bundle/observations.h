// What a verified bundle says, in the terms of the portable export (docs/formats.md, "Portable
// export"): public schema 1.0-draft, mapping helx-schema4-draft4.
#ifndef HELX_CORE_BUNDLE_OBSERVATIONS_H_
#define HELX_CORE_BUNDLE_OBSERVATIONS_H_

#include <string_view>

#include "core/base/json.h"
#include "core/base/status.h"
#include "core/bundle/reader.h"

namespace helx {

inline constexpr std::string_view kExportSchemaVersion = "1.0-draft";
inline constexpr std::string_view kExportMapping = "helx-schema4-draft4";
inline constexpr char kExportExtension[] = "helia-estimator";

// The envelope: {"schema_version","mapping","producer","subject","outcome","system","workload",
// "observations","artifacts","extensions"}. Holds no floating-point number: tolerances and errors
// are decimal text, values that are not finite are the hexadecimal of their stored bytes.
//
// `bundle` comes from LoadBundle, which has recomputed every verdict from the retained bytes and
// refused any that differs; those are the comparisons reported here.
absl::StatusOr<Json> Observations(const LoadedBundle& bundle);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_OBSERVATIONS_H_
