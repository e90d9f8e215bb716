#include "worker/engine/engine.h"

#include "worker/engine/builtin.h"

namespace helx::engine {

std::vector<const Engine*> AllEngines() {
  static const BuiltinEngine builtin;
  return {&builtin};
}

const Engine* FindEngine(std::string_view name) {
  for (const Engine* engine : AllEngines()) {
    if (engine->name() == name) return engine;
  }
  return nullptr;
}

}  // namespace helx::engine
