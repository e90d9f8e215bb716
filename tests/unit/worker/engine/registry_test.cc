#include <cstdlib>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "worker/engine/operator.h"

namespace helx::engine {
namespace {

// HELX_UPDATE_DOCS=1 writes the document instead.
TEST(Registry, DocumentSaysWhatTheRegistryHolds) {
  const std::string path = std::string(HELX_SOURCE_DIR) + "/docs/operators.md";
  const char* update = std::getenv("HELX_UPDATE_DOCS");
  if (update != nullptr && std::string(update) == "1") {
    ASSERT_TRUE(WriteFile(path, OperatorsMarkdown()).ok());
  }
  const absl::StatusOr<std::string> text = ReadFile(path);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, OperatorsMarkdown());
}

// Of several entries for one operator, only the last may take everything; no two say the same.
TEST(Registry, EveryEntryCanBeReached) {
  const std::vector<const OperatorEntry*> entries = AllOperators();
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_NE(entries[i]->check, nullptr);
    EXPECT_NE(entries[i]->lower, nullptr);
    EXPECT_FALSE(entries[i]->support.empty());
    const bool next_is_same = i + 1 < entries.size() && entries[i]->code == entries[i + 1]->code &&
                              entries[i]->custom_name == entries[i + 1]->custom_name;
    if (next_is_same) {
      EXPECT_NE(entries[i]->takes, nullptr) << model::OperatorName(entries[i]->code);
      EXPECT_NE(entries[i]->support, entries[i + 1]->support);
    }
  }
}

}  // namespace
}  // namespace helx::engine
