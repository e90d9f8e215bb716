#include "worker/engine/resources.h"

#include <algorithm>

namespace helx::engine {

using model::BuiltinOperator;
using model::Operator;
using model::Subgraph;

const Resource* Resources::Find(size_t subgraph, int32_t tensor) const {
  const auto it = by_tensor_.find({subgraph, tensor});
  if (it == by_tensor_.end() || ambiguous_.contains({subgraph, tensor})) return nullptr;
  return &resources_[it->second];
}

// Whether something new was learnt.
bool Resources::Record(size_t subgraph, int32_t tensor, size_t resource) {
  const auto [it, inserted] = by_tensor_.try_emplace({subgraph, tensor}, resource);
  if (!inserted && it->second != resource) {
    return ambiguous_.try_emplace({subgraph, tensor}, true).second;
  }
  return inserted;
}

// The callee's inputs stand for what the operator's inputs from `first_input` on stand for.
void Resources::HandOn(const model::Model& model, size_t subgraph, const Operator& op,
                       size_t callee, size_t first_input, bool* changed) {
  if (callee >= model.subgraphs.size()) return;
  const std::vector<int32_t>& to = model.subgraphs[callee].inputs;
  for (size_t i = 0; i < to.size() && first_input + i < op.inputs.size(); ++i) {
    const auto it = by_tensor_.find({subgraph, op.inputs[first_input + i]});
    if (it != by_tensor_.end() && Record(callee, to[i], it->second)) *changed = true;
  }
}

void Resources::Measure(const model::Model& model) {
  auto note = [&](size_t subgraph, int32_t handle, int32_t value) {
    const auto it = by_tensor_.find({subgraph, handle});
    if (it == by_tensor_.end() || value < 0) return;
    const int64_t bytes = model::ByteSize(model.subgraphs[subgraph].tensors[value]);
    Resource& resource = resources_[it->second];
    resource.uneven = resource.uneven || (resource.bytes != 0 && resource.bytes != bytes);
    resource.bytes = std::max(resource.bytes, bytes);
  };
  for (size_t s = 0; s < model.subgraphs.size(); ++s) {
    for (const Operator& op : model.subgraphs[s].operators) {
      if (op.code == BuiltinOperator::READ_VARIABLE && op.inputs.size() == 1 &&
          op.outputs.size() == 1) {
        note(s, op.inputs[0], op.outputs[0]);
      } else if (op.code == BuiltinOperator::ASSIGN_VARIABLE && op.inputs.size() == 2) {
        note(s, op.inputs[0], op.inputs[1]);
      }
    }
  }
}

Resources Resources::Of(const model::Model& model) {
  Resources found;
  std::map<std::string, size_t> by_name;
  for (size_t s = 0; s < model.subgraphs.size(); ++s) {
    for (const Operator& op : model.subgraphs[s].operators) {
      const auto* options = op.options.AsVarHandleOptions();
      if (op.code != BuiltinOperator::VAR_HANDLE || op.outputs.size() != 1) continue;
      const std::string name =
          options == nullptr
              ? ""
              : (options->container.empty() ? "" : options->container + "/") + options->shared_name;
      const auto [it, inserted] = by_name.try_emplace(name, found.resources_.size());
      if (inserted) found.resources_.push_back({name, it->second});
      found.Record(s, op.outputs[0], it->second);
    }
  }
  // Every round that changes something records at least one tensor, once or as ambiguous.
  for (bool changed = !found.resources_.empty(); changed;) {
    changed = false;
    for (size_t s = 0; s < model.subgraphs.size(); ++s) {
      for (const Operator& op : model.subgraphs[s].operators) {
        if (const auto* branch = op.options.AsIfOptions(); branch != nullptr) {
          found.HandOn(model, s, op, static_cast<size_t>(branch->then_subgraph_index), 1, &changed);
          found.HandOn(model, s, op, static_cast<size_t>(branch->else_subgraph_index), 1, &changed);
        } else if (const auto* loop = op.options.AsWhileOptions(); loop != nullptr) {
          found.HandOn(model, s, op, static_cast<size_t>(loop->cond_subgraph_index), 0, &changed);
          found.HandOn(model, s, op, static_cast<size_t>(loop->body_subgraph_index), 0, &changed);
          for (size_t i = 0; i < op.outputs.size() && i < op.inputs.size(); ++i) {
            const auto it = found.by_tensor_.find({s, op.inputs[i]});
            if (it != found.by_tensor_.end() && found.Record(s, op.outputs[i], it->second)) {
              changed = true;
            }
          }
        }
      }
    }
  }
  found.Measure(model);
  return found;
}

}  // namespace helx::engine
