#include "reports/numbers/board_name.h"

#include <algorithm>

#include "kernels/api/types.h"

namespace ropewalk::report {

BoardName::BoardName(std::string_view name) {
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::size_t first = name.find_first_not_of(' ', begin);
    if (first < end) {
      const std::size_t last = name.find_last_not_of(' ', end - 1);
      parts_.emplace_back(name.substr(first, last + 1 - first));
    }
    begin = end + 1;
  }
}

bool BoardName::has(std::string_view part) const {
  return std::ranges::find(parts_, part) != parts_.end();
}

bool BoardName::has_all_of(const BoardName& other) const {
  return std::ranges::all_of(other.parts_, [&](const std::string& part) { return has(part); });
}

std::string_view BoardName::one_of(std::initializer_list<std::string_view> words) const {
  const auto found = std::ranges::find_if(words, [&](std::string_view word) { return has(word); });
  return found == words.end() ? std::string_view() : *found;
}

std::string_view BoardName::dtype() const {
  for (const DataType& type : data_type_rows)
    if (has(type.word)) return type.word;
  return {};
}

std::string BoardName::without_angles() const {
  std::string out;
  for (const std::string& part : parts_) {
    if (part == angles()) continue;
    out += (out.empty() ? "" : " / ") + part;
  }
  return out;
}

}  // namespace ropewalk::report
