// Every way to falsify a bundle is refused by a code of its own. Where it matters, the tamperer
// also rewrites the manifest (and whatever else is derived), so that only the evidence itself can
// give them away.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/bundle/layout.h"
#include "core/bundle/reader.h"
#include "core/bundle/request_file.h"
#include "tests/unit/core/bundle/bundle_fixture.h"
#include "tests/unit/core/bundle/test_image.h"

namespace helx {
namespace {

namespace fs = std::filesystem;

struct Tampering {
  const char* name;
  const char* code;
  std::function<std::string()> make;  // the folder of the falsified bundle
};

std::string Folder(BundleParts parts) { return WriteFolder(parts); }

// Changes the parts; request-derived values are left as they were.
std::function<std::string()> Parts(std::function<void(BundleParts&)> change) {
  return [change] {
    BundleParts parts = ExampleParts();
    change(parts);
    return Folder(parts);
  };
}

// Changes the request and everything that follows from it, image included.
std::function<std::string()> Rebound(std::function<void(BundleParts&)> change) {
  return [change] {
    BundleParts parts = ExampleParts();
    change(parts);
    parts.Rebind();
    return Folder(parts);
  };
}

// Changes the files after they were written correctly; the manifest stays.
std::function<std::string()> Disk(std::function<void(const fs::path&)> change) {
  return [change] {
    const std::string folder = Folder(ExampleParts());
    change(folder);
    return folder;
  };
}

// Changes a JSON file and lists it correctly again.
std::function<std::string()> JsonFile(const char* path, std::function<void(Json&)> change) {
  return [path, change] {
    auto files = BundleFiles(ExampleParts());
    Json value = *ParseJson(files[path]);
    change(value);
    files[path] = *CanonicalJson(value);
    return WriteFolder(files, *ManifestOf(files).Canonical());
  };
}

std::function<std::string()> ManifestJson(std::function<void(Json&)> change) {
  return [change] {
    const auto files = BundleFiles(ExampleParts());
    Json value = *ParseJson(*ManifestOf(files).Canonical());
    change(value);
    return WriteFolder(files, *CanonicalJson(value));
  };
}

// Changes one of the manifest's artifacts.
std::function<std::string()> ManifestArtifact(const char* path, std::function<void(Json&)> change) {
  return ManifestJson([path, change](Json& m) {
    for (Json& artifact : m["artifacts"]) {
      if (artifact["path"] == path) change(artifact);
    }
  });
}

// Changes the memory plan, and names it correctly everywhere.
std::function<std::string()> Plan(std::function<void(Json&)> change) {
  return Parts([change](BundleParts& p) {
    Json plan = *ParseJson(p.files[kMemoryPlanPath]);
    change(plan);
    p.files[kMemoryPlanPath] = PrettyJson(plan);
    p.NameFiles();
  });
}

// Links another image of the same request.
std::function<std::string()> Linked(std::function<void(std::vector<TestSection>&)> change) {
  return Parts([change](BundleParts& p) {
    const auto raw = *HexDecode(p.result.tensor_request_digest);
    std::vector<TestSection> sections = TestSections(std::string(raw.begin(), raw.end()));
    change(sections);
    p.SetImage(TestElf(sections));
  });
}

Json& MemoryOf(Json& result, const char* name) { return result["measurements"]["memory"][name]; }
Json& CountOf(Json& result) { return result["measurements"]["samples"][1]["instructions"]; }

void Overwrite(const fs::path& path, const std::string& content) {
  fs::remove(path);
  FILE* file = fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  fwrite(content.data(), 1, content.size(), file);
  fclose(file);
}

std::vector<Tampering> Tamperings() {
  return {
      {"manifest_removed", "manifest_missing",
       Disk([](const fs::path& f) { fs::remove(f / "manifest.json"); })},
      {"manifest_truncated", "manifest_invalid",
       Disk([](const fs::path& f) { fs::resize_file(f / "manifest.json", 40); })},
      {"manifest_newer", "manifest_version",
       ManifestJson([](Json& m) { m["schema_version"] = 2; })},
      {"manifest_foreign", "manifest_schema", ManifestJson([](Json& m) { m["schema"] = "other"; })},
      {"manifest_extended", "manifest_not_canonical",
       ManifestJson([](Json& m) { m["note"] = "x"; })},
      {"manifest_unsorted", "manifest_order",
       ManifestJson([](Json& m) { std::swap(m["artifacts"][0], m["artifacts"][1]); })},
      {"manifest_twice", "duplicate_artifact", ManifestJson([](Json& m) {
         m["artifacts"].insert(m["artifacts"].begin(), m["artifacts"][0]);
       })},
      {"manifest_lists_itself", "manifest_lists_itself",
       ManifestJson([](Json& m) { m["artifacts"][0]["path"] = "manifest.json"; })},
      {"manifest_escapes", "unsafe_path",
       ManifestJson([](Json& m) { m["artifacts"][0]["path"] = "../image.elf"; })},
      {"manifest_failed", "bundle_incomplete",
       ManifestJson([](Json& m) { m["status"] = "failed"; })},
      {"artifact_removed", "artifact_missing",
       Disk([](const fs::path& f) { fs::remove(f / "logs/run.log"); })},
      {"artifact_truncated", "artifact_size",
       Disk([](const fs::path& f) { fs::resize_file(f / "tensors/inputs/0/input-0.bin", 3); })},
      {"artifact_edited", "artifact_modified", Disk([](const fs::path& f) {
         Overwrite(f / "tensors/inputs/0/input-0.bin", "\x01\x02\x03\xfe");
       })},
      {"outputs_swapped_on_disk", "artifact_size", Disk([](const fs::path& f) {
         fs::rename(f / "tensors/outputs/0/output-0.bin", f / "x");
         fs::rename(f / "tensors/inputs/0/input-1.bin", f / "tensors/outputs/0/output-0.bin");
         fs::rename(f / "x", f / "tensors/inputs/0/input-1.bin");
       })},
      {"extra_file", "unlisted_file",
       Disk([](const fs::path& f) { Overwrite(f / "tensors/extra.bin", "x"); })},
      {"symbolic_link", "special_file", Disk([](const fs::path& f) {
         fs::remove(f / "logs/run.log");
         fs::create_symlink("/etc/hostname", f / "logs/run.log");
       })},
      {"linked_folder", "special_file", Disk([](const fs::path& f) {
         fs::rename(f / "logs", f.string() + ".logs");
         fs::create_symlink(f.string() + ".logs", f / "logs");
       })},
      {"request_removed", "request_missing",
       [] {
         auto files = BundleFiles(ExampleParts());
         files.erase("request.json");
         return WriteFolder(files, *ManifestOf(files).Canonical());
       }},
      {"result_removed", "result_missing",
       [] {
         auto files = BundleFiles(ExampleParts());
         files.erase("result.json");
         return WriteFolder(files, *ManifestOf(files).Canonical());
       }},
      {"manifest_called_degraded", "validity_mismatch",
       ManifestJson([](Json& m) { m["validity"] = "degraded"; })},
      {"manifest_called_invalid", "validity_mismatch",
       ManifestJson([](Json& m) { m["validity"] = "invalid"; })},
      {"manifest_called_valid", "validity_mismatch", ManifestJson([](Json& m) {
         m["issues"] = {{{"code", "x"}, {"context", {}}, {"message", "x"}, {"severity", "error"}}};
       })},
      {"manifest_invalid_with_its_reason", "bundle_invalid", ManifestJson([](Json& m) {
         m["issues"] = {{{"code", "x"}, {"context", {}}, {"message", "x"}, {"severity", "error"}}};
         m["validity"] = "invalid";
       })},
      {"result_as_diagnostic", "wrong_role",
       ManifestArtifact("result.json", [](Json& a) { a["role"] = "diagnostic"; })},
      {"image_as_diagnostic", "wrong_role",
       ManifestArtifact(kImagePath, [](Json& a) { a["role"] = "diagnostic"; })},
      {"output_as_evidence", "wrong_role",
       ManifestArtifact("tensors/outputs/0/output-0.bin", [](Json& a) { a["role"] = "evidence"; })},
      {"log_as_evidence", "wrong_role",
       ManifestArtifact("logs/run.log", [](Json& a) { a["role"] = "evidence"; })},
      {"image_as_text", "media_type_mismatch",
       ManifestArtifact(kImagePath, [](Json& a) { a["media_type"] = "text/plain"; })},
      {"log_as_bytes", "media_type_mismatch",
       ManifestArtifact("logs/run.log",
                        [](Json& a) { a["media_type"] = "application/octet-stream"; })},
      {"file_of_no_bundle", "unknown_artifact",
       Parts([](BundleParts& p) { p.files["notes.txt"] = "x"; })},
      {"output_beside_its_folder", "unknown_artifact",
       Parts([](BundleParts& p) { p.files["tensors/output-0.bin"] = "x"; })},
      {"request_foreign", "request_schema",
       JsonFile("request.json", [](Json& r) { r["schema"] = "x"; })},
      {"request_extended", "request_not_canonical",
       JsonFile("request.json", [](Json& r) { r["note"] = 1; })},
      {"request_malformed", "request_invalid",
       JsonFile("request.json", [](Json& r) { r["request"].erase("engine"); })},
      {"request_tensor_edited", "request_tensor_modified",
       JsonFile("request.json", [](Json& r) { *r["tensors"].begin() = "00"; })},
      {"request_tensor_removed", "request_tensor_missing",
       JsonFile("request.json", [](Json& r) { r["tensors"].erase(r["tensors"].begin()); })},
      {"request_tensor_added", "request_tensor_unneeded",
       JsonFile("request.json",
                [](Json& r) { r["tensors"][Sha256Hex(std::string_view("x"))] = "78"; })},
      {"request_other_samples", "identity_mismatch",
       Parts([](BundleParts& p) { p.request.acquisition.warmup = 7; })},
      {"result_foreign", "result_schema",
       JsonFile("result.json", [](Json& r) { r["schema"] = "helx.result/5"; })},
      {"result_extended", "result_not_canonical",
       JsonFile("result.json", [](Json& r) { r["note"] = 1; })},
      {"result_malformed", "result_invalid",
       JsonFile("result.json", [](Json& r) { r["measurements"].erase("memory"); })},
      {"result_value_and_reason", "result_invalid",
       JsonFile("result.json",
                [](Json& r) { MemoryOf(r, "stack_high_water_bytes")["reason"] = "none"; })},
      {"result_negative_counter", "result_invalid",
       JsonFile("result.json",
                [](Json& r) { r["measurements"]["samples"][0]["instructions"]["value"] = -1; })},
      {"other_model", "model_mismatch",
       Parts([](BundleParts& p) { p.result.model = DigestOf(std::string_view("x")); })},
      {"other_platform", "platform_mismatch",
       Parts([](BundleParts& p) { p.result.platform = "mps2-m4"; })},
      {"other_core", "core_mismatch", Parts([](BundleParts& p) { p.result.core = "cortex-m4"; })},
      {"platform_of_nobody", "platform_unknown",
       Rebound([](BundleParts& p) { p.request.platform = p.result.platform = "corstone-3000"; })},
      {"other_engine", "engine_mismatch",
       Parts([](BundleParts& p) { p.result.engine.version = "2"; })},
      {"other_toolchain", "toolchain_mismatch",
       Parts([](BundleParts& p) { p.result.toolchain.version = "13"; })},
      {"other_target", "target_mismatch",
       Parts([](BundleParts& p) { p.result.target.version = "8"; })},
      {"other_acquisition", "acquisition_mismatch",
       Parts([](BundleParts& p) { p.result.acquisition.state = "carry"; })},
      {"build_only_that_ran", "execution_mismatch",
       Rebound([](BundleParts& p) { p.request.execute = false; })},
      {"intent_changed", "intent_mismatch",
       Parts([](BundleParts& p) { p.result.input_intent = "implicit_zeros"; })},
      {"intent_false", "intent_false", Rebound([](BundleParts& p) {
         p.request.tensors.explicit_inputs = false;
         p.result.input_intent = "implicit_zeros";
       })},
      {"input_renamed", "inputs_mismatch",
       Parts([](BundleParts& p) { p.result.inputs[0][0].spec.name = "x"; })},
      {"input_removed", "inputs_mismatch",
       Parts([](BundleParts& p) { p.result.inputs[0].pop_back(); })},
      {"input_path_swapped", "tensor_path", Parts([](BundleParts& p) {
         std::swap(p.result.inputs[0][0].path, p.result.inputs[0][1].path);
       })},
      {"input_file_replaced", "input_artifact_mismatch", Parts([](BundleParts& p) {
         p.files["tensors/inputs/0/input-0.bin"] = p.files["tensors/outputs/0/output-0.bin"];
       })},
      {"output_reshaped", "outputs_mismatch",
       Parts([](BundleParts& p) { p.result.outputs[0].shape = {4}; })},
      {"reference_redescribed", "references_mismatch",
       Parts([](BundleParts& p) { p.result.references[0].description = "independent"; })},
      {"reference_file_replaced", "reference_artifact_mismatch", Parts([](BundleParts& p) {
         p.files["tensors/references/1/output-1.bin"] = p.files["tensors/outputs/1/output-1.bin"];
       })},
      {"tolerance_widened", "policy_mismatch",
       Parts([](BundleParts& p) { p.result.comparison.default_tolerance.absolute = "1"; })},
      {"runner_digest_edited", "runner_digest_mismatch",
       Parts([](BundleParts& p) { p.result.tensor_request_digest[0] ^= 1; })},
      {"image_of_another_request", "compiled_digest_mismatch",
       Linked([](std::vector<TestSection>& s) { s[2].content[0] ^= 1; })},
      {"request_digest_elsewhere", "compiled_digest_mismatch",
       Linked([](std::vector<TestSection>& s) {
         s[0].content.replace(0, 32, s[2].content);
         s[2].content = std::string(32, '\0');
       })},
      {"request_digest_after_the_sections", "compiled_digest_mismatch", Parts([](BundleParts& p) {
         const auto raw = *HexDecode(p.result.tensor_request_digest);
         p.SetImage(TestElf(TestSections(std::string(32, 'x'))) +
                    std::string(raw.begin(), raw.end()));
       })},
      {"image_not_of_this_processor", "image_invalid", Parts([](BundleParts& p) {
         std::string elf = p.files[kImagePath];
         elf[18] = 62;  // e_machine: EM_X86_64
         p.SetImage(elf);
       })},
      {"image_replaced", "image_mismatch",
       Parts([](BundleParts& p) { p.files[kImagePath] += "x"; })},
      {"image_digest_edited", "image_mismatch",
       Parts([](BundleParts& p) { p.result.image_sha256 = Sha256Hex(std::string_view("x")); })},
      {"image_removed", "image_missing", Parts([](BundleParts& p) {
         p.files.erase(kImagePath);
         p.NameFiles();
       })},
      {"image_under_another_name", "image_missing", Parts([](BundleParts& p) {
         p.files["build/other.bin"] = p.files[kImagePath];
         p.files.erase(kImagePath);
         p.NameFiles();
       })},
      {"image_beyond_memory", "image_outside_platform",
       Linked([](std::vector<TestSection>& s) { s[0].address = 0x60000000; })},
      {"more_text_linked", "memory_mismatch", Linked([](std::vector<TestSection>& s) {
         s[0].bytes += 4;
         s[0].content += "more";
       })},
      {"plan_removed", "memory_plan_missing", Parts([](BundleParts& p) {
         p.files.erase(kMemoryPlanPath);
         p.NameFiles();
       })},
      {"plan_edited", "file_mismatch", Parts([](BundleParts& p) {
         Json plan = *ParseJson(p.files[kMemoryPlanPath]);
         plan["operators"][0]["macs"] = 1;
         p.files[kMemoryPlanPath] = PrettyJson(plan);
       })},
      {"plan_malformed", "memory_plan_invalid", Plan([](Json& m) { m.erase("tensors"); })},
      {"plan_negative", "memory_plan_invalid", Plan([](Json& m) { m["weight_bytes"] = -1; })},
      {"plan_tensor_outside", "memory_plan_invalid",
       Plan([](Json& m) { m["tensors"][0]["offset"] = 247; })},
      {"plan_tensor_backwards", "memory_plan_invalid",
       Plan([](Json& m) { m["tensors"][0]["first"] = 4; })},
      {"plan_scratch_larger", "memory_plan_invalid",
       Plan([](Json& m) { m["scratch_bytes"] = m["operators"][0]["scratch_bytes"] = 257; })},
      {"plan_more_in_use", "memory_plan_invalid",
       Plan([](Json& m) { m["operators"][0]["live_bytes"] = m["peak_bytes"] = 27; })},
      {"plan_peak_elsewhere", "memory_plan_invalid", Plan([](Json& m) { m["peak_bytes"] = 25; })},
      {"plan_scratch_of_no_operator", "memory_plan_invalid",
       Plan([](Json& m) { m["scratch_bytes"] = 17; })},
      {"plan_extended", "memory_plan_invalid",
       Plan([](Json& m) { m["operators"][0]["note"] = "x"; })},
      {"plan_arena_larger", "memory_plan_mismatch", Plan([](Json& m) { m["arena_bytes"] = 257; })},
      {"plan_weights_larger", "memory_plan_mismatch",
       Plan([](Json& m) { m["weight_bytes"] = 1025; })},
      {"plan_variables_larger", "memory_plan_mismatch",
       Plan([](Json& m) { m["variable_bytes"] = 33; })},
      {"plan_of_another_region", "placement_mismatch",
       Plan([](Json& m) { m["placement"]["arena"] = "DTCM"; })},
      {"plan_of_no_region", "placement_mismatch",
       Plan([](Json& m) { m["placement"]["code"] = "SSRAM1"; })},
      {"placement_not_as_asked", "placement_mismatch",
       Rebound([](BundleParts& p) { p.request.placement.weights = "SRAM"; })},
      {"source_edited", "file_mismatch",
       Parts([](BundleParts& p) { p.files["build/src/model.c"] = "int other;\n"; })},
      {"source_removed", "file_missing",
       Parts([](BundleParts& p) { p.files.erase("build/src/model.c"); })},
      {"source_added", "file_unreferenced",
       Parts([](BundleParts& p) { p.files["build/src/more.c"] = ""; })},
      {"layer_added", "file_unreferenced",
       Parts([](BundleParts& p) { p.files["layers/op000-out0.bin"] = "x"; })},
      {"file_digest_edited", "file_mismatch",
       JsonFile("result.json", [](Json& r) { r["files"][0]["size"] = 1; })},
      {"log_named_as_evidence", "file_missing", Parts([](BundleParts& p) {
         p.result.files.push_back({"logs/run.log", DigestOf(p.files["logs/run.log"])});
       })},
      {"files_unsorted", "result_invalid",
       Parts([](BundleParts& p) { std::swap(p.result.files[0], p.result.files[1]); })},
      {"rom_edited", "memory_mismatch",
       JsonFile("result.json", [](Json& r) { MemoryOf(r, "rom_bytes")["value"] = 1639; })},
      {"ram_edited", "memory_mismatch",
       JsonFile("result.json", [](Json& r) { MemoryOf(r, "ram_bytes")["value"] = 4493; })},
      {"arena_edited", "memory_mismatch",
       JsonFile("result.json", [](Json& r) { MemoryOf(r, "arena_bytes")["value"] = 0; })},
      {"weights_unknown", "memory_mismatch",
       JsonFile("result.json",
                [](Json& r) {
                  MemoryOf(r, "weight_bytes")["value"] = nullptr;
                  MemoryOf(r, "weight_bytes")["reason"] = "not known";
                })},
      {"memory_of_another_basis", "measurement_basis",
       JsonFile("result.json", [](Json& r) { MemoryOf(r, "ram_bytes")["basis"] = "runner"; })},
      {"memory_estimated", "measurement_basis",
       JsonFile("result.json", [](Json& r) { MemoryOf(r, "ram_bytes")["accuracy"] = "estimate"; })},
      {"stack_of_another_basis", "measurement_basis",
       JsonFile("result.json",
                [](Json& r) { MemoryOf(r, "stack_high_water_bytes")["basis"] = "elf"; })},
      {"stack_beyond_its_end", "stack_exceeded",
       JsonFile("result.json",
                [](Json& r) { MemoryOf(r, "stack_high_water_bytes")["value"] = 4097; })},
      {"stack_withheld", "measurement_missing",
       JsonFile("result.json",
                [](Json& r) {
                  MemoryOf(r, "stack_high_water_bytes")["value"] = nullptr;
                  MemoryOf(r, "stack_high_water_bytes")["reason"] = "not painted";
                })},
      {"count_of_another_basis", "measurement_basis",
       JsonFile("result.json", [](Json& r) { CountOf(r)["basis"] = "silicon"; })},
      {"count_estimated", "measurement_basis",
       JsonFile("result.json", [](Json& r) { CountOf(r)["accuracy"] = "estimate"; })},
      {"count_of_nothing", "measurement_missing",
       JsonFile("result.json", [](Json& r) { CountOf(r)["value"] = 0; })},
      {"count_withheld", "measurement_missing",
       JsonFile("result.json",
                [](Json& r) {
                  CountOf(r)["value"] = nullptr;
                  CountOf(r)["reason"] = "not counted";
                })},
      {"diagnostic_run_with_counts", "measurement_unexpected",
       Rebound([](BundleParts& p) { p.request.probe = true; })},
      {"sample_dropped", "sample_count",
       Parts([](BundleParts& p) { p.result.samples.pop_back(); })},
      {"samples_swapped", "sample_index",
       Parts([](BundleParts& p) { std::swap(p.result.samples[0], p.result.samples[1]); })},
      {"signature_dropped", "signature_count",
       Parts([](BundleParts& p) { p.result.samples[0].signatures.pop_back(); })},
      {"signature_malformed", "signature_malformed",
       Parts([](BundleParts& p) { p.result.samples[0].signatures[0] = "ABC"; })},
      {"signature_edited", "signature_mismatch",
       Parts([](BundleParts& p) { p.result.samples[0].signatures[0][0] ^= 1; })},
      {"output_replaced", "signature_mismatch", Parts([](BundleParts& p) {
         p.files["tensors/outputs/1/output-1.bin"] = p.files["tensors/references/1/output-1.bin"];
       })},
      {"output_dropped", "output_count",
       Parts([](BundleParts& p) { p.result.samples[0].output_tensors.pop_back(); })},
      {"output_path_elsewhere", "tensor_path", Parts([](BundleParts& p) {
         p.result.samples[0].output_tensors[0] = "tensors/outputs/1/output-0.bin";
       })},
      {"output_file_dropped", "tensor_missing",
       Parts([](BundleParts& p) { p.files.erase("tensors/outputs/0/output-0.bin"); })},
      {"references_swapped", "tensor_path", Parts([](BundleParts& p) {
         std::swap(p.result.reference_paths[0], p.result.reference_paths[1]);
       })},
      {"output_longer", "tensor_storage", Parts([](BundleParts& p) {
         p.files["tensors/outputs/0/output-0.bin"] += "x";
         p.result.samples[0].signatures[0] = Sha256Hex(p.files["tensors/outputs/0/output-0.bin"]);
       })},
      {"input_boolean_two", "tensor_storage", Rebound([](BundleParts& p) {
         p.files["tensors/inputs/0/input-1.bin"] = "\x02";
         p.tensor_contents[1] = "\x02";
         p.request.tensors.input_sets[0][1].digest = DigestOf(std::string_view("\x02"));
         p.result.inputs[0][1].digest = DigestOf(std::string_view("\x02"));
       })},
      {"tensor_unreferenced", "tensor_unreferenced",
       Parts([](BundleParts& p) { p.files["tensors/outputs/extra.bin"] = "x"; })},
      {"verdict_turned", "verdict_mismatch",
       Parts([](BundleParts& p) { p.result.samples[1].verification->matched = true; })},
      {"verdict_error_edited", "verdict_mismatch", Parts([](BundleParts& p) {
         p.result.samples[1].verification->tensors[1].max_abs_error = "0";
       })},
      {"verdict_removed", "verdict_missing",
       Parts([](BundleParts& p) { p.result.samples[1].verification.reset(); })},
      {"verdict_invented", "verdict_without_reference",
       [] {
         BundleParts parts = PlainParts();
         parts.result.samples[0].verification = ExampleParts().result.samples[0].verification;
         return Folder(parts);
       }},
      {"reference_index_edited", "verdict_mismatch",
       Parts([](BundleParts& p) { p.result.samples[0].verification->reference_index = 1; })},
  };
}

TEST(Tampering, EachIsRefusedByItsCode) {
  std::set<std::string> codes;
  for (const Tampering& tampering : Tamperings()) {
    const std::string folder = tampering.make();
    const auto bundle = LoadBundle(folder);
    EXPECT_EQ(bundle.ok() ? "accepted" : ErrorCodeOf(bundle.status()), tampering.code)
        << tampering.name << ": " << bundle.status();
    EXPECT_TRUE(bundle.ok() ||
                MessageOf(bundle.status()).starts_with(std::string(tampering.code) + ": "))
        << bundle.status();
    codes.insert(tampering.code);
    fs::remove_all(folder);
    fs::remove_all(folder + ".logs");
  }
  EXPECT_GE(codes.size(), 70u);
}

// Loads a bundle of these files, without a folder.
absl::Status Load(const std::map<std::string, std::string>& files, const std::string& manifest) {
  auto source = OpenBundleBlobs(manifest, [&files](const Artifact& artifact) {
    const auto file = files.find(artifact.path);
    return file == files.end() ? absl::StatusOr<std::string>(
                                     WithErrorCode(NotFound("no such blob"), "artifact_missing"))
                               : absl::StatusOr<std::string>(file->second);
  });
  if (!source.ok()) return source.status();
  return LoadBundle(std::shared_ptr<const BundleSource>(*std::move(source))).status();
}

// Another value of the same type.
Json Altered(const Json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>() + 1;
  if (value.is_null()) return 1;
  if (!value.is_string()) return "x";  // an empty list or object
  std::string text = value.get<std::string>();
  if (text.empty()) return "x";
  text.back() = text.back() == '0' ? '1' : '0';
  return text;
}

// What only the runner saw, and no file of the bundle gives again.
bool IsReported(const std::string& field) {
  return field == "/measurements/memory/stack_high_water_bytes/value" ||
         (field.starts_with("/measurements/samples/") && field.ends_with("/instructions/value"));
}

// Whatever is said anywhere in a bundle's documents, saying something else is noticed, although the
// manifest is made true again.
TEST(Tampering, EveryFieldIsBound) {
  const auto files = BundleFiles(ExampleParts());
  const std::string manifest = *ManifestOf(files).Canonical();
  int refused = 0, reported = 0;
  for (const char* path : {"manifest.json", "request.json", "result.json", kMemoryPlanPath}) {
    const bool listing = path == std::string("manifest.json");
    const Json document = *ParseJson(listing ? manifest : files.at(path));
    const Json fields = document.flatten();
    for (const auto& [field, value] : fields.items()) {
      Json changed = document;
      changed[Json::json_pointer(field)] = Altered(value);
      auto content = files;
      if (!listing) {
        content[path] =
            path == std::string(kMemoryPlanPath) ? PrettyJson(changed) : *CanonicalJson(changed);
      }
      const absl::Status status =
          Load(content, listing ? *CanonicalJson(changed) : *ManifestOf(content).Canonical());
      if (listing || !IsReported(field)) {
        EXPECT_FALSE(ErrorCodeOf(status).empty()) << path << field << " was not noticed";
        ++refused;
      } else {
        EXPECT_TRUE(status.ok()) << path << field << ": " << status;
        ++reported;
      }
    }
  }
  EXPECT_GT(refused, 250);
  EXPECT_EQ(reported, 3);
}

// A bit anywhere in any file is noticed.
TEST(Tampering, EveryFlippedBitIsNoticed) {
  const auto files = BundleFiles(ExampleParts());
  const std::string manifest = *ManifestOf(files).Canonical();
  for (const auto& [path, content] : files) {
    for (size_t bit = 0; bit < content.size() * 8; bit += 1 + content.size() / 4) {
      auto changed = files;
      changed[path][bit / 8] ^= static_cast<char>(1 << bit % 8);
      EXPECT_EQ(ErrorCodeOf(Load(changed, manifest)), "artifact_modified") << path << " " << bit;
    }
  }
}

}  // namespace
}  // namespace helx
