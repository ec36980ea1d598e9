// A document as one page, in the looks of report.css.
#include <fmt/format.h>

#include <array>
#include <map>

#include "base/text.h"
#include "reports/document/document.h"

namespace ropewalk::report {
namespace {

constexpr std::array<const char*, 5> tones = {"", "good", "bad", "slow", "none"};

std::string name_of(Tone tone) {
  return tones.at(static_cast<std::size_t>(tone));
}

std::string attribute(std::string_view name, std::string_view value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, value);
}

std::string element(const char* tag, const std::string& look, const std::string& inside) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, attribute("class", look), inside);
}

/// A narrow column may break a name behind each underscore.
std::string with_breaks(std::string text) {
  for (std::size_t at = 0; (at = text.find('_', at)) != std::string::npos; at += 6)
    text.insert(at + 1, "<wbr>");
  return text;
}

std::string html_of(const Span& span) {
  std::string text = span.text.html();
  std::string look;
  const char* tag = "span";
  switch (span.style) {
    case Style::plain:
      look = name_of(span.tone);
      break;
    case Style::strong:
      tag = "b";
      look = name_of(span.tone);
      break;
    case Style::name:
      look = "name";
      text = with_breaks(text);
      break;
    case Style::code:
      tag = "code";
      break;
    case Style::small:
      tag = "small";
      break;
    case Style::tag:
      look = "tag";
      break;
    case Style::pill:
      look = "pill " + name_of(span.tone);
      break;
  }
  if (!span.link.empty())
    return fmt::format("<a{} href=\"#{}\">{}</a>", attribute("class", look), span.link, text);
  const bool bare = look.empty() && std::string_view(tag) == "span";
  return bare ? text : element(tag, look, text);
}

std::string html_of(const Line& line) {
  std::string out;
  for (const Span& span : line.spans) out += (out.empty() ? "" : " ") + html_of(span);
  return out;
}

std::string html_of(const Facts& facts) {
  std::string out;
  for (const Fact& fact : facts.facts)
    out +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_of(fact.name), html_of(fact.value));
  return out;
}

std::string html_of(const Bar& bar) {
  if (!(bar.length > 0)) return "";
  std::string spread;
  if (bar.high > bar.low)
    spread =
        fmt::format("<path class=\"spread\" d=\"M{0:.1f} 6H{1:.1f}M{0:.1f} 0V12M{1:.1f} 0V12\"/>",
                    bar.low, bar.high);
  return fmt::format(
      "<svg class=\"track\" viewBox=\"0 0 100 12\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\"><path d=\"M0 6H{:.1f}\"/>{}</svg>",
      bar.length, spread);
}

std::string html_of(const Cell& cell, const Column& column, bool is_first, bool is_stacked) {
  std::string look = cell.look;
  if (column.is_number && is_stacked) look += look.empty() ? "num" : " num";
  const std::string inside = html_of(cell.line) + html_of(cell.bar);
  return fmt::format(
      "<{}{}{}{}{}>{}", is_first ? "th scope=\"row\"" : "td", attribute("class", look),
      attribute("title", cell.title.html()),
      cell.columns > 1 ? fmt::format(" colspan=\"{}\"", cell.columns) : "",
      is_stacked && !is_first && !inside.empty() ? attribute("data-label", column.head.html()) : "",
      inside);
}

std::string html_of(const Table& table) {
  const std::string_view look = table.look;
  const bool is_stacked = look.find("stack") != look.npos || look == "lines";
  std::string out = element("p", "lead", table.use.html()) + "\n";
  if (table.use.empty()) out.clear();
  const bool is_listed = !look.empty() && look != "lines" &&
                         look != "figures";  // sorted, filtered, in a box of its own
  out += fmt::format("<div class=\"scroll{}\" tabindex=\"0\"{}><table class=\"{}{}\">\n",
                     is_listed && look != "ranks" ? " card" : "", is_listed ? " data-filter" : "",
                     look, is_listed ? " sortable" : "");
  std::string heads;
  for (const Column& column : table.columns)
    heads += fmt::format("<th scope=\"col\"{}{}><span>{}</span>",
                         attribute("class", column.is_number ? "num" : ""),
                         attribute("title", column.long_head.html()), column.head.html());
  if (!heads.empty()) out += "<thead><tr>" + heads + "</thead>\n";
  out += "<tbody>\n";
  std::size_t folded = 0;
  const Column none;
  for (const TableRow& row : table.rows) {
    folded += row.is_folded ? 1 : 0;
    std::string row_look = row.look;
    if (row.is_folded) row_look += row_look.empty() ? "folded" : " folded";
    out += fmt::format("<tr{}>", attribute("class", row_look));
    std::size_t at = 0;
    for (const Cell& cell : row.cells) {
      out +=
          html_of(cell, at < table.columns.size() ? table.columns[at] : none, at == 0, is_stacked);
      at += cell.columns;
    }
    out += "\n";
  }
  out += "</tbody></table></div>\n";
  if (folded > 0)
    out += fmt::format("<details class=\"more\"><summary>{} more</summary></details>\n", folded);
  return out;
}

/// Draws charts.
class Writer {
 public:
  explicit Writer(std::string gnuplot) : gnuplot_(std::move(gnuplot)) {}

  std::string of(const std::vector<Block>& blocks, int level) {
    std::string out;
    for (const Block& block : blocks)
      out += std::visit([&](const auto& content) { return of(content, level); }, block.content);
    return out;
  }

  std::string of(const Part& part, int level) {
    const std::string inside = of(part.blocks, level + (part.title.empty() ? 0 : 1));
    const std::string id = attribute("id", part.id), title = part.title.html();
    const std::string heading = title.empty() ? "" : fmt::format("<h{0}>{1}</h{0}>", level, title);
    std::string look = part.look;
    if (part.is_folded)
      return fmt::format(
          "<details class=\"fold{}{}\">\n<summary>{}</summary>\n<div{}>\n{}</div>\n</details>\n",
          look.empty() ? "" : " ", look, level == 2 ? heading : title, id, inside);
    return fmt::format("<section{}{}>\n{}\n{}</section>\n", id, attribute("class", look), heading,
                       inside);
  }

 private:
  std::string of(const Paragraph& paragraph, int) {
    return element("p", paragraph.look, html_of(paragraph.line)) + "\n";
  }
  std::string of(const Facts& facts, int) {
    return fmt::format("<dl class=\"{}\">\n{}</dl>\n", facts.look, html_of(facts));
  }
  std::string of(const Table& table, int) { return html_of(table); }

  std::string of(const Check& check, int level) {
    const auto facts_of = [](const Check& each) {
      return fmt::format("<dl{}>\n{}</dl>\n", attribute("id", each.id), html_of(each.facts));
    };
    const auto where_of = [](const Check& each) {
      return each.where.html() + (each.beside.empty() ? "" : ", " + each.beside.html());
    };
    std::string more;
    for (const Check& other : check.more)
      more += fmt::format("<h{0}>{1} <span class=\"muted\">{2}</span></h{0}>\n{3}", level,
                          other.name.html(), where_of(other), facts_of(other));
    if (!more.empty())
      more = fmt::format(
          "<details class=\"fold\"><summary>{} more of the same cause</summary>\n{}</details>\n",
          check.more.size(), more);
    return fmt::format(
        "<details class=\"card failure\" data-filter{}>\n<summary><span class=\"pill bad\">{} {}"
        "</span> <b>{}</b> {} <span class=\"muted\">{}</span></summary>\n{}{}</details>\n",
        check.is_open ? " open" : "", symbol_of(check.standing), check.verdict.html(),
        check.kernel.html(), check.name.html(), where_of(check), facts_of(check), more);
  }

  std::string of(const Chart& chart, int level) {
    const std::string title = Text(chart.title).html();
    const Picture picture = draw_chart(chart, gnuplot_);
    std::string out = fmt::format(
        "<figure class=\"card\">\n<figcaption><h{0}>{1} <span class=\"muted\">{2}</span></h{0}>"
        "<p class=\"sub\">{3}</p></figcaption>\n",
        level, title, Text(chart.name).html(), Text(chart.how_to_read).html());
    if (picture.error.empty())
      out += image_element(chart, picture) + "\n" + below(legend_of(chart), chart.absent);
    else
      out += element("p", "missing",
                     "This chart could not be drawn: " + Text(picture.error).html() +
                         ". Its numbers stand below.") +
             "\n";
    out += fmt::format(
        "<details class=\"numbers\"{}><summary>The numbers</summary>\n{}</details>\n"
        "</figure>\n",
        picture.error.empty() ? "" : " open", html_of(numbers_of(chart)));
    if (!chart.is_folded) return out;
    return fmt::format("<details class=\"fold\"><summary>{}</summary>\n{}</details>\n", title, out);
  }

  static std::string below(const std::vector<LegendEntry>& legend,
                           const std::vector<std::string>& left_out) {
    std::string out = "<ul class=\"legend\">\n";
    for (const auto& [name, note, css_class, symbol] : legend)
      out += fmt::format(
          "<li><span class=\"swatch {}\" aria-hidden=\"true\">{}</span> {} "
          "<span class=\"muted\">{}</span></li>\n",
          css_class, symbol, Text(name).html(), Text(note).html());
    out += "</ul>\n";
    std::string absent;
    for (const std::string& text : left_out)
      absent += (absent.empty() ? "" : "; ") + Text(text).html();
    return absent.empty() ? out
                          : out + element("p", "sub", "Not in the picture: " + absent + ".") + "\n";
  }

  std::string gnuplot_;
};

}  // namespace

std::string html_of(const Document& document, const PageCode& code, const std::string& gnuplot) {
  Writer writer(gnuplot);
  const std::string title = document.title.html();
  std::string out = fmt::format(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-{0}'; script-src 'nonce-{0}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{1} · Ropewalk report</title>
<link rel="icon" href="data:,">
<style nonce="{0}">
{2}</style>
</head>
<body>
<div class="rope" aria-hidden="true"></div>
<header class="page">
<p class="brand"><strong>Ropewalk</strong> conformance and speed of RoPE kernels</p>
</header>
<main class="page">
<section class="banner {3}">
<h1><span class="seal" aria-hidden="true">{4}</span><span>{1}</span></h1>
{5}</section>
<nav aria-label="Sections">
)",
      code.nonce, title, code.style, name_of(tone_of(document.standing)),
      symbol_of(document.standing), writer.of(document.lead, 2));
  for (const Part& part : document.parts)
    out += fmt::format("<a href=\"#{}\">{}</a>\n", part.id, part.title.html());
  out += "</nav>\n";
  for (const Part& part : document.parts) out += writer.of(part, 2);
  out += "</main>\n<footer class=\"page\">\n";
  for (const Line& line : document.foot) out += element("p", "", html_of(line)) + "\n";
  return out + fmt::format("</footer>\n<script nonce=\"{}\">\n{}</script>\n</body>\n</html>\n",
                           code.nonce, code.script);
}

}  // namespace ropewalk::report
