// A document as lines of a terminal, at most 100 columns wide.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/document/document.h"

namespace ropewalk::report {
namespace {

constexpr std::size_t columns_max = 100, label_columns = 10, check_indent = 6;

using Lines = std::vector<std::string>;

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

/// In characters.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

// Where a line ends: after a part of the text, else at a space, else after a comma, else behind the
// word that is too long.
std::size_t end_of_line(std::string_view text, std::size_t columns, std::size_t least) {
  std::size_t width = 0;  // in bytes
  for (; width < text.size(); ++width)
    if (begins_character(text[width]) && columns-- == 0) break;
  if (width == text.size()) return width;
  for (const std::string_view mark : {"; ", " ", ","}) {
    const std::size_t kept = mark == " " ? 0 : 1, at = text.rfind(mark, width - kept);
    if (at != std::string_view::npos && at > least) return at + kept;
  }
  return std::min(text.find(' ', std::max(width, least)), text.size());
}

std::string plain(const Line& line) {
  std::string out;
  for (const Span& span : line.spans) {
    const std::string text = span.text.plain();
    out += out.empty() ? "" : " ";
    const bool is_aside = span.style == Style::tag || span.style == Style::small;
    out += is_aside ? "(" + text + ")" : text;
  }
  return out;
}

bool is_code(const Line& line) {
  return line.spans.size() == 1 && line.spans[0].style == Style::code;
}

/// A command is broken within the quotes around its case alone, where a newline is a space.
Lines fact_lines(const Fact& fact, std::size_t indent) {
  const std::string text =
      fmt::format("{:{}}{:<{}} {}", "", indent, plain(fact.name), label_columns, plain(fact.value));
  std::size_t least = 0;
  if (is_code(fact.value))
    least = text.ends_with('\'') ? text.rfind('\'', text.size() - 2) : text.size();
  return wrapped(text, indent + label_columns + 1, least);
}

std::size_t lines_of(const std::vector<Lines>& texts) {
  std::size_t count = 0;
  for (const Lines& text : texts) count += text.size();
  return count;
}

// Takes the last lines of the longest texts until they are few enough.
void shorten(std::vector<Lines>& texts, std::size_t lines_max) {
  while (lines_of(texts) > lines_max) {
    auto& longest = *std::ranges::max_element(
        texts, [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (longest.size() < 3) return;
    longest.pop_back();
    longest.back() =
        std::string(check_indent + label_columns + 1, ' ') + "... (--all shows the rest)";
  }
}

Lines terminal_lines(const Paragraph& paragraph, std::size_t lines_max) {
  if (paragraph.is_detail) return {};
  Lines lines = wrapped(plain(paragraph.line), paragraph.indent);
  if (lines_max == 0 || lines.size() <= lines_max) return lines;
  lines.resize(lines_max);
  lines.back() = lines.back().substr(0, lines.back().rfind(' ', columns_max - 4)) + " ...";
  return lines;
}

Lines terminal_lines(const Facts& facts, std::size_t) {
  Lines out;
  for (const Fact& fact : facts.facts)
    std::ranges::move(fact_lines(fact, 2), std::back_inserter(out));
  return out;
}

/// A row, and below it what stands small in its texts.
std::vector<Lines> row_lines(const TableRow& row, const std::vector<Column>& columns) {
  std::vector<Lines> out(1);
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const bool is_last = i + 1 == row.cells.size();
    const bool is_number = i < columns.size() && columns[i].is_number;
    Line beside;
    for (const Span& span : row.cells[i].line.spans)
      if (span.style != Style::small || (is_number && is_last))
        beside.add(span);
      else if (!is_number)
        out.emplace_back(i + 1).back() = "    " + span.text.plain();
    out[0].push_back(plain(beside));
  }
  return out;
}

/// All columns are as wide as their widest cell but the last, which is broken.
Lines terminal_lines(const Table& table, std::size_t) {
  std::vector<Lines> rows;
  const auto has_head = [](const Column& column) { return !column.head.empty(); };
  if (std::ranges::any_of(table.columns, has_head)) {
    rows.emplace_back();
    for (const Column& column : table.columns) rows.back().push_back(column.head.plain());
  }
  for (const TableRow& row : table.rows)
    std::ranges::move(row_lines(row, table.columns), std::back_inserter(rows));
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(column.width);
  for (const Lines& row : rows)
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  Lines out;
  for (const Lines& row : rows) {
    std::string line(table.indent, ' ');
    std::size_t indent = table.indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_number = i < table.columns.size() && table.columns[i].is_number;
      const std::size_t width = i < widths.size() ? widths[i] : 0;
      const std::string pad(width - std::min(width, width_of(row[i])), ' ');
      line += (i > 0 ? "  " : "") + (is_number ? pad + row[i] : row[i] + pad);
      if (i + 1 < row.size()) indent += width + 2;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::ranges::move(wrapped(line, std::min(indent, columns_max / 2)), std::back_inserter(out));
  }
  return out;
}

Lines terminal_lines(const Check& check, std::size_t lines_max) {
  std::vector<Lines> texts{wrapped(
      fmt::format("{:<5} {} ({}): {}", check.verdict.plain(), check.kernel.plain(),
                  check.where.plain() + (check.beside.empty() ? "" : ", ") + check.beside.plain(),
                  check.name.plain()))};
  std::size_t command = 0;
  for (const Fact& fact : check.facts.facts) {
    if (lines_max > 0 && fact.is_detail) continue;
    if (is_code(fact.value)) command = texts.size();
    texts.push_back(fact_lines(fact, check_indent));
  }
  if (const Text more = same_cause_text(check.more); !more.empty())
    texts.push_back(fact_lines({"same cause", more.plain() + "; --all shows each"}, check_indent));
  if (lines_max > 0 && lines_of(texts) > lines_max) {
    if (command > 0)
      texts[command] = {"      replay     too long for a block: --all, --json and --out give it"};
    shorten(texts, lines_max);
  }
  Lines out;
  for (Lines& text : texts) std::ranges::move(text, std::back_inserter(out));
  return out;
}

Lines terminal_lines(const Part& part, std::size_t lines_max) {
  Lines out;
  if (!part.title.empty()) out = wrapped(part.title.plain());
  for (const Block& block : part.blocks)
    if (std::string text = terminal_text(block, lines_max); !text.empty()) {
      const Part* inner = std::get_if<Part>(&block.content);
      if (inner != nullptr && !inner->title.empty() && !out.empty()) out.emplace_back();
      text.pop_back();
      out.push_back(std::move(text));
    }
  return out;
}

Lines terminal_lines(const Chart& chart, std::size_t) {
  return wrapped(chart.title);
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t indent, std::size_t least) {
  std::vector<std::string> lines;
  do {
    const bool first = lines.empty();
    const std::size_t end = end_of_line(text, first ? columns_max : columns_max - indent,
                                        first ? std::max(indent, least) : 0);
    lines.push_back(std::string(first ? 0 : indent, ' ').append(text.substr(0, end)));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  } while (!text.empty());
  return lines;
}

std::string terminal_text(const Block& block, std::size_t lines_max) {
  return std::visit(
      [&](const auto& content) {
        const Lines lines = terminal_lines(content, lines_max);
        return lines.empty() ? std::string() : fmt::format("{}\n", fmt::join(lines, "\n"));
      },
      block.content);
}

}  // namespace ropewalk::report
