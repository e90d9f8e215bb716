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

TEST(Registry, EveryOperatorHasOneEntry) {
  const std::vector<const OperatorEntry*> entries = AllOperators();
  for (size_t i = 1; i < entries.size(); ++i) EXPECT_LT(entries[i - 1]->code, entries[i]->code);
  for (const OperatorEntry* entry : entries) EXPECT_EQ(FindOperator(entry->code), entry);
}

}  // namespace
}  // namespace helx::engine
