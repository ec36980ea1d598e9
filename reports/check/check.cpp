#include "reports/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/text.h"
#include "reports/check/picture_check.h"
#include "reports/pages/page_data.h"
#include "reports/pages/render.h"

namespace ropewalk::report {
namespace {

constexpr std::size_t results_bytes_max = std::size_t{1} << 30;

/// The text between `begin` and the next `end`. Throws if one of them is missing.
std::string_view between(std::string_view page, std::string_view begin, std::string_view end,
                         const std::string& name) {
  const std::size_t from = page.find(begin);
  const std::size_t to = from == page.npos ? page.npos : page.find(end, from + begin.size());
  if (to == page.npos)
    throw BadFile(name +
                  ": is no report.html of this ropewalk, or was cut; give one that "
                  "`ropewalk report` made");
  return page.substr(from + begin.size(), to - from - begin.size());
}

std::string without(std::string page, std::string_view part) {
  const std::size_t at = page.find(part);
  return at == page.npos ? page : page.erase(at, part.size());
}

/// The pictures of a page, and the page without them.
struct Pictures {
  std::vector<std::string_view> each;
  std::vector<std::size_t> at;
  std::string page;
};

Pictures pictures_of(std::string_view page) {
  constexpr std::string_view begin = "<svg class=\"chart ", end = "</svg>";
  Pictures out;
  std::size_t done = 0;
  for (std::size_t at; (at = page.find(begin, done)) != page.npos;) {
    const std::size_t close = page.find(end, at);
    if (close == page.npos) break;
    out.each.push_back(page.substr(at, close + end.size() - at));
    out.at.push_back(at);
    out.page.append(page, done, at - done);
    done = close + end.size();
  }
  out.page.append(page, done);
  return out;
}

std::string without_tags(std::string_view html) {
  std::string out;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) out += c;
    if (c == '>') inside = false;
  }
  out = clean_line(out);
  const std::size_t first = out.find_first_not_of(' ');
  if (first == out.npos) return "";
  return out.substr(first, out.find_last_not_of(' ') + 1 - first);
}

/// The text of the last element `tag` that begins in `from` .. `at`, or nothing.
std::string last_text(std::string_view page, std::string_view tag, std::size_t from,
                      std::size_t at) {
  const std::size_t open = page.rfind(tag, at);
  if (open == page.npos || open < from) return "";
  const std::size_t begin = page.find('>', open);
  const std::size_t end = page.find(std::string("</").append(tag.substr(1, 2)), begin);
  if (begin == page.npos || end == page.npos || begin > at) return "";
  const std::string_view inside = page.substr(begin + 1, end - begin - 1);
  const std::size_t name = std::min(inside.find("<span class=\"sub\""), inside.find("<svg"));
  return without_tags(inside.substr(0, name)).substr(0, 80);
}

/// The way to a place of the page, e.g. "Leaderboards, half_split / f32, row plain".
std::string way_to(std::string_view page, std::size_t at) {
  if (page.rfind(cells_begin, at) != page.npos) return "the embedded round ratios";
  const std::size_t section = std::min(page.rfind("<h2", at), page.size());
  if (section == page.size()) return "the banner";
  std::string way = last_text(page, "<h2", 0, at);
  for (const char* head : {"<h3", "<h4"})
    if (const std::string text = last_text(page, head, section, at); !text.empty())
      way += ", " + text;
  const std::size_t row = page.rfind("<tr", at);
  if (row != page.npos && row > section && page.find("</tr>", row) > at)
    if (const std::string text = last_text(page, "<th", row, at); !text.empty())
      way += ", row " + text;
  return way;
}

/// The number or word around a place.
std::string word_at(std::string_view page, std::size_t at) {
  const auto belongs = [](char c) {
    return std::string_view("<>\"'= \n\t()[]").find(c) == std::string_view::npos;
  };
  std::size_t begin = std::min(at, page.size()), end = begin;
  while (begin > 0 && at - begin < 40 && belongs(page[begin - 1])) --begin;
  while (end < page.size() && end - at < 40 && belongs(page[end])) ++end;
  return begin == end ? "something else" : clean_line(page.substr(begin, end - begin));
}

std::string difference(std::string_view page, std::string_view expected) {
  const auto places = std::mismatch(page.begin(), page.end(), expected.begin(), expected.end());
  const auto at = static_cast<std::size_t>(places.first - page.begin());
  const auto line = 1 + std::count(page.begin(), places.first, '\n');
  return fmt::format("line {}: {}: the page has {}, the results give {}", line, way_to(page, at),
                     word_at(page, at), word_at(expected, at));
}

/// Requires that the page names the same maker, except for the program that drew the pictures.
void require_same_maker(const std::string& page, const std::string& again,
                        const std::string& name) {
  const auto maker = [&name](const std::string& of) {
    return std::string(between(of, maker_begin, ";", name));
  };
  if (maker(page) != maker(again))
    throw BadFile(fmt::format("{}: was made by {}, but this is {}; it cannot be checked here", name,
                              clean_line(maker(page)), maker(again)));
}

}  // namespace

Results results_of_page(const std::string& page, const std::string& name) {
  const auto inside = between(page, results_begin, block_end, name);
  return results_from(unpacked(inside, results_bytes_max), name);
}

PageCheck check_page(const std::string& page, const std::string& name,
                     const std::optional<Results>& results, const std::string& gnuplot) {
  const std::string_view inside = between(page, results_begin, block_end, name);
  const std::string carried = unpacked(inside, results_bytes_max);
  const std::string text = results ? text_of(*results) : carried;
  if (text != carried)
    return {false, true,
            fmt::format("{}: carries other results than the file: sha256 {} and {}", name,
                        sha256_hex(carried), sha256_hex(text))};
  const std::string again = render_html(results_from(text, name), gnuplot);
  require_same_maker(page, again, name);
  // The compressed block was compared by its content, because another zlib may write other bytes.
  std::string one = without(page, inside);
  std::string two = without(again, between(again, results_begin, block_end, name));
  const std::string drawn = std::string(between(page, maker_begin, "\"", name));
  const bool same_pictures = drawn == between(again, maker_begin, "\"", name);
  if (!same_pictures) {
    // Digits after the point and margins may be those of another gnuplot; nothing else may differ.
    const Pictures these = pictures_of(one), those = pictures_of(two);
    for (std::size_t i = 0; i < std::min(these.each.size(), those.each.size()); ++i)
      if (const std::string other = picture_difference(these.each[i], those.each[i]);
          !other.empty())
        return {false, true, fmt::format("{}: {}: {}", name, way_to(one, these.at[i]), other)};
    std::string rest = without(these.page, drawn);
    two = without(those.page, between(again, maker_begin, "\"", name));
    one = std::move(rest);
  }
  if (one != two) return {false, true, name + ": " + difference(one, two)};
  return {
      true, same_pictures,
      fmt::format("{}: every number is what its results give (sha256 {}){}", name, sha256_hex(text),
                  same_pictures ? ""
                                : "; another gnuplot drew the pictures: their words and links "
                                  "are ours, their lines and marks lie within two pixels")};
}

}  // namespace ropewalk::report
