#include "harness/judge/refusals.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <tuple>

namespace ropewalk::harness {
namespace {

// Words that kernels use for data types and for pairings.
constexpr std::string_view words_of_cells[] = {
    "f64",  "f32",   "f16",    "bf16",     "fp64",        "fp32",  "fp16",
    "half", "float", "double", "bfloat16", "float16",     "dtype", "type",
    "data", "neox",  "gptj",   "pairing",  "interleaved", "split", "half_split"};

bool names_a_cell(const std::string& reason) {
  std::string word;
  for (const char c : reason + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (std::find(std::begin(words_of_cells), std::end(words_of_cells), word) !=
        std::end(words_of_cells))
      return true;
    word.clear();
  }
  return false;
}

}  // namespace

void Refusals::add(const std::string& reason) {
  const auto found = std::find_if(counts_.begin(), counts_.end(),
                                  [&](const auto& each) { return each.first == reason; });
  if (found == counts_.end())
    counts_.emplace_back(reason, 1);
  else
    ++found->second;
}

CellRefusal Refusals::furthest() const {
  if (counts_.empty()) return {};
  const auto rarest =
      std::min_element(counts_.begin(), counts_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return {rarest->first, counts_.size()};
}

std::string furthest_reason(const std::vector<CellRefusal>& cells) {
  const auto rank = [&](const CellRefusal& cell) {
    const auto same = std::count_if(cells.begin(), cells.end(), [&](const CellRefusal& other) {
      return other.reason == cell.reason;
    });
    return std::tuple{-static_cast<std::ptrdiff_t>(cell.different), names_a_cell(cell.reason),
                      same};
  };
  const auto first = std::min_element(
      cells.begin(), cells.end(),
      [&](const CellRefusal& a, const CellRefusal& b) { return rank(a) < rank(b); });
  return first == cells.end() ? std::string{} : first->reason;
}

}  // namespace ropewalk::harness
