#include "client/cli/bundle_view.h"

#include "client/cli/memory_view.h"
#include "client/cli/tensor_text.h"
#include "client/cli/text.h"

namespace helx::cli {
namespace {

std::string ToolText(const ToolIdentity& tool) {
  std::string text = Printable(tool.name + " " + tool.version);
  if (!tool.detail.empty()) text += " (" + Printable(tool.detail) + ")";
  return text;
}

std::string MetricText(const Metric& metric) {
  return metric.value ? Grouped(*metric.value) : "unavailable";
}

std::string MetricNote(const Metric& metric) {
  return Printable(metric.value ? metric.accuracy : metric.reason);
}

std::string AcquisitionText(const Acquisition& acquisition) {
  return Counted(acquisition.samples, "sample") + ", " + Counted(acquisition.warmup, "warm-up") +
         ", state " + acquisition.state + (acquisition.capture ? ", outputs captured" : "");
}

std::vector<std::pair<const char*, const Metric*>> MemoryRows(const MemoryFigures& memory) {
  return {{"ROM", &memory.rom_bytes},
          {"  code", &memory.text_bytes},
          {"  constants", &memory.rodata_bytes},
          {"  weights", &memory.weight_bytes},
          {"RAM", &memory.ram_bytes},
          {"  arena", &memory.arena_bytes},
          {"  variables", &memory.variable_bytes},
          {"Stack high water", &memory.stack_high_water_bytes}};
}

bool IsRecorded(const Metric& metric) { return metric.value.has_value() || !metric.reason.empty(); }

void PrintIdentities(const LoadedBundle& bundle, const std::string& where, std::ostream& out) {
  const ResultDocument& result = bundle.result;
  Fields fields;
  fields.Add("Bundle", Printable(where));
  fields.Add("Status", Printable(bundle.manifest.status + ", " + bundle.manifest.validity) +
                           (result.executed ? "" : ", built only"));
  fields.Add("Assessment", result.Assessment());
  fields.Add("Content", "sha256:" + bundle.content_digest);
  fields.Add("Request", Printable(result.request_identity));
  fields.Add("Model", "sha256:" + result.model.hash + " (" + Bytes(result.model.size_bytes) + ")");
  fields.Add("Platform", Printable(result.platform) +
                             (result.core.empty() ? "" : " (" + Printable(result.core) + ")"));
  fields.Add("Engine", ToolText(result.engine));
  fields.Add("Toolchain", ToolText(result.toolchain));
  fields.Add("Target", ToolText(result.target));
  fields.Add("Acquisition", AcquisitionText(result.acquisition));
  fields.Add("Image", "sha256:" + result.image_sha256);
  fields.Print(out);
}

void PrintMemory(const MemoryFigures& memory, std::ostream& out) {
  Table table({"Memory", "Bytes", "Basis", "Accuracy"}, {false, true});
  for (const auto& [name, metric] : MemoryRows(memory)) {
    if (IsRecorded(*metric)) {
      table.Add({name, MetricText(*metric), Printable(metric->basis), MetricNote(*metric)});
    }
  }
  if (table.empty()) return;
  out << '\n';
  table.Print(out);
}

std::string VerdictText(const Sample& sample) {
  if (!sample.verification) return "not_compared";
  return sample.verification->matched ? "match" : "mismatch";
}

void PrintSamples(const ResultDocument& result, std::ostream& out) {
  if (result.samples.empty()) return;
  Table table({"Sample", "Instructions", "Basis", "Accuracy", "Verdict"}, {true, true});
  for (const Sample& sample : result.samples) {
    table.Add({std::to_string(sample.index), MetricText(sample.instructions),
               Printable(sample.instructions.basis), MetricNote(sample.instructions),
               VerdictText(sample)});
  }
  out << '\n';
  table.Print(out);
}

std::string TensorHead(const TensorSpec& spec) {
  return "  " + std::to_string(spec.index) + "  " + Printable(spec.name) + "  " + SpecText(spec);
}

absl::Status PrintInputs(const LoadedBundle& bundle, const BundleViewOptions& options,
                         std::ostream& out) {
  const ResultDocument& result = bundle.result;
  for (size_t set = 0; set < result.inputs.size(); ++set) {
    out << "\nInputs" << (result.inputs.size() > 1 ? " of sample " + std::to_string(set) : "")
        << " (" << Printable(result.input_intent) << ")\n";
    for (const RetainedTensor& tensor : result.inputs[set]) {
      out << TensorHead(tensor.spec) << "  sha256:" << tensor.digest.hash << '\n';
      if (tensor.path.empty() || result.input_intent == "implicit_zeros") continue;
      HELX_ASSIGN_OR_RETURN(const std::string bytes, bundle.ReadArtifact(tensor.path));
      out << "     " << FirstElements(tensor.spec.dtype, bytes, options.values) << '\n';
    }
  }
  return absl::OkStatus();
}

std::string TopText(DType dtype, std::string_view bytes, int64_t count) {
  std::string text;
  for (const RankedElement& element : LargestElements(dtype, bytes, count)) {
    text += (text.empty() ? "" : "  ") + ("[" + std::to_string(element.position) + "] ") +
            element.value;
  }
  return text;
}

std::string PositionText(const std::vector<int64_t>& position) {
  std::string text = "[";
  for (size_t i = 0; i < position.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(position[i]);
  }
  return text + "]";
}

void PrintVerification(const Verification& verification, std::ostream& out) {
  out << "     compared with reference " << verification.reference_index << ": "
      << (verification.matched ? "match" : "mismatch") << '\n';
  for (const TensorVerdict& verdict : verification.tensors) {
    out << "       output " << verdict.output << ": " << Grouped(verdict.mismatches) << " of "
        << Counted(verdict.elements, "element") << " differ, " << Grouped(verdict.nonfinite_pairs)
        << " non-finite pairs, largest error " << verdict.max_abs_error.value_or("none") << '\n';
    if (!verdict.first_difference) continue;
    out << "         first at " << PositionText(verdict.first_difference->position) << ": got "
        << Printable(verdict.first_difference->actual) << ", reference "
        << Printable(verdict.first_difference->reference) << '\n';
  }
}

absl::Status PrintOutputs(const LoadedBundle& bundle, const BundleViewOptions& options,
                          std::ostream& out) {
  const ResultDocument& result = bundle.result;
  for (size_t i = 0; i < result.samples.size(); ++i) {
    const Sample& sample = result.samples[i];
    out << "\nOutputs of sample " << sample.index << '\n';
    for (size_t j = 0; j < result.outputs.size(); ++j) {
      const TensorSpec& spec = result.outputs[j];
      out << TensorHead(spec);
      if (j < sample.signatures.size()) out << "  sha256:" << sample.signatures[j];
      out << '\n';
      if (j >= sample.output_tensors.size()) continue;
      HELX_ASSIGN_OR_RETURN(const std::string bytes, bundle.Output(i, j));
      out << "     " << FirstElements(spec.dtype, bytes, options.values) << '\n';
      if (options.top > 0) {
        out << "     top " << options.top << ": " << TopText(spec.dtype, bytes, options.top)
            << '\n';
      }
    }
    if (sample.verification) PrintVerification(*sample.verification, out);
  }
  return absl::OkStatus();
}

void PrintIssues(const Manifest& manifest, std::ostream& out) {
  if (manifest.issues.empty()) return;
  out << "\nIssues\n";
  for (const Issue& issue : manifest.issues) {
    out << "  " << Printable(issue.severity) << ": " << Indented(Printable(issue.message), "    ")
        << " [" << Printable(issue.code) << "]\n";
  }
}

// [[{"position","value"}...] per output] per sample, of the captured outputs.
absl::StatusOr<Json> TopToJson(const LoadedBundle& bundle, int64_t count) {
  Json samples = Json::array();
  for (size_t i = 0; i < bundle.result.samples.size(); ++i) {
    Json outputs = Json::array();
    for (size_t j = 0; j < bundle.result.samples[i].output_tensors.size(); ++j) {
      HELX_ASSIGN_OR_RETURN(const std::string bytes, bundle.Output(i, j));
      Json elements = Json::array();
      for (const auto& element : LargestElements(bundle.result.outputs[j].dtype, bytes, count)) {
        elements.push_back({{"position", element.position}, {"value", element.value}});
      }
      outputs.push_back(std::move(elements));
    }
    samples.push_back(std::move(outputs));
  }
  return samples;
}

}  // namespace

absl::Status PrintBundle(const LoadedBundle& bundle, const std::string& where,
                         const BundleViewOptions& options, std::ostream& out) {
  PrintIdentities(bundle, where, out);
  PrintMemory(bundle.result.memory, out);
  if (options.memory) HELX_RETURN_IF_ERROR(PrintMemoryPlan(bundle, out));
  PrintSamples(bundle.result, out);
  HELX_RETURN_IF_ERROR(PrintInputs(bundle, options, out));
  HELX_RETURN_IF_ERROR(PrintOutputs(bundle, options, out));
  PrintIssues(bundle.manifest, out);
  return absl::OkStatus();
}

absl::StatusOr<Json> BundleToJson(const LoadedBundle& bundle, const std::string& where,
                                  const BundleViewOptions& options) {
  HELX_ASSIGN_OR_RETURN(const std::string result_text, bundle.result.Canonical());
  HELX_ASSIGN_OR_RETURN(Json result, ParseJson(result_text));
  HELX_ASSIGN_OR_RETURN(Json manifest, ParseJson(bundle.manifest_text));
  Json json = {{"where", Utf8(where)},
               {"assessment", bundle.result.Assessment()},
               {"content_digest", bundle.content_digest},
               {"manifest", std::move(manifest)},
               {"request", bundle.request.ToJson()},
               {"result", std::move(result)}};
  if (options.top > 0) {
    HELX_ASSIGN_OR_RETURN(json["top"], TopToJson(bundle, options.top));
  }
  if (options.memory) {
    HELX_ASSIGN_OR_RETURN(json["memory_plan"], MemoryPlanOf(bundle));
  }
  return json;
}

void PrintSummaries(const std::vector<std::pair<std::string, LoadedBundle>>& bundles,
                    std::ostream& out) {
  Table table({"Bundle", "Platform", "Instructions", "ROM", "RAM", "Arena", "Stack"},
              {false, false, true, true, true, true, true});
  for (const auto& [folder, bundle] : bundles) {
    const ResultDocument& result = bundle.result;
    const MemoryFigures& memory = result.memory;
    table.Add({Printable(folder), Printable(result.platform),
               result.samples.empty() ? "built only" : MetricText(result.samples[0].instructions),
               MetricText(memory.rom_bytes), MetricText(memory.ram_bytes),
               MetricText(memory.arena_bytes), MetricText(memory.stack_high_water_bytes)});
  }
  table.Print(out);
}

}  // namespace helx::cli
