#include "core/ops/whg1.h"

#include <array>

#include "core/ops/params.h"

namespace helx::ops {
namespace {

constexpr uint64_t kHeaderSize = 64;
constexpr uint64_t kInputSize = 48;
constexpr uint64_t kNodeSize = 12;
constexpr std::string_view kMagic = "WHG1";

constexpr std::array<uint32_t, 256> CrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
    table[i] = value;
  }
  return table;
}

uint64_t LoadLittle(std::string_view bytes, size_t at, int width) {
  uint64_t value = 0;
  for (int i = width - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

int64_t LoadField(std::string_view bytes, Width width) {
  const uint64_t raw = LoadLittle(bytes, 0, WidthBytes(width));
  if (width == Width::kI16) return static_cast<int16_t>(raw);
  if (width == Width::kI32) return static_cast<int32_t>(raw);
  return static_cast<int64_t>(raw);
}

// Reads a parameter block; stops at the first parameter that is absent or out of range.
class BlockReader {
 public:
  explicit BlockReader(std::string_view block) : block_(block) {}

  bool Number(std::string_view name, int64_t& value, Width width, int64_t lo, int64_t hi) {
    if (!Has(WidthBytes(width), name)) return false;
    value = Take(width);
    return InRange(name, value, lo, hi);
  }
  bool Unsigned64(std::string_view name, uint64_t& value, uint64_t lo) {
    if (!Has(8, name)) return false;
    value = LoadLittle(block_, 0, 8);
    block_.remove_prefix(8);
    return value >= lo || Fail(std::string(name) + " is below " + std::to_string(lo));
  }
  bool Count(std::string_view name, int64_t& value, int64_t hi, std::string_view) {
    return Number(name, value, Width::kU32, 1, hi);
  }
  template <typename T>
  bool Array(std::string_view name, std::vector<T>& values, int64_t count, Width width, int64_t lo,
             int64_t hi) {
    if (!Has(static_cast<uint64_t>(count) * WidthBytes(width), name)) return false;
    values.resize(count);
    for (T& element : values) {
      const int64_t value = Take(width);
      if (!InRange(name, value, lo, hi)) return false;
      element = static_cast<T>(value);
    }
    return true;
  }
  bool Records(std::initializer_list<Column> columns, int64_t count) {
    uint64_t size = 0;
    for (const Column& column : columns) size += WidthBytes(column.width);
    if (!Has(size * count, columns.begin()->name)) return false;
    for (const Column& column : columns) column.values->resize(count);
    for (int64_t i = 0; i < count; ++i) {
      for (const Column& column : columns) {
        const int64_t value = Take(column.width);
        if (!InRange(column.name, value, column.lo, column.hi)) return false;
        (*column.values)[i] = value;
      }
    }
    return true;
  }
  bool Require(bool condition) { return condition || Fail("parameters contradict each other"); }

  bool AtEnd() { return block_.empty() || Fail("bytes after the parameters"); }
  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string what) {
    error_ = std::move(what);
    return false;
  }
  bool Has(uint64_t size, std::string_view name) {
    return block_.size() >= size || Fail("the block ends before " + std::string(name));
  }
  // The next field, which Has() has found.
  int64_t Take(Width width) {
    const int64_t value = LoadField(block_, width);
    block_.remove_prefix(WidthBytes(width));
    return value;
  }
  bool InRange(std::string_view name, int64_t value, int64_t lo, int64_t hi) {
    return (value >= lo && value <= hi) ||
           Fail(std::string(name) + " " + std::to_string(value) + " is outside " +
                std::to_string(lo) + ".." + std::to_string(hi));
  }

  // What is left of the block.
  std::string_view block_;
  std::string error_;
};

class Writer {
 public:
  void Put(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  }
  void Set(size_t at, uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
  }

  bool Number(std::string_view, int64_t& value, Width width, int64_t, int64_t) {
    Put(static_cast<uint64_t>(value), WidthBytes(width));
    return true;
  }
  bool Unsigned64(std::string_view, uint64_t& value, uint64_t) {
    Put(value, 8);
    return true;
  }
  bool Count(std::string_view, int64_t& value, int64_t, std::string_view) {
    Put(static_cast<uint64_t>(value), 4);
    return true;
  }
  template <typename T>
  bool Array(std::string_view, std::vector<T>& values, int64_t, Width width, int64_t, int64_t) {
    for (const T value : values) Put(static_cast<uint64_t>(value), WidthBytes(width));
    return true;
  }
  bool Records(std::initializer_list<Column> columns, int64_t) {
    for (size_t i = 0; i < columns.begin()->values->size(); ++i) {
      for (const Column& column : columns) {
        Put(static_cast<uint64_t>((*column.values)[i]), WidthBytes(column.width));
      }
    }
    return true;
  }
  bool Require(bool) { return true; }

  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// Bytes of a node's parameters.
class Measure {
 public:
  bool Number(std::string_view, int64_t&, Width width, int64_t, int64_t) {
    return Add(WidthBytes(width));
  }
  bool Unsigned64(std::string_view, uint64_t&, uint64_t) { return Add(8); }
  bool Count(std::string_view, int64_t&, int64_t, std::string_view) { return Add(4); }
  template <typename T>
  bool Array(std::string_view, std::vector<T>& values, int64_t, Width width, int64_t, int64_t) {
    return Add(values.size() * WidthBytes(width));
  }
  bool Records(std::initializer_list<Column> columns, int64_t) {
    for (const Column& column : columns) Add(column.values->size() * WidthBytes(column.width));
    return true;
  }
  bool Require(bool) { return true; }

  uint64_t size() const { return size_; }

 private:
  bool Add(uint64_t bytes) {
    size_ += bytes;
    return true;
  }
  uint64_t size_ = 0;
};

uint64_t BlockSize(const Node& node) {
  Measure measure;
  VisitParams(node.op, const_cast<Params&>(node.params), measure);
  return 4 * node.args.size() + measure.size();
}

uint64_t ParamsSize(const Graph& graph) {
  uint64_t size = 0;
  for (const Input& input : graph.inputs) size += 8 * input.init.size();
  for (const Node& node : graph.nodes) size += BlockSize(node);
  return size;
}

// Load steps 1 to 6 over one byte string; each step stores what the next ones need.
class Loader {
 public:
  explicit Loader(std::string_view bytes) : bytes_(bytes) {}

  Result<Graph> Load() {
    if (Header() && Checksums() && Inputs() && Nodes() && Parameters() && Outputs()) {
      return std::move(graph_);
    }
    return refusal_;
  }

 private:
  bool Fail(Code code, std::string detail) {
    refusal_ = Refusal{code, std::move(detail)};
    return false;
  }
  uint64_t Field(size_t at, int width) const { return LoadLittle(bytes_, at, width); }

  bool Header() {
    const auto fail = [this](std::string what) { return Fail(Code::kHeader, std::move(what)); };
    if (bytes_.size() < kHeaderSize) return fail("the file is shorter than 64 bytes");
    if (bytes_.substr(0, 4) != kMagic) return fail("the magic is not WHG1");
    if (Field(4, 2) != 1) return fail("the version is not 1");
    bool reserved = Field(6, 2) == 0;
    for (size_t at = 44; at < 60; ++at) reserved = reserved && bytes_[at] == 0;
    if (!reserved) return fail("a reserved field is not 0");
    n_in_ = Field(8, 4);
    n_nodes_ = Field(12, 4);
    n_out_ = Field(16, 4);
    n_state_ = Field(20, 4);
    const uint64_t max_elems = Field(24, 8);
    params_len_ = Field(32, 4);
    if (n_in_ < 1 || n_in_ > 256) return fail("n_in is outside 1..256");
    if (n_nodes_ < 1 || n_nodes_ > 65536) return fail("n_nodes is outside 1..65536");
    if (n_out_ < 1 || n_out_ > 256) return fail("n_out is outside 1..256");
    if (n_state_ > n_in_) return fail("n_state is above n_in");
    if (max_elems < 1 || max_elems > 0x7FFFFFFF) return fail("max_elems is outside 1..2^31-1");
    graph_.max_elems = static_cast<int64_t>(max_elems);
    const uint64_t length = kHeaderSize + kInputSize * n_in_ + kNodeSize * n_nodes_ +
                            4 * (n_out_ + n_state_) + params_len_;
    if (Field(36, 4) != length) return fail("file_len is not the sum of the parts");
    if (bytes_.size() != length) return fail("the file's length is not file_len");
    params_ = bytes_.substr(length - params_len_);
    return true;
  }

  bool Checksums() {
    if (Crc32(bytes_.substr(0, 60)) != Field(60, 4)) {
      return Fail(Code::kChecksum, "header_crc differs");
    }
    if (Crc32(bytes_.substr(kHeaderSize)) != Field(40, 4)) {
      return Fail(Code::kChecksum, "body_crc differs");
    }
    return true;
  }

  bool Inputs() {
    uint64_t states = 0;
    for (uint64_t i = 0; i < n_in_; ++i) {
      const char* fault = OneInput(kHeaderSize + kInputSize * i);
      if (fault != nullptr) {
        return Fail(Code::kInputs, "input " + std::to_string(i) + ": " + fault);
      }
      states += graph_.inputs.back().state;
    }
    if (states != n_state_) return Fail(Code::kInputs, "the number of states is not n_state");
    return true;
  }

  // Null when the entry at `at` is as section 10.3 states.
  const char* OneInput(size_t at) {
    const uint64_t kind = Field(at, 1);
    const uint64_t fixed = Field(at + 1, 1);
    if (kind > 1) return "kind is not 0 or 1";
    if (fixed > 1 || (kind == 1 && fixed != 1)) return "fixed is not 0 or 1, or 0 for a state";
    if (Field(at + 2, 2) != 0 || Field(at + 40, 8) != 0) return "a reserved field is not 0";
    Input input;
    input.state = kind == 1;
    input.fixed = fixed == 1;
    input.c = static_cast<int64_t>(Field(at + 4, 4));
    input.h_cap = static_cast<int64_t>(Field(at + 8, 4));
    input.w_cap = static_cast<int64_t>(Field(at + 12, 4));
    for (const int64_t dim : {input.c, input.h_cap, input.w_cap}) {
      if (dim < 1 || dim > kMaxDim) return "c, h_cap or w_cap is outside 1..65535";
    }
    input.lo = static_cast<int64_t>(Field(at + 16, 8));
    input.hi = static_cast<int64_t>(Field(at + 24, 8));
    if (input.lo > input.hi) return "lo is above hi";
    const uint64_t init_off = Field(at + 32, 4);
    const uint64_t init_len = Field(at + 36, 4);
    if (input.state) {
      const char* fault = InitialValue(&input, init_off, init_len);
      if (fault != nullptr) return fault;
    } else if (init_off != 0 || init_len != 0) {
      return "a data input has an initial value";
    }
    graph_.inputs.push_back(std::move(input));
    return nullptr;
  }

  const char* InitialValue(Input* input, uint64_t offset, uint64_t length) {
    const int64_t elements = input->c * input->h_cap * input->w_cap;
    if (elements > graph_.max_elems) return "the state has more than max_elems elements";
    if (length != 8 * static_cast<uint64_t>(elements)) return "init_len is not 8 per element";
    if (offset != used_) return "the initial value does not follow the one before it";
    if (length > params_len_ - used_) return "the initial value passes the parameters' end";
    input->init.resize(elements);
    for (int64_t& value : input->init) {
      value = static_cast<int64_t>(LoadLittle(params_, used_, 8));
      used_ += 8;
      if (value < input->lo || value > input->hi) return "an initial value is outside [lo, hi]";
    }
    return nullptr;
  }

  bool Nodes() {
    for (uint64_t i = 0; i < n_nodes_; ++i) {
      const char* fault = OneNode(kHeaderSize + kInputSize * n_in_ + kNodeSize * i, n_in_ + i);
      if (fault != nullptr) {
        return Fail(Code::kNodes, "node " + std::to_string(i) + ": " + fault);
      }
    }
    if (used_ != params_len_) return Fail(Code::kNodes, "the last block does not end the file");
    return true;
  }

  const char* OneNode(size_t at, uint64_t id) {
    const uint64_t op = Field(at, 2);
    const uint64_t n_args = Field(at + 2, 2);
    const uint64_t length = Field(at + 8, 4);
    if (op < kFirstOp || op > kLastOp) return "no such operator";
    Node node;
    node.op = static_cast<Op>(op);
    const ArgCount count = OpArgs(node.op);
    if (n_args < static_cast<uint64_t>(count.min) || n_args > static_cast<uint64_t>(count.max)) {
      return "the operator does not take that many arguments";
    }
    if (Field(at + 4, 4) != used_) return "the block does not follow the one before it";
    if (length < 4 * n_args) return "the block is shorter than its arguments";
    if (length > params_len_ - used_) return "the block passes the parameters' end";
    for (uint64_t i = 0; i < n_args; ++i) {
      node.args.push_back(static_cast<uint32_t>(LoadLittle(params_, used_ + 4 * i, 4)));
      if (node.args.back() >= id) return "an argument is not a smaller id";
    }
    blocks_.push_back(params_.substr(used_ + 4 * n_args, length - 4 * n_args));
    used_ += length;
    graph_.nodes.push_back(std::move(node));
    return nullptr;
  }

  bool Parameters() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      BlockReader reader(blocks_[i]);
      if (!VisitParams(node.op, node.params, reader) || !reader.AtEnd()) {
        return Fail(Code::kParams, "node " + std::to_string(i) + " (" +
                                       std::string(OpName(node.op)) + "): " + reader.error());
      }
    }
    return true;
  }

  bool Outputs() {
    const size_t table = kHeaderSize + kInputSize * n_in_ + kNodeSize * n_nodes_;
    std::vector<bool> used(n_nodes_, false);
    const auto use = [&](uint32_t id) {
      if (id >= n_in_) used[id - n_in_] = true;
    };
    for (uint64_t i = 0; i < n_out_ + n_state_; ++i) {
      const uint32_t id = static_cast<uint32_t>(Field(table + 4 * i, 4));
      if (id >= n_in_ + n_nodes_) {
        return Fail(Code::kOutputs, "output " + std::to_string(i) + " is no value's id");
      }
      use(id);
      (i < n_out_ ? graph_.outputs : graph_.updates).push_back(id);
    }
    for (const Node& node : graph_.nodes) {
      for (const uint32_t id : node.args) use(id);
    }
    for (uint64_t i = 0; i < n_nodes_; ++i) {
      if (!used[i]) {
        return Fail(Code::kOutputs, "the value of node " + std::to_string(i) + " is not used");
      }
    }
    return true;
  }

  std::string_view bytes_;
  std::string_view params_;
  uint64_t n_in_ = 0, n_nodes_ = 0, n_out_ = 0, n_state_ = 0, params_len_ = 0;
  // Parameter bytes given to initial values and blocks so far.
  uint64_t used_ = 0;
  std::vector<std::string_view> blocks_;
  Graph graph_;
  Refusal refusal_;
};

}  // namespace

uint32_t Crc32(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = CrcTable();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return crc ^ 0xFFFFFFFFu;
}

Result<Graph> ReadWhg1(std::string_view bytes) { return Loader(bytes).Load(); }

uint64_t FileSize(const Graph& graph) {
  return kHeaderSize + kInputSize * graph.inputs.size() + kNodeSize * graph.nodes.size() +
         4 * (graph.outputs.size() + graph.updates.size()) + ParamsSize(graph);
}

std::string WriteWhg1(const Graph& graph) {
  Writer out;
  out.bytes().reserve(FileSize(graph));
  out.bytes() += kMagic;
  out.Put(1, 2);
  out.Put(0, 2);
  out.Put(graph.inputs.size(), 4);
  out.Put(graph.nodes.size(), 4);
  out.Put(graph.outputs.size(), 4);
  out.Put(graph.updates.size(), 4);
  out.Put(static_cast<uint64_t>(graph.max_elems), 8);
  out.Put(ParamsSize(graph), 4);
  out.Put(FileSize(graph), 4);
  out.Put(0, 4);
  out.Put(0, 8);
  out.Put(0, 8);
  out.Put(0, 4);
  uint64_t used = 0;
  for (const Input& input : graph.inputs) {
    out.Put(input.state, 1);
    out.Put(input.fixed, 1);
    out.Put(0, 2);
    for (const int64_t dim : {input.c, input.h_cap, input.w_cap}) out.Put(dim, 4);
    out.Put(static_cast<uint64_t>(input.lo), 8);
    out.Put(static_cast<uint64_t>(input.hi), 8);
    out.Put(input.state ? used : 0, 4);
    out.Put(8 * input.init.size(), 4);
    out.Put(0, 8);
    used += 8 * input.init.size();
  }
  for (const Node& node : graph.nodes) {
    const uint64_t size = BlockSize(node);
    out.Put(static_cast<uint64_t>(node.op), 2);
    out.Put(node.args.size(), 2);
    out.Put(used, 4);
    out.Put(size, 4);
    used += size;
  }
  for (const uint32_t id : graph.outputs) out.Put(id, 4);
  for (const uint32_t id : graph.updates) out.Put(id, 4);
  for (const Input& input : graph.inputs) {
    for (const int64_t value : input.init) out.Put(static_cast<uint64_t>(value), 8);
  }
  for (const Node& node : graph.nodes) {
    for (const uint32_t id : node.args) out.Put(id, 4);
    VisitParams(node.op, const_cast<Params&>(node.params), out);
  }
  out.Set(40, Crc32(std::string_view(out.bytes()).substr(kHeaderSize)), 4);
  out.Set(60, Crc32(std::string_view(out.bytes()).substr(0, 60)), 4);
  return std::move(out.bytes());
}

}  // namespace helx::ops
