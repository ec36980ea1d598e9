// Runs docs/adding-a-kernel.md: its files and its sh blocks, in order, in one shell. Every line of
// a text block must be in the output of the sh block before it ("..." stands for anything).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

const fs::path source = ROPEWALK_SOURCE_DIR;

struct Block {
  std::string heading, language, text;
};

/// The code blocks of a page, each with its heading.
std::vector<Block> blocks_of(const fs::path& page) {
  std::vector<Block> blocks;
  std::istringstream lines(slurp(page));
  std::string line, heading;
  bool inside = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({heading, line.substr(3), ""});
    } else if (inside) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("#")) {
      heading = line.substr(line.find_first_not_of("# "));
    }
  }
  return blocks;
}

/// Whether `line` has the parts of `pattern` between its "...", in order.
bool matches(const std::string& line, const std::string& pattern) {
  std::size_t at = 0, from = 0;
  while (from <= pattern.size()) {
    const auto dots = std::min(pattern.find("...", from), pattern.size());
    std::string part = pattern.substr(from, dots - from);
    const auto found = line.find(part, at);
    if (found == std::string::npos) return false;
    at = found + part.size();
    from = dots + 3;
  }
  return true;
}

/// The first line of `expected` that does not follow the earlier ones in `output`; empty if all do.
std::string missing_line(const std::string& output, const std::string& expected) {
  std::istringstream lines(output), patterns(expected);
  std::string line, pattern;
  while (std::getline(patterns, pattern)) {
    bool found = false;
    while (!found && std::getline(lines, line)) found = matches(line, pattern);
    if (!found) return pattern;
  }
  return {};
}

/// A marker in the output: the text after it was printed by block number `block`.
std::string mark(std::size_t block) {
  return "== block " + std::to_string(block) + "\n";
}

/// The shell script that does what the blocks say. It writes files (their first line is a comment
/// with the name) and runs commands.
std::string script_of(const std::vector<Block>& blocks) {
  std::string script = "set -euo pipefail\n";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    if (b.language == "sh") script += "printf '" + mark(i) + "'\n" + b.text;
    if (b.language != "cpp" && b.language != "c" && b.language != "cmake") continue;
    std::istringstream words(b.text);
    std::string comment, name;
    words >> comment >> name;
    script += "cat >" + name + " <<'END OF FILE'\n" + b.text + "END OF FILE\n";
  }
  return script;
}

/// Runs the blocks in `folder` with a HOME of the test, and compares what they print.
void run_blocks(const std::vector<Block>& blocks, const fs::path& folder) {
  const fs::path script = scratch() / "page.sh";
  std::ofstream(script) << script_of(blocks);
  const Result r = shell("cd '" + folder.string() + "' && HOME='" + (scratch() / "home").string() +
                         "' bash '" + script.string() + "' 2>&1");
  ASSERT_EQ(r.code, 0) << r.out;
  int compared = 0;
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i].language != "text") continue;
    ASSERT_EQ(blocks[i - 1].language, "sh") << "a text block without its commands";
    const auto begin = r.out.find(mark(i - 1));
    ASSERT_NE(begin, std::string::npos);
    const auto end = r.out.find("\n== block ", begin);
    const std::string output = r.out.substr(begin, end - begin);
    EXPECT_EQ(missing_line(output, blocks[i].text), "") << output;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

bool in_tree(const Block& block) {
  return block.heading.starts_with("In the tree");
}

fs::path fresh_scratch() {
  fs::remove_all(scratch());
  fs::create_directories(scratch() / "home");
  return scratch();
}

TEST(Page, OutsideTheTree) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "it times a plugin that is not sanitized beside ceilings that are: IMPLAUSIBLE";
#endif
  const fs::path folder = fresh_scratch() / "source";
  fs::create_directories(folder / "build");
  fs::create_directory_symlink(ROPEWALK_BINARY_DIR, folder / "build" / "release");
  const bool pkg_config = shell("command -v pkg-config").code == 0;
  std::vector<Block> blocks = blocks_of(source / "docs/adding-a-kernel.md");
  std::erase_if(blocks, [&](const Block& b) {
    return in_tree(b) || (b.heading == "With pkg-config" && !pkg_config);
  });
  run_blocks(blocks, folder);
  // The page promises this without showing it.
  const fs::path home = scratch() / "home";
  const std::string report = slurp(home / "my_kernel/report/report.html");
  EXPECT_TRUE(contains(report, "my_kernel") && contains(report, "<svg"));
  const std::string rows = slurp(home / "my_kernel/report/results.jsonl");
  EXPECT_FALSE(contains(rows, R"("outcome":"BROKEN")"));
  // The mended file must equal the one in kernels/example, so that the two do not diverge.
  const auto body = [](const fs::path& file) {
    const std::string text = slurp(file);
    return text.substr(text.find("#include"));
  };
  std::string example = body(source / "kernels/example/example.cpp");
  example.replace(example.find("example_cpp"), std::string("example_cpp").size(), "my_kernel");
  EXPECT_EQ(body(home / "my_kernel/my_kernel.cpp"), example);
}

TEST(Page, InTheTree) {
  const fs::path folder = fresh_scratch() / "source", home = scratch() / "home";
  fs::copy(source / "tools/tests/tree", folder);
  fs::copy(source / "kernels", folder / "kernels", fs::copy_options::recursive);
  for (const auto& file : fs::recursive_directory_iterator(folder / "kernels"))
    if (file.path().extension() == ".cpp" && file.path().parent_path().filename() != "api")
      fs::resize_file(file, 0);  // the new kernel alone takes time to compile
  const char* const layout = "python/ropewalk/contract_layout.inc";  // which kernels/api includes
  fs::create_directories((folder / layout).parent_path());
  fs::copy(source / layout, folder / layout);
  fs::copy(source / "cmake", folder / "cmake");
  fs::copy(source / "CMakePresets.json", folder);
  fs::create_directories(home / "my_kernel");
  fs::copy(source / "kernels/example/example.cpp", home / "my_kernel/my_kernel.cpp");
  ASSERT_EQ(
      shell("sed -i s/example_cpp/my_kernel/ '" + home.string() + "/my_kernel/my_kernel.cpp'").code,
      0);
  std::vector<Block> blocks = blocks_of(source / "docs/adding-a-kernel.md");
  std::erase_if(blocks, [](const Block& b) { return !in_tree(b); });
  run_blocks(blocks, folder);
}

// README's cp, and a kernel by the page, leave the house rules alone. What git knows is held to
// them and to the budget of lines.
TEST(Page, WhoTriesSomethingBreaksNoRule) {
  const std::string tree = (fresh_scratch() / "source").string();
  if (shell("git clone -q '" + source.string() + "' '" + tree + "'").code != 0)
    GTEST_SKIP() << "needs a checkout of git";
  fs::copy(source / "cmake/tidy.cmake", tree + "/cmake", fs::copy_options::overwrite_existing);
  const std::string cd = "cd '" + tree + "' && ", tidy = " -DSOURCE_DIR=$PWD -P cmake/tidy.cmake";
  for (const char* copy : {"my_kernel.cpp", "kernels/plain/mine.cpp", "kernels/mine/mine.cpp"})
    spill(fs::path(tree) / copy, slurp(source / "kernels/example/example.cpp"));
  std::string lines = "#include <rapidcheck.h>\n#include \"tools/command/options.h\"\n";
  for (int i = 0; i < 3000; ++i) lines += "//\n";
  spill(tree + "/properties/truth/mine.h", lines);
  for (int i = 0; i < 31; ++i) spill(tree + "/base/mine/" + std::to_string(i) + ".h", "");
  const Result r = shell(cd + "cmake" + tidy);
  EXPECT_EQ(r.code, 0) << r.err;
  spill(tree + "/base/README.md", std::string(16, '\n'));
  const Result known =
      shell(cd +
            "sed -i 's/^version: .*/version: 9.9/' CITATION.cff && "
            "sed -i 's/contents: read/contents: write/' .github/workflows/ci.yml && "
            "sed -i 's!base/[*] --> base/system!base/* --> harness/cases!' docs/architecture.md && "
            "git rm -q reports/README.md && git add . && cmake -DBUDGET=ON" +
            tidy);
  EXPECT_NE(known.code, 0);
  for (const char* words :
       {"mine.h: <rapidcheck.h> may be included only by", "mine.h: may not include tools/command",
        "properties/truth/mine.h: 3002 lines, at most 600", "base/mine: 31 source files, at most",
        "differ in the room base/mine", "base/picture.h: may not include harness/cases",
        "base/README.md: 16 lines, at most 15", "reports: this top-level folder has no README.md",
        "three versions", ".github/workflows/ci.yml: lacks 'contents: read'",
        "take lines out, or raise the number there"})
    EXPECT_TRUE(contains(known.err, words)) << known.err;
}

}  // namespace
