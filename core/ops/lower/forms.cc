#include "core/ops/lower/forms.h"

#include <algorithm>

#include "core/ops/params.h"

namespace helx::ops {
namespace {

// The names of an operator's parameters as a layer writes them.
class FieldNames {
 public:
  struct Field {
    std::string_view name;
    bool array;
  };
  bool Number(std::string_view name, int64_t&, Width, int64_t, int64_t) { return Add(name, false); }
  bool Unsigned64(std::string_view name, uint64_t&, uint64_t) { return Add(name, false); }
  bool Count(std::string_view, int64_t&, int64_t, std::string_view) { return true; }
  template <typename T>
  bool Array(std::string_view name, std::vector<T>&, int64_t, Width, int64_t, int64_t) {
    return Add(name, true);
  }
  bool Records(std::initializer_list<Column> columns, int64_t) {
    for (const Column& column : columns) Add(column.name, true);
    return true;
  }
  bool Require(bool) { return true; }

  const std::vector<Field>& fields() const { return fields_; }

 private:
  bool Add(std::string_view name, bool array) {
    fields_.push_back({name, array});
    return true;
  }
  std::vector<Field> fields_;
};

// Reads a layer whose keys and types are right.
class LayerReader {
 public:
  explicit LayerReader(const Json& layer) : layer_(layer) {}

  bool Number(std::string_view name, int64_t& value, Width, int64_t lo, int64_t hi) {
    return Take(*layer_.Find(name), lo, hi, &value);
  }
  bool Unsigned64(std::string_view name, uint64_t& value, uint64_t lo) {
    const auto read = layer_.Find(name)->Unsigned64();
    if (!read || *read < lo) return false;
    value = *read;
    return true;
  }
  bool Count(std::string_view, int64_t& value, int64_t hi, std::string_view source) {
    value = static_cast<int64_t>(layer_.Find(source)->items().size());
    return value >= 1 && value <= hi;
  }
  template <typename T>
  bool Array(std::string_view name, std::vector<T>& values, int64_t count, Width, int64_t lo,
             int64_t hi) {
    const std::vector<Json>& items = layer_.Find(name)->items();
    if (static_cast<int64_t>(items.size()) != count) return false;
    values.clear();
    values.reserve(items.size());
    for (const Json& item : items) {
      int64_t value = 0;
      if (!Take(item, lo, hi, &value)) return false;
      values.push_back(static_cast<T>(value));
    }
    return true;
  }
  bool Records(std::initializer_list<Column> columns, int64_t count) {
    return std::all_of(columns.begin(), columns.end(), [&](const Column& column) {
      return Array(column.name, *column.values, count, column.width, column.lo, column.hi);
    });
  }
  bool Require(bool condition) { return condition; }

 private:
  static bool Take(const Json& json, int64_t lo, int64_t hi, int64_t* value) {
    const auto read = json.IntegerIn(lo, hi);
    if (read) *value = *read;
    return read.has_value();
  }
  const Json& layer_;
};

class LayerWriter {
 public:
  bool Number(std::string_view name, int64_t& value, Width, int64_t, int64_t) {
    out.Integer(name, value);
    return true;
  }
  bool Unsigned64(std::string_view name, uint64_t& value, uint64_t) {
    out.Integer(name, value);
    return true;
  }
  bool Count(std::string_view, int64_t&, int64_t, std::string_view) { return true; }
  template <typename T>
  bool Array(std::string_view name, std::vector<T>& values, int64_t, Width, int64_t, int64_t) {
    out.Raw(name, JsonIntegers(values));
    return true;
  }
  bool Records(std::initializer_list<Column> columns, int64_t) {
    for (const Column& column : columns) out.Raw(column.name, JsonIntegers(*column.values));
    return true;
  }
  bool Require(bool) { return true; }

  JsonObject out;
};

bool AllIntegers(const Json& json) {
  return std::all_of(json.items().begin(), json.items().end(),
                     [](const Json& item) { return item.is_integer(); });
}

}  // namespace

Result<Json> ReadForm(std::string_view member, const std::vector<std::string_view>& keys,
                      std::string_view form) {
  std::string error;
  std::optional<Json> json = ParseJsonLine(member, &error);
  if (!json) return FormFault("not canonical: " + error);
  if (!json->HasExactly(keys)) return FormFault("the keys are not those of " + std::string(form));
  if (json->Find("form")->text() != form) {
    return FormFault("the form is not \"" + std::string(form) + "\"");
  }
  return std::move(*json);
}

bool IsInput(const Json& json) {
  return json.HasExactly({"c", "fixed", "h_cap", "hi", "lo", "w_cap"}) && AllIntegers(json);
}

bool IsRange(const Json& json) { return json.HasExactly({"hi", "lo"}) && AllIntegers(json); }

bool IsPin(const Json& json) {
  return json.is_string() &&
         (json.text().empty() || json.text() == "acc32" || json.text() == "acc64");
}

bool ReadInput(const Json& json, Input* input) {
  const auto c = json.Find("c")->IntegerIn(1, kMaxDim);
  const auto h = json.Find("h_cap")->IntegerIn(1, kMaxDim);
  const auto w = json.Find("w_cap")->IntegerIn(1, kMaxDim);
  const auto fixed = json.Find("fixed")->IntegerIn(0, 1);
  if (!c || !h || !w || !fixed) return false;
  input->state = false;
  input->fixed = *fixed == 1;
  input->c = *c;
  input->h_cap = *h;
  input->w_cap = *w;
  return ReadRange(json, &input->lo, &input->hi);
}

bool ReadRange(const Json& json, int64_t* lo, int64_t* hi) {
  const auto low = json.Find("lo")->IntegerIn(kI64Min, kI64Max);
  const auto high = json.Find("hi")->IntegerIn(kI64Min, kI64Max);
  if (!low || !high || *low > *high) return false;
  *lo = *low;
  *hi = *high;
  return true;
}

bool IsLayer(const Json& json, Op op, bool bare) {
  FieldNames names;
  Params unused;
  VisitParams(op, unused, names);
  if (!json.is_object() || json.keys().size() != names.fields().size() + (bare ? 0 : 1)) {
    return false;
  }
  if (!bare && json.Find("op") == nullptr) return false;
  return std::all_of(names.fields().begin(), names.fields().end(), [&](const auto& field) {
    const Json* value = json.Find(field.name);
    return value != nullptr && (field.array ? value->is_integers() : value->is_integer());
  });
}

bool ReadLayer(const Json& json, Op op, Params* params) {
  LayerReader reader(json);
  return VisitParams(op, *params, reader);
}

std::string LayerText(Op op, const Params& params, bool bare) {
  LayerWriter writer;
  if (!bare) writer.out.Text("op", OpName(op));
  VisitParams(op, const_cast<Params&>(params), writer);
  return writer.out.Str();
}

uint32_t AddNode(Graph* graph, Op op, std::vector<uint32_t> args, Params params) {
  graph->nodes.push_back({op, std::move(args), std::move(params)});
  return static_cast<uint32_t>(graph->values() - 1);
}

Params LimitParams(int64_t lo, int64_t hi) {
  Params params;
  params.lo = lo;
  params.hi = hi;
  return params;
}

Params RequantParams(Rounding rounding, int64_t mult, int64_t shift, int64_t post_bias) {
  Params params;
  params.rnd = static_cast<int64_t>(rounding);
  params.n = 1;
  params.mult = {mult};
  params.shift = {shift};
  params.post_bias = {post_bias};
  return params;
}

}  // namespace helx::ops
