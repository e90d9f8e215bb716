// Every way to falsify a bundle is refused by a code of its own. Where it matters, the tamperer
// also rewrites the manifest (and whatever else is derived), so that only the evidence itself can
// give them away.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/bundle/reader.h"
#include "core/bundle/request_file.h"
#include "tests/unit/core/bundle/bundle_fixture.h"

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
       Disk([](const fs::path& f) { fs::resize_file(f / "tensors/input-0.bin", 3); })},
      {"artifact_edited", "artifact_modified",
       Disk([](const fs::path& f) { Overwrite(f / "tensors/input-0.bin", "\x01\x02\x03\xfe"); })},
      {"outputs_swapped_on_disk", "artifact_size", Disk([](const fs::path& f) {
         fs::rename(f / "tensors/sample-0-output-0.bin", f / "x");
         fs::rename(f / "tensors/input-1.bin", f / "tensors/sample-0-output-0.bin");
         fs::rename(f / "x", f / "tensors/input-1.bin");
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
      {"result_as_diagnostic", "wrong_role", ManifestJson([](Json& m) {
         for (Json& a : m["artifacts"])
           if (a["path"] == "result.json") a["role"] = "diagnostic";
       })},
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
      {"result_zero_for_unknown", "result_invalid",
       JsonFile(
           "result.json",
           [](Json& r) { r["measurements"]["memory"]["stack_high_water_bytes"]["value"] = 0; })},
      {"result_negative_counter", "result_invalid",
       JsonFile("result.json",
                [](Json& r) {
                  r["measurements"]["samples"][0]["instructions"]["value"] = -1;
                })},
      {"other_model", "model_mismatch",
       Parts([](BundleParts& p) { p.result.model = DigestOf(std::string_view("x")); })},
      {"other_platform", "platform_mismatch",
       Parts([](BundleParts& p) { p.result.platform = "mps2-m4"; })},
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
      {"input_file_swapped", "input_artifact_mismatch", Parts([](BundleParts& p) {
         std::swap(p.result.inputs[0][0].path, p.result.inputs[0][1].path);
       })},
      {"output_reshaped", "outputs_mismatch",
       Parts([](BundleParts& p) { p.result.outputs[0].shape = {4}; })},
      {"reference_redescribed", "references_mismatch",
       Parts([](BundleParts& p) { p.result.references[0].description = "independent"; })},
      {"reference_file_replaced", "reference_artifact_mismatch", Parts([](BundleParts& p) {
         p.files["tensors/reference-1-output-1.bin"] = p.files["tensors/sample-1-output-1.bin"];
       })},
      {"tolerance_widened", "policy_mismatch",
       Parts([](BundleParts& p) { p.result.comparison.default_tolerance.absolute = "1"; })},
      {"runner_digest_edited", "runner_digest_mismatch",
       Parts([](BundleParts& p) { p.result.tensor_request_digest[0] ^= 1; })},
      {"image_of_another_request", "compiled_digest_mismatch", Parts([](BundleParts& p) {
         p.files[p.image_path] =
             "\x7f"
             "ELF another";
         p.result.image_sha256 = Sha256Hex(p.files[p.image_path]);
       })},
      {"image_replaced", "image_missing",
       Parts([](BundleParts& p) { p.files[p.image_path] += "x"; })},
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
         p.files["tensors/sample-1-output-1.bin"] = p.files["tensors/reference-1-output-1.bin"];
       })},
      {"output_dropped", "output_count",
       Parts([](BundleParts& p) { p.result.samples[0].output_tensors.pop_back(); })},
      {"output_path_elsewhere", "tensor_missing",
       Parts([](BundleParts& p) { p.result.samples[0].output_tensors[0] = "tensors/none.bin"; })},
      {"output_longer", "tensor_storage", Parts([](BundleParts& p) {
         p.files["tensors/sample-0-output-0.bin"] += "x";
         p.result.samples[0].signatures[0] = Sha256Hex(p.files["tensors/sample-0-output-0.bin"]);
       })},
      {"input_boolean_two", "tensor_storage", Rebound([](BundleParts& p) {
         p.files["tensors/input-1.bin"] = "\x02";
         p.tensor_contents[1] = "\x02";
         p.request.tensors.input_sets[0][1].digest = DigestOf(std::string_view("\x02"));
         p.result.inputs[0][1].digest = DigestOf(std::string_view("\x02"));
       })},
      {"tensor_unreferenced", "tensor_unreferenced",
       Parts([](BundleParts& p) { p.files["tensors/extra.bin"] = "x"; })},
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
  EXPECT_GE(codes.size(), 30u);
}

// A bit anywhere in any file is noticed.
TEST(Tampering, EveryFlippedBitIsNoticed) {
  const auto files = BundleFiles(ExampleParts());
  const std::string manifest = *ManifestOf(files).Canonical();
  for (const auto& [path, content] : files) {
    for (size_t bit = 0; bit < content.size() * 8; bit += 1 + content.size() / 4) {
      auto changed = files;
      changed[path][bit / 8] ^= static_cast<char>(1 << bit % 8);
      const std::string folder = WriteFolder(changed, manifest);
      EXPECT_EQ(ErrorCodeOf(LoadBundle(folder).status()), "artifact_modified")
          << path << " " << bit;
      fs::remove_all(folder);
    }
  }
}

}  // namespace
}  // namespace helx
