// What --plugin was given: a file, or base=FILE or head=FILE. With a prefix, two builds of one
// plugin stand in one run, although their kernels have equal names.
#pragma once
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace ropewalk::harness {

inline constexpr std::array<std::string_view, 2> plugin_prefixes = {"base", "head"};

struct GivenPlugin {
  std::string prefix;  ///< stands before each kernel's name, e.g. "base:"; empty for a plain file
  std::string file;
};

/// Any other text is a file, also if it has a = in it. A file that has the whole text as its name
/// goes before a prefix.
inline GivenPlugin given_plugin(const std::string& given) {
  std::error_code error;
  if (std::filesystem::exists(given, error)) return {"", given};
  for (const std::string_view word : plugin_prefixes)
    if (given.starts_with(word) && given.substr(word.size()).starts_with('='))
      return {std::string(word) + ':', given.substr(word.size() + 1)};
  return {"", given};
}

}  // namespace ropewalk::harness
