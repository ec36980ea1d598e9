// The list of causes holds each sentence once: none stands in a source, and each is used by name.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

const fs::path root = ROPEWALK_SOURCE_DIR;

struct Cause {
  std::string name, sentence, piece;  // piece: the longest without a parameter
};

std::vector<Cause> listed() {
  std::vector<Cause> all;
  const std::regex entry(R"re((\w+) = "(.*)")re"), parameter(R"(\{[^}]*\})");
  std::istringstream lines(slurp(root / "python/ropewalk/causes.toml"));
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, found, entry)) continue;
    Cause cause{found[1], std::regex_replace(found[2].str(), parameter, "{}"), ""};
    std::string rest = cause.sentence + "{}";
    for (std::size_t end = 0; (end = rest.find("{}")) != std::string::npos; rest.erase(0, end + 2))
      if (end > cause.piece.size()) cause.piece = rest.substr(0, end);
    all.push_back(cause);
  }
  return all;
}

// The sources of what says causes, without comments, and literals that are broken in two as one.
std::string sources(const fs::path& tree) {
  std::string all;
  const std::regex broken("\" *f?\"");
  for (const char* folder : {"properties", "tools", "reports", "python/ropewalk"})
    for (const auto& entry : fs::recursive_directory_iterator(tree / folder)) {
      const std::string path = fs::relative(entry.path(), tree).string();
      const bool python = path.starts_with("python/") && path.ends_with(".py");
      if (!python && !path.ends_with(".cpp") && !path.ends_with(".h")) continue;
      if (contains(path, "/tests/") || contains(path, "_test.cpp")) continue;
      if (contains(path, "properties/mutants")) continue;
      std::istringstream lines(slurp(entry.path()));
      std::string code;
      for (std::string line; std::getline(lines, line);)
        code += line.substr(0, line.find(python ? "# " : "//"));
      all += std::regex_replace(code, broken, "") + "\n";
    }
  return all;
}

std::vector<std::string> standing_in(const std::string& code) {
  std::vector<std::string> names;
  for (const Cause& cause : listed())
    if (contains(code, cause.piece)) names.push_back(cause.name);
  return names;
}

std::vector<std::string> unused_in(const std::string& code) {
  std::vector<std::string> names;
  for (const Cause& cause : listed())
    if (!contains(code, "\"" + cause.name + "\"")) names.push_back(cause.name);
  return names;
}

TEST(CausesList, HoldsEachSentenceAloneAndEachIsUsed) {
  const std::string code = sources(root);
  EXPECT_GT(listed().size(), 80);
  EXPECT_EQ(standing_in(code), std::vector<std::string>());
  EXPECT_EQ(unused_in(code), std::vector<std::string>());
}

// The control: each sentence in a source of C++ and of Python, and in a comment of each.
TEST(CausesList, ASentenceThatASourceHoldsIsFound) {
  const fs::path tree = fresh();
  for (const char* folder : {"properties", "tools", "reports", "python/ropewalk"})
    fs::create_directories(tree / folder);
  std::vector<std::string> names;
  for (const Cause& cause : listed()) {
    names.push_back(cause.name);
    const std::size_t half = cause.sentence.size() / 2;
    const std::string whole = "\"" + cause.sentence + "\"", one = cause.sentence.substr(0, half),
                      two = cause.sentence.substr(half);
    const std::string cpp = tree / "properties/planted.cpp", py = tree / "python/ropewalk/a.py";
    for (const auto& [file, comment] : {std::pair(cpp, "// "), std::pair(py, "# ")}) {
      for (const std::string& text : {whole, "\"" + one + "\"\n    \"" + two + "\""}) {
        spill(file, "return " + text + "\n");
        const auto found = standing_in(sources(tree));
        EXPECT_TRUE(std::ranges::count(found, cause.name) == 1) << file << ": " << text;
      }
      spill(file, comment + cause.sentence + "\n");
      EXPECT_EQ(standing_in(sources(tree)), std::vector<std::string>()) << file;
    }
  }
  EXPECT_EQ(unused_in(sources(tree)), names);
}

}  // namespace
