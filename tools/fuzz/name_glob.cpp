// The first line is a pattern, and the rest is a name. Patterns of '*', '?' and plain characters
// must match as the definition below says. Every other pattern must answer in time: a careless
// matcher stands still on a pattern of many stars.
#include <vector>

#include "base/glob.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {
namespace {

// matched[j]: the part of the pattern so far matches the first j characters of the name.
bool by_definition(std::string_view glob, std::string_view name) {
  std::vector<bool> matched(name.size() + 1, false);
  matched[0] = true;
  for (const char g : glob) {
    if (g == '*') {
      for (std::size_t j = 1; j <= name.size(); ++j) matched[j] = matched[j] || matched[j - 1];
      continue;
    }
    for (std::size_t j = name.size(); j > 0; --j)
      matched[j] = matched[j - 1] && (g == '?' || g == name[j - 1]);
    matched[0] = false;
  }
  return matched[name.size()];
}

}  // namespace

void run(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return;  // no argument and no file contains one
  const auto end = std::min(text.find('\n'), text.size());
  const std::string glob(text.substr(0, end)), name(text.substr(std::min(end + 1, text.size())));
  const bool found = glob_matches(glob, name);
  if (glob.find_first_of("[\\") == std::string::npos)
    claim(found == by_definition(glob, name), "a pattern matches as it is defined");
  claim(matches({}, name) && matches({glob, "*"}, name), "no pattern, and '*', match everything");
}

}  // namespace ropewalk::fuzz
