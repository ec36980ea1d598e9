// The contract's layout: C99, C++20 and the committed contract_layout.txt agree on every size,
// offset and constant. So a plugin that another compiler built long ago still loads.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/api/rope_kernel.h"

namespace ropewalk {
namespace {

using Lines = std::vector<std::string>;

struct Field {
  std::string name;
  std::size_t offset, size;
};
struct Struct {
  std::string name;
  std::size_t size;
  std::vector<Field> fields;
};

// The contract's values in this compiler's layout.
std::map<std::string, long long> constants() {
  std::map<std::string, long long> out;
#define CONSTANT(name) out[#name] = static_cast<long long>(name);
#define STRUCT(type)
#define FIELD(type, field)
#include "kernels/api/contract_layout.inc"
#undef CONSTANT
#undef STRUCT
#undef FIELD
  return out;
}

std::vector<Struct> structs() {
  std::vector<Struct> out;
#define CONSTANT(name)
#define STRUCT(type) out.push_back({#type, sizeof(type), {}});
#define FIELD(type, field) \
  out.back().fields.push_back({#field, offsetof(type, field), sizeof(type::field)});
#include "kernels/api/contract_layout.inc"
#undef CONSTANT
#undef STRUCT
#undef FIELD
  return out;
}

// The lines that contract_layout.c prints, in its order, from this compiler's layout.
Lines cxx_lines() {
  Lines out;
  const auto add = [&](const char* what, const std::string& name, auto value) {
    out.push_back(std::string(what) + " " + name + " " + std::to_string(value));
  };
#define CONSTANT(name) add("value", #name, static_cast<long long>(name));
#define STRUCT(type)
#define FIELD(type, field)
#include "kernels/api/contract_layout.inc"
#undef CONSTANT
#undef STRUCT
#undef FIELD
  for (const Struct& s : structs()) {
    add("sizeof", s.name, s.size);
    for (const Field& f : s.fields) {
      add("offsetof", s.name + "." + f.name, f.offset);
      add("sizeof", s.name + "." + f.name, f.size);
    }
  }
  return out;
}

Lines lines_of(std::istream& in) {
  Lines out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.push_back(line);
  return out;
}

Lines committed_lines() {
  std::ifstream in(CONTRACT_LAYOUT_TXT);
  return lines_of(in);
}

Lines c99_lines() {
  const std::string command = std::string("'") + CONTRACT_LAYOUT_C + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::stringstream out;
  std::array<char, 256> piece{};
  while (pipe != nullptr && std::fgets(piece.data(), piece.size(), pipe.get()) != nullptr)
    out << piece.data();
  return lines_of(out);
}

// Maps "offsetof rope_problem.batch" to "32".
std::map<std::string, std::string> by_name(const Lines& lines) {
  std::map<std::string, std::string> out;
  for (const std::string& line : lines) {
    const auto space = line.rfind(' ');
    out[line.substr(0, space)] = line.substr(space + 1);
  }
  return out;
}

// Every name that is missing, new, or has another value; empty if the two lists agree.
std::string differences(const Lines& committed, const Lines& found) {
  const auto old_values = by_name(committed), new_values = by_name(found);
  std::ostringstream out;
  for (const auto& [name, value] : old_values) {
    const auto now = new_values.find(name);
    if (now == new_values.end())
      out << name << ": was " << value << ", is gone\n";
    else if (now->second != value)
      out << name << ": was " << value << ", is " << now->second << "\n";
  }
  for (const auto& [name, value] : new_values)
    if (!old_values.contains(name)) out << name << ": is new\n";
  return out.str();
}

class ContractLayout : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sizeof(void*) != 8) GTEST_SKIP() << "the committed table is for 64-bit pointers";
  }
};

TEST_F(ContractLayout, CxxAgreesWithTheCommittedTable) {
  ASSERT_GT(committed_lines().size(), 100u);
  EXPECT_EQ(differences(committed_lines(), cxx_lines()), "");
  EXPECT_EQ(committed_lines(), cxx_lines());
}

TEST_F(ContractLayout, C99AgreesWithTheCommittedTable) {
  EXPECT_EQ(differences(committed_lines(), c99_lines()), "");
  EXPECT_EQ(committed_lines(), c99_lines());
}

TEST_F(ContractLayout, ChangedGoneAndNewLinesAreNamed) {
  Lines moved = committed_lines();
  for (std::string& line : moved)
    if (line.starts_with("offsetof rope_problem.batch ")) line = "offsetof rope_problem.batch 40";
  EXPECT_EQ(differences(committed_lines(), moved), "offsetof rope_problem.batch: was 32, is 40\n");

  Lines shorter = committed_lines();
  shorter.pop_back();
  EXPECT_EQ(differences(committed_lines(), shorter),
            "sizeof rope_kernel_list.kernels: was 8, is gone\n");
  EXPECT_EQ(differences(shorter, committed_lines()), "sizeof rope_kernel_list.kernels: is new\n");
}

// No struct has padding, so a field that the list lacks leaves a gap.
TEST_F(ContractLayout, ListHasEveryFieldInOrder) {
  for (const Struct& s : structs()) {
    std::size_t end = 0;
    for (const Field& f : s.fields) {
      EXPECT_EQ(f.offset, end) << "before " << s.name << "." << f.name;
      end = f.offset + f.size;
    }
    EXPECT_EQ(end, s.size) << "at the end of " << s.name;
  }
}

// What the text of the header declares, found by its words alone.
struct Declared {
  Lines constants, structs;
};

Declared declared_in(std::istream& header) {
  Declared out;
  Lines words{"", ""};
  for (std::string word; header >> word;) words.push_back(word);
  const auto is_constant = [](const std::string& word) {
    return word.starts_with("ROPE_") &&
           word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
  };
  for (std::size_t i = 2; i + 1 < words.size(); ++i) {
    const std::string& next = words[i + 1];
    const bool enumerator = next == "=";
    const bool macro = words[i - 1] == "#define" && next[0] >= '0' && next[0] <= '9';
    if (is_constant(words[i]) && (enumerator || macro)) out.constants.push_back(words[i]);
    if (words[i - 2] == "typedef" && words[i - 1] == "struct") out.structs.push_back(words[i]);
  }
  return out;
}

TEST_F(ContractLayout, ListHasEveryConstantAndStructOfTheHeader) {
  std::ifstream file(std::filesystem::path(CONTRACT_LAYOUT_TXT).parent_path() / "rope_kernel.h");
  const Declared header = declared_in(file);
  const auto known = constants();
  EXPECT_EQ(header.constants.size(), known.size());
  for (const std::string& name : header.constants) EXPECT_TRUE(known.contains(name)) << name;
  Lines listed;
  for (const Struct& s : structs()) listed.push_back(s.name);
  EXPECT_EQ(header.structs, listed);
}

TEST_F(ContractLayout, HeaderIsOfAbi1) {
  EXPECT_EQ(ROPE_ABI_VERSION, 1u);
  EXPECT_EQ(constants().at("ROPE_ABI_VERSION"), 1);
}

}  // namespace
}  // namespace ropewalk
