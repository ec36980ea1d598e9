#include "reports/pages/splice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "reports/pages/render.h"

namespace ropewalk::report {
namespace {

constexpr std::string_view mark = "<!-- ropewalk ", mark_end = " -->", end_name = "end";

/// "What was checked" gives "what-was-checked".
std::string name_of(std::string_view heading) {
  std::string name;
  for (const char c : heading)
    name += c == ' ' ? '-' : (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

/// The sections of report.md by name, without their headings. Foreign text cannot look like a
/// heading, because it stands in code spans and fences, which begin otherwise.
std::map<std::string, std::string> sections_of(std::string_view markdown) {
  std::map<std::string, std::string> sections;
  std::string name;
  bool fenced = false;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size() - 1) + 1;
    const std::string_view line = markdown.substr(0, end);
    if (line.substr(0, 3) == "```") fenced = !fenced;
    if (!fenced && line.substr(0, 3) == "## ")
      name = name_of(line.substr(3, end - 4));
    else if (!name.empty())
      sections[name] += line;
    markdown.remove_prefix(end);
  }
  for (auto& section : sections) {
    std::string& text = section.second;
    text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
    while (text.size() > 1 && text.substr(text.size() - 2) == "\n\n") text.pop_back();
  }
  return sections;
}

/// The name in a marker line, or nothing.
std::string marker_of(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' '))
    line.remove_suffix(1);
  if (line.size() <= mark.size() + mark_end.size() || line.substr(0, mark.size()) != mark ||
      line.substr(line.size() - mark_end.size()) != mark_end)
    return "";
  return std::string(line.substr(mark.size(), line.size() - mark.size() - mark_end.size()));
}

std::string names_of(const std::map<std::string, std::string>& sections) {
  std::string names;
  for (const auto& section : sections) names += (names.empty() ? "" : ", ") + section.first;
  return names;
}

}  // namespace

std::string spliced(const std::string& text, const std::string& document, const Results& results) {
  const auto sections = sections_of(render_markdown(results));
  const std::string made_by =
      fmt::format("\nMade by ropewalk {} on {}: {}\n", markdown_code(results.run.version),
                  markdown_code(results.run.started_at), markdown_code(results.run.command));
  std::string out, open;
  int pairs = 0;
  std::int64_t number = 0;
  const auto refuse = [&](const std::string& what) {
    throw BadFile(fmt::format("{}:{}: {}", document, number, clean_line(what)));
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    const std::string name = marker_of(line);
    ++number;
    if (name == end_name) {
      if (open.empty()) refuse("an end marker stands here without its beginning");
      out += sections.at(open) + made_by;
      open.clear();
      ++pairs;
    } else if (!name.empty()) {
      if (!open.empty()) refuse("the tables of '" + open + "' have no end marker before this");
      if (sections.count(name) == 0)
        refuse("the report has no section '" + name + "'; it has " + names_of(sections));
      open = name;
    }
    if (open.empty() || !name.empty()) out += line;
    rest.remove_prefix(end);
  }
  if (!open.empty()) refuse("the tables of '" + open + "' have no end marker");
  if (pairs == 0)
    refuse("no pair of lines '<!-- ropewalk leaderboards -->' and '<!-- ropewalk end -->'");
  return out;
}

}  // namespace ropewalk::report
