// The contract's layout in C++20: every size, offset and constant is as contract_layout.inc has it,
// and nothing of the header is left out there. contract_layout.c holds C99 to the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/api/rope_kernel.h"

namespace ropewalk {
namespace {

template <class Field>
constexpr bool is_kind(std::string_view kind) {
  using Type = std::remove_all_extents_t<Field>;
  if (std::is_class_v<Type>) return kind.starts_with("rope_");
  const bool letter = std::is_same_v<Type, const char*> ? kind[0] == 'z'
                      : std::is_pointer_v<Type>         ? kind[0] == 'p'
                      : std::is_floating_point_v<Type>
                          ? kind[0] == 'f'
                          : kind[0] == (std::is_unsigned_v<Type> ? 'u' : 'i');
  return letter && kind.size() == 2 && kind[1] == '0' + sizeof(Type);
}

#define CONSTANT(name, value) static_assert((name) == (value));
#define STRUCT(type, bytes) static_assert(sizeof(type) == (bytes));
#define FIELD(type, field, kind, offset, bytes)                                       \
  static_assert(offsetof(type, field) == (offset) && sizeof(type::field) == (bytes)); \
  static_assert(is_kind<decltype(type::field)>(#kind));
#include "python/ropewalk/contract_layout.inc"
#undef CONSTANT
#undef STRUCT
#undef FIELD

struct Listed {
  std::vector<std::string> constants, structs;
  std::string gaps;  // no struct has padding, so a field that the list lacks leaves a gap
};

Listed listed() {
  Listed out;
  std::size_t end = 0, size = 0;
  const auto check = [&](const std::string& before, std::size_t offset) {
    if (offset != end) out.gaps += before + "\n";
  };
#define CONSTANT(name, value) out.constants.push_back(#name);
#define STRUCT(type, bytes)     \
  check("before " #type, size); \
  out.structs.push_back(#type); \
  end = 0;                      \
  size = bytes;
#define FIELD(type, field, kind, offset, bytes) \
  check("before " #type "." #field, offset);    \
  end = (offset) + (bytes);
#include "python/ropewalk/contract_layout.inc"
  check("at the end", size);
  return out;
}

TEST(ContractLayout, ListHasEveryFieldInOrder) {
  EXPECT_EQ(listed().gaps, "");
}

// What the text of the header declares, found by its words alone.
TEST(ContractLayout, ListHasEveryConstantAndStructOfTheHeader) {
  std::ifstream header(ROPEWALK_SOURCE_DIR "/kernels/api/rope_kernel.h");
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
  Listed known = listed();
  std::sort(constants.begin(), constants.end());
  std::sort(known.constants.begin(), known.constants.end());
  EXPECT_EQ(constants, known.constants);
  EXPECT_EQ(structs, known.structs);
}

}  // namespace
}  // namespace ropewalk
