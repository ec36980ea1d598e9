// The sentences of causes, by name: python/ropewalk/causes.toml.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ropewalk::properties {

/// The sentence as it stands in the list. Throws std::out_of_range.
const std::string& sentence_of(std::string_view cause);

/// The sentence with its parameters.
template <class... Parameters>
std::string cause(std::string_view name, const Parameters&... parameters) {
  return fmt::format(fmt::runtime(sentence_of(name)), parameters...);
}

}  // namespace ropewalk::properties
