// toml++ 3.3 asks of any character beyond ASCII that stands where a key, a value or white space may
// stand whether it is white space, and for most of them the question has no defined answer (its
// issues 190 and 295).
#include "benchmarks/workloads/toml_text.h"

#include "base/text_file.h"

namespace ropewalk::bench {

void check_toml_text(std::string_view text, const std::string& file) {
  constexpr std::size_t line_bytes_max = 4096;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte order mark
  for_each_line(text, [&](std::string_view line, std::int64_t number) {
    // A key of a hundred thousand dots nests as deep, and toml++ would run out of stack.
    if (line.size() > line_bytes_max) throw BadFile(file, number, "a line longer than 4096 bytes");
    char quote = '\0';
    for (const char c : line) {
      if (quote == '\0' && c == '#') break;
      if (quote == '\0' && static_cast<unsigned char>(c) >= 0x80)
        throw BadFile(file, number, "a character that is not ASCII, outside strings and comments");
      if (c == quote)
        quote = '\0';
      else if (quote == '\0' && (c == '"' || c == '\''))
        quote = c;
    }
  });
}

}  // namespace ropewalk::bench
