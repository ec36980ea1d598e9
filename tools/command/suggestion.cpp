#include "tools/command/suggestion.h"

#include <algorithm>
#include <cstddef>

namespace ropewalk::tools {
namespace {

// The distance by optimal string alignment: no part of the text is edited twice.
std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({changed, last[j] + 1, now[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = now;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_to(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t length_max = 100;  // no name is longer
  if (word.size() > length_max) return {};
  std::size_t least = word.size() / 3 + 1;
  std::string nearest;
  for (const std::string& name : known)
    if (const std::size_t edits = edits_between(word, name); edits < least) {
      least = edits;
      nearest = name;
    }
  return nearest;
}

}  // namespace ropewalk::tools
