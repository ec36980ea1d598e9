// Causes, and their sentences for people: python/ropewalk/causes.toml.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace ropewalk::properties {

/// The sentence as it stands in the list. Throws std::out_of_range.
const std::string& sentence_of(std::string_view cause);

/// What a kernel does instead. Rows of equal identifiers are of one cause, whatever their words.
struct Cause {
  std::vector<std::string> ids;  ///< names of the list; several if two fit as well
  std::string words;             ///< for people, with parameters
  bool empty() const { return ids.empty(); }
};

/// The cause of this name, in words with its parameters.
template <class... Parameters>
Cause cause(std::string_view name, const Parameters&... parameters) {
  return {{std::string(name)}, fmt::format(fmt::runtime(sentence_of(name)), parameters...)};
}

}  // namespace ropewalk::properties
