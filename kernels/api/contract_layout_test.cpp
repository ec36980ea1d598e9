// The contract's layout: C99, C++20 and the committed contract_layout.txt agree on every size,
// offset and constant. So a plugin that another compiler built long ago still loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/api/rope_kernel.h"

namespace ropewalk {
namespace {

struct Layout {
  std::string text;  // what contract_layout.c prints, in its order
  std::vector<std::string> constants, structs;
  std::string gaps;  // no struct has padding, so a field that the list lacks leaves a gap
};

// The contract in this compiler's layout.
Layout layout() {
  Layout out;
  std::size_t end = 0, size = 0;
  const auto add = [&](const std::string& what, auto value) {
    out.text += what + " " + std::to_string(value) + "\n";
  };
  const auto check = [&](const std::string& before, std::size_t offset) {
    if (offset != end) out.gaps += before + "\n";
  };
#define CONSTANT(name)                               \
  add("value " #name, static_cast<long long>(name)); \
  out.constants.push_back(#name);
#define STRUCT(type)                  \
  check("before " #type, size);       \
  add("sizeof " #type, sizeof(type)); \
  out.structs.push_back(#type);       \
  end = 0;                            \
  size = sizeof(type);
#define FIELD(type, field)                                  \
  check("before " #type "." #field, offsetof(type, field)); \
  add("offsetof " #type "." #field, offsetof(type, field)); \
  add("sizeof " #type "." #field, sizeof(type::field));     \
  end = offsetof(type, field) + sizeof(type::field);
#include "kernels/api/contract_layout.inc"
  check("at the end", size);
  return out;
}

std::string text_of(std::istream& in) {
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out += line + "\n";
  return out;
}

std::string committed() {
  std::ifstream in(CONTRACT_LAYOUT_TXT);
  return text_of(in);
}

class ContractLayout : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sizeof(void*) != 8) GTEST_SKIP() << "the committed table is for 64-bit pointers";
  }
};

TEST_F(ContractLayout, CxxAgreesWithTheCommittedTable) {
  EXPECT_GT(committed().size(), 4000u);
  EXPECT_EQ(committed(), layout().text);
}

TEST_F(ContractLayout, C99AgreesWithTheCommittedTable) {
  const std::string command = std::string("'") + CONTRACT_LAYOUT_C + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::stringstream out;
  std::array<char, 256> piece{};
  while (pipe != nullptr && std::fgets(piece.data(), piece.size(), pipe.get()) != nullptr)
    out << piece.data();
  EXPECT_EQ(committed(), text_of(out));
}

TEST_F(ContractLayout, ListHasEveryFieldInOrder) {
  EXPECT_EQ(layout().gaps, "");
}

// What the text of the header declares, found by its words alone.
TEST_F(ContractLayout, ListHasEveryConstantAndStructOfTheHeader) {
  std::ifstream header(std::filesystem::path(CONTRACT_LAYOUT_TXT).parent_path() / "rope_kernel.h");
  std::vector<std::string> constants, structs, words{"", ""};
  for (std::string word; header >> word;) words.push_back(word);
  const auto is_constant = [](const std::string& word) {
    return word.starts_with("ROPE_") &&
           word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
  };
  for (std::size_t i = 2; i + 1 < words.size(); ++i) {
    const std::string& next = words[i + 1];
    const bool enumerator = next == "=";
    const bool macro = words[i - 1] == "#define" && next[0] >= '0' && next[0] <= '9';
    if (is_constant(words[i]) && (enumerator || macro)) constants.push_back(words[i]);
    if (words[i - 2] == "typedef" && words[i - 1] == "struct") structs.push_back(words[i]);
  }
  Layout known = layout();
  std::sort(constants.begin(), constants.end());
  std::sort(known.constants.begin(), known.constants.end());
  EXPECT_EQ(constants, known.constants);
  EXPECT_EQ(structs, known.structs);
}

TEST_F(ContractLayout, HeaderIsOfAbi1) {
  EXPECT_EQ(ROPE_ABI_VERSION, 1u);
}

}  // namespace
}  // namespace ropewalk
