#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "reports/document/document.h"

namespace ropewalk::report {
namespace {

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Whether GitHub makes a link, a mention or a picture of something in it, which no escape hinders.
bool is_linked(std::string_view line) {
  for (const std::string_view mark : {"www.", "://", "mailto:", "xmpp:"})
    if (line.find(mark) != std::string_view::npos) return true;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const bool begins = i == 0 || !is_word(line[i - 1]);
    if (line[i] == '@' && is_word(line[i + 1])) return true;
    if (line[i] == '#' && line[i + 1] >= '0' && line[i + 1] <= '9') return true;
    if (line.substr(i, 3) == "GH-") return true;
    if (line[i] != ':' || !begins) continue;
    const std::size_t end = line.find(':', i + 1);
    if (end != std::string_view::npos && end > i + 1 &&
        line.substr(i, end - i).find(' ') == std::string_view::npos)
      return true;
  }
  return false;
}

/// What a character must be written as so that it stands for itself; empty: as itself.
std::string_view escape_of(std::string_view line, std::size_t at, bool in_cell) {
  const char c = line[at];
  const char before = at == 0 ? ' ' : line[at - 1];
  const char after = at + 1 == line.size() ? ' ' : line[at + 1];
  switch (c) {
    case '\\':
      return is_word(after) || after == ' ' ? "" : "\\\\";
    case '`':
      return "\\`";
    case '*':
      return before == ' ' && after == ' ' ? "" : "\\*";
    case '_':
      return is_word(before) && is_word(after) ? "" : "\\_";
    case '~':
      return "\\~";
    case '$':
      return "\\$";
    case '<':
      return is_word(after) || after == '/' || after == '!' || after == '?' ? "&lt;" : "";
    case '&':
      return is_word(after) || after == '#' ? "&amp;" : "";
    case ']':
      return after == '(' || after == '[' || after == ':' ? "&#93;" : "";
    case '|':
      return in_cell ? "\\|" : "";
    default:
      return "";
  }
}

std::string escaped(std::string_view text, bool in_cell) {
  const std::string whole = clean_line(text);
  if (is_linked(whole)) return markdown_code(whole);
  const std::size_t first = whole.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  const std::string_view line =
      std::string_view(whole).substr(first, whole.find_last_not_of(' ') + 1 - first);
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view escape = escape_of(line, i, in_cell);
    escape.empty() ? out.append(1, line[i]) : out.append(escape);
  }
  return out;
}

}  // namespace

std::string Text::html() const {
  return xml_text(clean_line(text_));
}

std::string Text::markdown() const {
  return escaped(text_, false);
}

std::string Text::markdown_cell() const {
  return escaped(text_, true);
}

std::string Text::plain() const {
  return printable(text_);
}

const char* symbol_of(Standing standing) {
  return standing == Standing::verified ? "✓" : standing == Standing::failed ? "✗" : "–";
}

Tone tone_of(Standing standing) {
  return standing == Standing::verified ? Tone::good
         : standing == Standing::failed ? Tone::bad
                                        : Tone::none;
}

Table numbers_of(const Chart& chart) {
  Table out{.look = "figures"};
  for (const std::string& column : chart.table.columns) out.columns.push_back({column, true});
  for (const auto& line : chart.table.lines) out.rows.push_back({{line.begin(), line.end()}});
  return out;
}

Text same_cause_text(const std::vector<Check>& more) {
  std::vector<std::pair<std::string, std::string>> cells_of;  // names in order, with cells
  for (const Check& check : more) {
    const std::string name = check.name.plain(), cell = check.where.plain();
    const auto at = std::ranges::find(cells_of, name, &std::pair<std::string, std::string>::first);
    if (at == cells_of.end())
      cells_of.emplace_back(name, cell);
    else
      at->second += ", " + cell;
  }
  std::ranges::stable_sort(cells_of, {}, &std::pair<std::string, std::string>::second);
  std::string text;
  for (std::size_t i = 0; i < cells_of.size(); ++i) {
    const bool is_last = i + 1 == cells_of.size();
    const bool ends = is_last || cells_of[i + 1].second != cells_of[i].second;
    text += cells_of[i].first + (ends ? " (" + cells_of[i].second + ")" : "");
    text += is_last ? "" : ends ? "; " : ", ";
  }
  return text;
}

Part& Part::add(Block block) {
  blocks.push_back(std::move(block));
  return *this;
}

}  // namespace ropewalk::report
