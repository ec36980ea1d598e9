// A document as Markdown that is read as it stands: one line for each row, one for each fact.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "reports/document/document.h"

namespace ropewalk::report {
namespace {

std::string markdown_of(const Line& line, bool in_cell) {
  std::string out;
  for (const Span& span : line.spans) {
    const std::string text = in_cell ? span.text.markdown_cell() : span.text.markdown();
    out += out.empty() ? "" : " ";
    if (span.style == Style::strong || span.style == Style::pill)
      out += "**" + text + "**";
    else if (span.style == Style::code)
      out += markdown_code(span.text.plain());
    else if (span.style == Style::tag || span.style == Style::small)
      out += "(" + text + ")";
    else
      out += text;
  }
  return out;
}

/// A paragraph must not begin as a heading, a list, a quotation, a table or a fence does.
std::string paragraph(std::string text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::size_t at = digits < text.size() && digits < 10 ? digits : 0;
  const bool numbers = at > 0 && (text[at] == '.' || text[at] == ')');
  if (numbers || (at == 0 && !text.empty() &&
                  std::string_view("#>-+=|[").find(text[0]) != std::string_view::npos))
    text.insert(at, "\\");
  return text + "\n\n";
}

std::string heading(int level, const Text& title) {
  return title.empty()
             ? ""
             : std::string(static_cast<std::size_t>(level), '#') + " " + title.markdown() + "\n\n";
}

std::string markdown_of(const Table& table) {
  std::string out = table.use.empty() ? "" : paragraph(table.use.markdown());
  std::string line = "|";
  const auto end_line = [&] { out += std::exchange(line, "|") + "\n"; };
  for (const Column& column : table.columns) line += " " + column.head.markdown_cell() + " |";
  end_line();
  for (const Column& column : table.columns) line += column.is_number ? "---:|" : "---|";
  end_line();
  std::size_t folded = 0;
  for (const TableRow& row : table.rows) {
    folded += row.is_folded ? 1 : 0;
    if (row.is_folded) continue;
    std::size_t at = 0;
    for (const Cell& cell : row.cells) {
      line += " " + markdown_of(cell.line, true) + " |" + std::string(cell.columns - 1, '|');
      at += cell.columns;
    }
    for (; at < table.columns.size(); ++at) line += " |";
    end_line();
  }
  if (folded > 0) out += fmt::format("\n{} more are in results.csv.\n", folded);
  return out + "\n";
}

/// The facts of a run follow each other; those of a failure are a block that nothing in it can end.
std::string markdown_of(const Facts& facts) {
  std::string out;
  for (const Fact& fact : facts.facts)
    out += fmt::format("- {}: {}\n", markdown_of(fact.name, false), markdown_of(fact.value, false));
  return out + "\n";
}

std::string markdown_of(const Check& check) {
  std::string out = paragraph(fmt::format(
      "**{} {}** {}, {}, {}", symbol_of(check.standing), check.verdict.markdown(),
      check.kernel.markdown(), check.name.markdown(),
      check.where.markdown() + (check.beside.empty() ? "" : ", " + check.beside.markdown())));
  std::string block;
  for (const Fact& fact : check.facts.facts) {
    const auto plain = [](const Line& line) {
      std::string text;
      for (const Span& span : line.spans) text += (text.empty() ? "" : " ") + span.text.plain();
      return text;
    };
    block +=
        fmt::format("{}{:<10} {}", block.empty() ? "" : "\n", plain(fact.name), plain(fact.value));
  }
  if (!block.empty()) out += markdown_block(block) + "\n\n";
  const std::string more = same_cause_text(check.more).markdown();
  return more.empty() ? out : out + "Of the same cause: " + more + "\n\n";
}

std::string markdown_of(const Paragraph& text) {
  return paragraph(markdown_of(text.line, false));
}

std::string markdown_of(const Chart& chart) {
  std::string out = fmt::format("**{}** {}\n\n", chart.title, Text(chart.name).markdown());
  out += paragraph(Text(chart.how_to_read).markdown());
  return out + markdown_of(numbers_of(chart));
}

/// `left_out` gets the titles of what stands on the page alone, each once.
std::string markdown_of(const std::vector<Block>& blocks, int level,
                        std::vector<std::string>& left_out) {
  std::string out;
  for (const Block& block : blocks) {
    const auto* part = std::get_if<Part>(&block.content);
    if (part == nullptr) {
      out += std::visit(
          [](const auto& content) -> std::string {
            if constexpr (requires { markdown_of(content); })
              return markdown_of(content);
            else
              return "";
          },
          block.content);
      continue;
    }
    const std::string title = part->title.markdown();
    if (part->is_for_page) {
      if (std::ranges::count(left_out, title) == 0) left_out.push_back(title);
      continue;
    }
    const std::string inside =
        markdown_of(part->blocks, part->title.empty() ? level : level + 1, left_out);
    if (part->is_folded && level == 2)
      out += fmt::format("<details><summary>{}</summary>\n\n{}</details>\n\n", part->title.html(),
                         inside);
    else
      out += heading(level, part->title) + inside;
  }
  return out;
}

}  // namespace

std::string markdown_of(const std::vector<Block>& blocks) {
  std::vector<std::string> left_out;
  std::string out = markdown_of(blocks, 2, left_out);
  if (!left_out.empty())
    out += fmt::format("In report.html alone: {}.\n\n", fmt::join(left_out, ", "));
  return out;
}

std::string markdown_of(const Document& document) {
  std::string out =
      fmt::format("# {} {}\n\n", symbol_of(document.standing), document.title.markdown());
  std::vector<Block> all = document.lead;
  all.insert(all.end(), document.parts.begin(), document.parts.end());
  out += markdown_of(all);
  for (const Line& line : document.foot) out += paragraph(markdown_of(line, false));
  out.pop_back();
  return out;
}

}  // namespace ropewalk::report
