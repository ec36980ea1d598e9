// What tests ask of a page or a file.
#pragma once
#include <cstddef>
#include <string>

namespace ropewalk::report {

inline bool contains(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

inline std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
    ++times;
  return times;
}

}  // namespace ropewalk::report
