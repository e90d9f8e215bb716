/* HELX's offline operations behind a C ABI: documents, bundles, verification, identity, export.
 *
 * Every function that can fail returns 0, or a canonical status number (3 INVALID_ARGUMENT,
 * 5 NOT_FOUND, 8 RESOURCE_EXHAUSTED, 13 INTERNAL, 15 DATA_LOSS, ...). `out` receives the result, or
 * on failure the JSON {"code": <stable error code, or the status in lower case>, "message": ...}.
 * Either way the caller releases it with helx_free. JSON goes in and out as UTF-8 without a last NUL.
 *
 * Inputs are borrowed for the duration of the call. Handles are freed by their own function, which
 * takes NULL; a handle may be used by several threads at once, since nothing changes it. No C++
 * exception leaves the library.
 *
 * SPEC is {"dtype", "index", "name", "shape"}. POLICY is {"default": TOLERANCE, "nan": "never_match" |
 * "match_both", "per_tensor": [TOLERANCE with "output"]}, TOLERANCE is {"absolute", "relative"} with
 * JSON numbers or their text, finite and >= 0; absent members are zero tolerances, never_match and
 * no overrides. Formats: docs/formats.md.
 */
#ifndef HELX_CORE_CAPI_HELX_CORE_H_
#define HELX_CORE_CAPI_HELX_CORE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HELX_EXPORT __attribute__((visibility("default")))
#else
#define HELX_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a signature or a meaning does. */
#define HELX_CORE_ABI_VERSION 2
HELX_EXPORT int helx_core_abi_version(void);

/* Borrowed. `data` may be NULL when `size` is 0. */
typedef struct helx_bytes {
  const uint8_t* data;
  size_t size;
} helx_bytes;

/* Owned by the caller. */
typedef struct helx_buffer {
  uint8_t* data;
  size_t size;
} helx_buffer;

/* Releases the memory and empties the buffer; NULL and empty buffers are fine. */
HELX_EXPORT void helx_free(helx_buffer* buffer);

/* The primary subgraph's interface, without running the model: {"inputs": [SPEC], "outputs": [SPEC]}. */
HELX_EXPORT int helx_model_tensors(helx_bytes model, helx_buffer* out);

/* Whether `data` is storage of the spec: {"elements", "sha256", "size_bytes"}, or wrong_length, boolean_byte. */
HELX_EXPORT int helx_tensor_check(helx_bytes spec, helx_bytes data, helx_buffer* out);

/* One of a tolerance's two numbers, written as in JSON: the shortest text of its double, as a JSON string. Refuses with
 * not_a_number, not_finite or negative_number what is no finite number >= 0. */
HELX_EXPORT int helx_tolerance_number(helx_bytes text, helx_buffer* out);

/* Compares two tensors of one spec; the policy's default applies unless it overrides the spec's index:
 * {"matched", "elements", "mismatches", "nonfinite_pairs", "max_abs_error", "first_difference"}. */
HELX_EXPORT int helx_compare(helx_bytes spec, helx_bytes actual, helx_bytes reference,
                             helx_bytes policy, helx_buffer* out);

/* The identity of input sets, [[SPEC with "sha256"]]: none, one, or one per sample. The same JSON as
 * helx_bundle_input_identity. */
HELX_EXPORT int helx_input_identity(helx_bytes input_sets, helx_buffer* out);

/* A YAML document as JSON, member for member as written. Only the syntax is checked. */
HELX_EXPORT int helx_document_json(helx_bytes yaml, helx_bytes file_name, helx_buffer* out);

typedef struct helx_experiment helx_experiment;

/* Parses and checks a document (JSON is YAML); tensor files are read relative to `folder`. On success `out` is empty. */
HELX_EXPORT int helx_experiment_parse(helx_bytes yaml, helx_bytes file_name, helx_bytes folder,
                                      helx_experiment** experiment, helx_buffer* out);
HELX_EXPORT void helx_experiment_free(helx_experiment* experiment);
/* {"name", "jobs": [{"run", "model_path", "model_stem", "bundle_path", "engine", "platform", "warmup", "samples", "state",
 * "execute", "captured", "tensors": [{"sha256", "size"}]}]}. */
HELX_EXPORT int helx_experiment_describe(const helx_experiment* experiment, helx_buffer* out);
/* YAML that parses to the same experiment, every tensor as explicit hexadecimal. */
HELX_EXPORT int helx_experiment_save(const helx_experiment* experiment, helx_buffer* out);
/* The canonical helx.document/v1 of one job, its model given by digest (64 hexadecimal characters). */
HELX_EXPORT int helx_experiment_job_document(const helx_experiment* experiment, size_t job,
                                             helx_bytes model_sha256, int64_t model_size,
                                             helx_buffer* out);
/* The bytes of a tensor that some job names. */
HELX_EXPORT int helx_experiment_tensor(const helx_experiment* experiment, helx_bytes sha256,
                                       helx_buffer* out);

typedef struct helx_bundle helx_bundle;

/* Reads a bundle folder and verifies everything in it. On success `out` is empty. */
HELX_EXPORT int helx_bundle_open(helx_bytes folder, helx_bundle** bundle, helx_buffer* out);
HELX_EXPORT void helx_bundle_free(helx_bundle* bundle);
/* {"assessment", "content_digest", "manifest", "manifest_sha256", "request", "result"}. */
HELX_EXPORT int helx_bundle_view(const helx_bundle* bundle, helx_buffer* out);
/* The bytes of a retained output, checked against the manifest again. */
HELX_EXPORT int helx_bundle_output(const helx_bundle* bundle, size_t sample, size_t output,
                                   helx_buffer* out);
/* The bytes of any file the manifest lists, checked likewise. */
HELX_EXPORT int helx_bundle_artifact(const helx_bundle* bundle, helx_bytes path, helx_buffer* out);
/* Compares a sample's outputs with references: `specs` is [SPEC], `references` as many byte strings.
 * {"matched", "reference_index", "tensors": [...]} as in result.json. */
HELX_EXPORT int helx_bundle_verify(const helx_bundle* bundle, size_t sample, helx_bytes specs,
                                   const helx_bytes* references, size_t count, helx_bytes policy,
                                   helx_buffer* out);
/* {"value", "canonical_json", "unavailable_reason", "sequence_value", "sequence_canonical_json"}, null where absent. */
HELX_EXPORT int helx_bundle_input_identity(const helx_bundle* bundle, helx_buffer* out);
/* The portable export's JSON, compact; and the same rendered for a file. */
HELX_EXPORT int helx_bundle_observations(const helx_bundle* bundle, helx_buffer* out);
HELX_EXPORT int helx_bundle_export(const helx_bundle* bundle, helx_buffer* out);

#ifdef __cplusplus
}
#endif

#endif /* HELX_CORE_CAPI_HELX_CORE_H_ */
