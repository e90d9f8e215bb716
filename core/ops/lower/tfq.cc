#include "core/ops/lower/tfq.h"

#include <algorithm>

#include "core/ops/lower/forms.h"

namespace helx::ops {
namespace {

constexpr std::string_view kOpNames[] = {"CONV_2D",
                                         "DEPTHWISE_CONV_2D",
                                         "FULLY_CONNECTED",
                                         "ADD",
                                         "AVERAGE_POOL_2D",
                                         "MAX_POOL_2D",
                                         "PAD",
                                         "RESHAPE"};

int64_t Saturated(const Json& json) {
  if (const auto value = json.IntegerIn(kI64Min, kI64Max)) return *value;
  return json.Text().front() == '-' ? kI64Min : kI64Max;
}

std::vector<int64_t> SaturatedList(const Json& json) {
  std::vector<int64_t> values;
  for (const Json& item : json.items()) values.push_back(Saturated(item));
  return values;
}

bool ReadTensor(const Json& json, TfqTensor* tensor) {
  if (!json.HasExactly({"data", "scale", "shape", "type", "zp"})) return false;
  const Json& data = *json.Find("data");
  const std::string_view type = json.Find("type")->text();
  if (!(data.is_null() || data.is_integers()) || !json.Find("scale")->is_integers() ||
      !json.Find("shape")->is_integers() || !json.Find("zp")->is_integer() ||
      (type != "int8" && type != "int32")) {
    return false;
  }
  tensor->data = data.is_null() ? nullptr : &data;
  tensor->scale = SaturatedList(*json.Find("scale"));
  tensor->shape = SaturatedList(*json.Find("shape"));
  tensor->int8 = type == "int8";
  tensor->zp = Saturated(*json.Find("zp"));
  return true;
}

// The options of a known operator; false when the keys, types or signs are wrong.
bool ReadOptions(const Json& opts, TfqNode* node) {
  std::vector<std::string_view> keys;
  int64_t least = 1;
  if (node->op == TfqOp::kPad) {
    keys = {"pb", "pl", "pr", "pt"};
    least = 0;
  } else if (node->op == TfqOp::kConv2d || node->op == TfqOp::kDepthwise ||
             node->op == TfqOp::kAveragePool || node->op == TfqOp::kMaxPool) {
    keys = {"dh", "dw", "kh", "kw", "pad", "sh", "sw"};
  }
  if (!opts.HasExactly(keys)) return false;
  for (const std::string_view key : keys) {
    const Json& value = *opts.Find(key);
    if (key == "pad") {
      node->same = value.text() == "same";
      if (!node->same && value.text() != "valid") return false;
      continue;
    }
    if (!value.is_integer() || Saturated(value) < least) return false;
    node->opts[std::string(key)] = Saturated(value);
  }
  return true;
}

bool ReadNode(const Json& json, TfqNode* node) {
  if (!json.HasExactly({"act", "in", "op", "opts", "out"})) return false;
  node->act = json.Find("act")->text();
  if ((node->act != "none" && node->act != "relu" && node->act != "relu6") ||
      !json.Find("in")->is_integers() || !json.Find("op")->is_string() ||
      !json.Find("opts")->is_object() || !json.Find("out")->is_integer()) {
    return false;
  }
  node->in = SaturatedList(*json.Find("in"));
  node->out = Saturated(*json.Find("out"));
  node->op = TfqOpFromName(json.Find("op")->text());
  return node->op == TfqOp::kUnknown || ReadOptions(*json.Find("opts"), node);
}

}  // namespace

TfqOp TfqOpFromName(std::string_view name) {
  const auto at = std::find(std::begin(kOpNames), std::end(kOpNames), name);
  return static_cast<TfqOp>(at - std::begin(kOpNames));
}

std::string_view TfqOpName(TfqOp op) {
  return op == TfqOp::kUnknown ? std::string_view("an unknown operator")
                               : kOpNames[static_cast<int>(op)];
}

bool TfqTensor::IsActivationShape() const {
  return (shape.size() == 4 || shape.size() == 2) && shape[0] == 1;
}

Shape TfqTensor::Planar() const {
  return shape.size() == 4 ? Shape{shape[3], shape[1], shape[2]} : Shape{shape[1], 1, 1};
}

int64_t TfqTensor::elements() const {
  i128 product = 1;
  for (const int64_t dim : shape) {
    if (dim < 1 || dim > kI32Max) return -1;
    product *= dim;
    if (product > kI32Max) return -1;
  }
  return static_cast<int64_t>(product);
}

Result<Tfq> ParseTfq(std::string_view member) {
  Result<Json> read = ReadForm(member, {"form", "in", "ops", "out", "rounding", "tensors"}, "tfq");
  if (!read.ok()) return read.refusal();
  Tfq tfq;
  tfq.json = std::move(read.value());
  const Json& json = tfq.json;
  const std::string_view rounding = json.Find("rounding")->text();
  if (!json.Find("in")->is_integer() || !json.Find("out")->is_integer() ||
      !json.Find("ops")->is_array() || !json.Find("tensors")->is_array() ||
      (rounding != "double" && rounding != "single")) {
    return FormFault("in, ops, out, rounding or tensors is not as the form states");
  }
  tfq.single_rounding = rounding == "single";
  tfq.in = Saturated(*json.Find("in"));
  tfq.out = Saturated(*json.Find("out"));
  for (const Json& item : json.Find("tensors")->items()) {
    tfq.tensors.emplace_back();
    if (!ReadTensor(item, &tfq.tensors.back())) {
      return FormFault("tensor " + std::to_string(tfq.tensors.size() - 1) +
                       " is not as the form states");
    }
  }
  for (const Json& item : json.Find("ops")->items()) {
    tfq.nodes.emplace_back();
    if (!ReadNode(item, &tfq.nodes.back())) {
      return LayerFault("op " + std::to_string(tfq.nodes.size() - 1) +
                        " is not as the form states");
    }
  }
  return tfq;
}

PadPair TfqPads(bool same, int64_t size, int64_t extent, int64_t stride) {
  if (!same) return {};
  const int64_t out = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + extent - size);
  return {total / 2, total - total / 2};
}

}  // namespace helx::ops
