// The list of causes holds each sentence once: none stands in a source, and each is used by name.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

const fs::path root =
    fs::path(ROPEWALK_MUTANT_NAMES).parent_path().parent_path().parent_path().parent_path();

// The sources of what says causes, without comments.
std::string sources() {
  std::string all;
  for (const char* folder : {"properties", "tools", "reports", "python/ropewalk"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().string();
      const bool is_source = path.ends_with(".cpp") || path.ends_with(".h") ||
                             (path.ends_with(".py") && contains(path, "python/"));
      if (!is_source || contains(path, "/tests/") || contains(path, "_test.cpp")) continue;
      if (contains(path, "properties/mutants")) continue;
      std::istringstream lines(slurp(path));
      for (std::string line; std::getline(lines, line);) all += line.substr(0, line.find("//"));
    }
  return all;
}

TEST(CausesList, HoldsEachSentenceAloneAndEachIsUsed) {
  const std::string text = sources();
  std::istringstream lines(slurp(root / "python/ropewalk/causes.toml"));
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto middle = line.find(" = \"");
    if (line.starts_with("#") || middle == std::string::npos) continue;
    const std::string sentence = line.substr(middle + 4, line.size() - middle - 5);
    const std::string piece = sentence.substr(0, sentence.find('{'));
    const auto in = [&](const std::string& of) { return piece.size() > 8 && contains(of, piece); };
    EXPECT_FALSE(in(text)) << piece;
    EXPECT_TRUE(piece.size() <= 8 || in(text + "\"" + piece)) << "control";
    EXPECT_TRUE(contains(text, "\"" + line.substr(0, middle) + "\"")) << line;
    ++count;
  }
  EXPECT_GT(count, 70);
  EXPECT_FALSE(contains(text, "\"no_such_cause\"")) << "control";
}

}  // namespace
