// toml++ 3.3 asks of any character beyond ASCII that stands where a key, a value or white space may
// stand whether it is white space, and for most of them the question has no defined answer (its
// issues 190 and 295). TOML has such characters in comments and strings alone. It looks ahead in
// what begins as a number, past quotes, until white space, ',', ']', '}' or '#'.
#include "benchmarks/workloads/toml_text.h"

#include <algorithm>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& file) : rest_(text), file_(file) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);  // a byte order mark
  }

  void run() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '#')
        skip(std::min(rest_.find('\n'), rest_.size()));
      else if (may_begin_ && (c == '"' || c == '\''))
        skip_string(c);
      else
        skip_between();
    }
  }

 private:
  void skip(std::size_t bytes) {
    const std::string_view skipped = rest_.substr(0, bytes);
    line_ += std::count(skipped.begin(), skipped.end(), '\n');
    rest_.remove_prefix(skipped.size());
  }

  void skip_ascii() {
    if (!rest_.empty() && static_cast<unsigned char>(rest_.front()) >= 0x80)
      throw BadFile(file_, line_, "a character that is not ASCII, outside of strings and comments");
    skip(1);
  }

  // Keeps in mind whether a quote that comes next begins a string: not inside a bare word, of which
  // the first '=' of a pair is the end.
  void skip_between() {
    const char c = rest_.front();
    if (c == '=') {
      may_begin_ = !had_equals_;
      had_equals_ = true;
    } else if (std::string_view(" \t\r\n,").find(c) != std::string_view::npos) {
      may_begin_ = true;
      had_equals_ = had_equals_ && c != '\n' && c != ',';
    } else if (c == '{') {
      had_equals_ = had_equals_ && !may_begin_;
    } else if (c != '[') {
      may_begin_ = false;
    }
    skip_ascii();
  }

  // Behind a backslash: an escape is ASCII; the end of a line and the blanks of the next are none.
  void skip_escape() {
    skip(1);
    skip(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    skip_ascii();
  }

  // `quote` comes next. A string of one line ends with it at the latest, in error or not.
  void skip_string(char quote) {
    may_begin_ = false;
    const std::string triple(3, quote);
    const bool one_line = !rest_.starts_with(triple);
    skip(one_line ? 1 : 3);
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '\\' && quote == '"') {
        skip_escape();
      } else if (!one_line && rest_.starts_with(triple)) {
        // One or two more quotes in front of the closing three belong to the string.
        return skip(std::min({rest_.find_first_not_of(quote), rest_.size(), std::size_t{5}}));
      } else {
        skip(1);
        if (one_line && (c == quote || c == '\n')) return;
      }
    }
  }

  std::string_view rest_;
  const std::string& file_;
  std::int64_t line_ = 1;
  bool may_begin_ = true, had_equals_ = false;
};

}  // namespace

void check_toml_text(std::string_view text, const std::string& file) {
  // A key of a hundred thousand dots nests as deep, and toml++ would run out of stack.
  constexpr std::size_t line_bytes_max = 4096;
  for_each_line(text, [&](std::string_view line, std::int64_t number) {
    if (line.size() > line_bytes_max) throw BadFile(file, number, "a line longer than 4096 bytes");
  });
  Scanner(text, file).run();
}

}  // namespace ropewalk::bench
