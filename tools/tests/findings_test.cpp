// Findings of docs/findings.md.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tools/tests/shell.h"

namespace {

// A proof shares nothing with the suite, and the page has it.
TEST(Findings, EachHasAProofOfItsOwn) {
  const std::string docs = std::string(ROPEWALK_SOURCE_DIR) + "/docs/",
                    page = slurp(docs + "findings.md");
  int proofs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(docs + "findings")) {
    if (entry.path().extension() != ".py") continue;
    const std::string name = entry.path().filename(), text = slurp(entry.path());
    ++proofs;
    EXPECT_TRUE(contains(page, "](findings/" + name + ")")) << name;
    EXPECT_FALSE(contains(text, "import ropewalk") || contains(text, "from ropewalk")) << name;
    EXPECT_LE(lines_in(text), 30) << name;
    for (const char* needed : {"severity  ", "from      ", "size      ", "matters   ", "replay    ",
                               "upstream  ", "mpmath", "print("})
      EXPECT_TRUE(contains(text, needed)) << name << needed;
  }
  EXPECT_GT(proofs, 10);
}

}  // namespace
