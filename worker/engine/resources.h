// Resource variables of a model: memory that outlives an invocation, named by VAR_HANDLE.
#ifndef HELX_WORKER_ENGINE_RESOURCES_H_
#define HELX_WORKER_ENGINE_RESOURCES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/model.h"

namespace helx::engine {

struct Resource {
  std::string name;    // container and shared name, "states/cell"
  size_t index = 0;    // among the model's resources
  int64_t bytes = 0;   // of the values that are read from and assigned to it; 0: none is
  bool uneven = false; // those values differ in size
};

// Which resource every tensor of type RESOURCE stands for. Handles are made by VAR_HANDLE and handed on by the operators
// that run other subgraphs, so that all of them are known before anything runs.
class Resources {
 public:
  static Resources Of(const model::Model& model);

  // nullptr when the tensor stands for no resource, or for different ones at different calls.
  const Resource* Find(size_t subgraph, int32_t tensor) const;
  const std::vector<Resource>& all() const { return resources_; }

 private:
  bool Record(size_t subgraph, int32_t tensor, size_t resource);
  void HandOn(const model::Model& model, size_t subgraph, const model::Operator& op, size_t callee,
              size_t first_input, bool* changed);
  void Measure(const model::Model& model);

  std::vector<Resource> resources_;
  std::map<std::pair<size_t, int32_t>, size_t> by_tensor_;
  std::map<std::pair<size_t, int32_t>, bool> ambiguous_;
};

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_RESOURCES_H_
