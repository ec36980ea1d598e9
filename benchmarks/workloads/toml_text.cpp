// toml++ 3.3 asks of any character beyond ASCII that stands where a key, a value or white space may
// stand whether it is white space, and for most of them the question has no defined answer (its
// issues 190 and 295).
#include "benchmarks/workloads/toml_text.h"

#include <algorithm>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// The line without its comment, or without what is in the quotes of KEY = "TEXT".
std::string outside_text(std::string_view line) {
  const std::size_t open = std::min(line.find_first_of("#\"'"), line.size());
  const std::string_view head = line.substr(0, open);
  const std::size_t equals = head.find('=');
  if (open == line.size() || line[open] == '#') return std::string(head);
  const std::size_t close = line.find(line[open], open + 1);
  if (equals == head.npos || head.find_first_not_of(" \t", equals + 1) != head.npos ||
      close == line.npos)
    return std::string(line);
  const std::string_view tail = line.substr(close + 1);
  const bool is_comment = tail.find_first_not_of(" \t") == tail.find('#');
  return std::string(head) + std::string(is_comment ? "" : tail);
}

}  // namespace

void check_toml_text(std::string_view text, const std::string& file) {
  const bool one_line_strings = text.find("\"\"\"") == text.npos && text.find("'''") == text.npos &&
                                text.find('\\') == text.npos;
  constexpr std::size_t line_bytes_max = 4096;
  for_each_line(text, [&](std::string_view line, std::int64_t number) {
    // A key of a hundred thousand dots nests as deep, and toml++ would run out of stack.
    if (line.size() > line_bytes_max) throw BadFile(file, number, "a line longer than 4096 bytes");
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // byte order mark
    if (!is_ascii(one_line_strings ? outside_text(line) : line))
      throw BadFile(file, number,
                    "a character that is not ASCII, outside of a comment and of KEY = \"TEXT\"");
  });
}

}  // namespace ropewalk::bench
