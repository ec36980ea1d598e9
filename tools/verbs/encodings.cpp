// The page docs/encodings.md: which laws hold for which encoding of positions, with
// counterexamples. The prose around them is printed from the page, which is compiled in.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/text_file.h"
#include "reference/curves.h"
#include "reference/encodings/laws.h"
#include "reports/pages/render.h"
#include "tools/command/session.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;
namespace {

// From one of the page's lines up to another.
std::string_view prose(std::string_view from, std::string_view to) {
  const std::string_view page = encodings_page();
  const std::size_t begin = page.find(from);
  return page.substr(begin, page.find(to, begin) - begin);
}

const char* answer_word(LawCell::Answer answer) {
  return answer == LawCell::holds ? "yes" : answer == LawCell::fails ? "no" : "-";
}

void print_encoding(const Encoding& e, const std::vector<LawCell>& cells) {
  fmt::print("\n### {}\n\n{}. Source: {}.\n\n", e.name, e.title, e.source);
  for (const auto& [name, text] : {std::pair{"f_q", e.f_q}, std::pair{"f_k", e.f_k},
                                   std::pair{"f_v", e.f_v}, std::pair{"s(m, n)", e.formula}})
    fmt::print("- {} = `{}`\n", name, text);
  if (!e.note.empty()) fmt::print("\n{}\n", e.note);
  std::string reasons;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].answer != LawCell::holds)
      reasons += fmt::format("- {} **{}**{}: {}.\n", i + 1, all_laws()[i].name,
                             cells[i].answer == LawCell::fails ? ", no" : "", cells[i].text);
  if (!reasons.empty()) fmt::print("\nLaws that fail or do not apply:\n\n{}", reasons);
}

// ---- the curves of --curves, of which the page says what each shows

struct CurvePicture {
  std::string name;  ///< of its files
  ChartRequest picture;
  std::vector<NamedCurve> curves;
};

// Powers of two from 2^low to 2^high, every `step`.
std::vector<ChartPlace> powers_of_two(int low, int high, int step) {
  std::vector<ChartPlace> out;
  for (int i = low; i <= high; i += step) out.push_back({std::exp2(i), fmt::format("2^{{{}}}", i)});
  return out;
}

std::vector<CurvePicture> curve_pictures() {
  Oracle oracle;
  const std::vector<NamedCurve> decay = decay_bound_curves(oracle);
  std::vector<CurvePicture> out{
      {.name = "decay-bound",
       .picture = {.title = "RoFormer's decay bound B(D)",
                   .x_label = "distance D",
                   .y_label = "B(D)",
                   .x_scale = Scale::from_zero,
                   .x_ticks = powers_of_two(0, 16, 2)},
       .curves = decay},
      {.name = "relativity",
       .picture = {.title = "Change of q.k when both positions move",
                   .x_label = "position m, with m - n = 50",
                   .y_label = "change of q.k / (|q||k|)",
                   .x_scale = Scale::logarithmic,
                   .x_ticks = powers_of_two(6, 20, 2),
                   .y_floor = 1e-9},
       .curves = relativity_curves(oracle)},
      {.name = "context",
       .picture = {.title = "Pairs that turn at least once in L tokens",
                   .x_label = "tokens L",
                   .y_label = "share of the pairs",
                   .x_scale = Scale::logarithmic,
                   .x_ticks = powers_of_two(7, 20, 1)},
       .curves = context_curves()},
      {.name = "angle",
       .picture = {.title = "Error of cos and sin by how the angle is formed",
                   .x_label = "position",
                   .y_label = "largest error of a pair",
                   .x_scale = Scale::logarithmic,
                   .x_ticks = powers_of_two(0, 31, 4),
                   .y_floor = 1e-8},
       .curves = angle_curves(oracle)}};
  for (CurvePicture& each : out)
    for (const NamedCurve& curve : each.curves) {
      const int colour = static_cast<int>(each.picture.series.size());
      const Draw draw = curve.series == decay[1].series ? Draw::points : Draw::line;
      each.picture.series.push_back({curve.x, curve.y, draw, {}, {}, {colour, 0}});
    }
  return out;
}

std::string csv_of(const CurvePicture& picture) {
  std::string out = "series,x,y\n";
  for (const NamedCurve& curve : picture.curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      out += fmt::format("\"{}\",{:.9g},{:.4g}\n", curve.series, curve.x[i], curve.y[i]);
  return out;
}

/// Writes CSV, and SVG for wide and narrow pages. Throws std::runtime_error without gnuplot.
void write_curves(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (CurvePicture& each : curve_pictures()) {
    std::vector<std::string> names;
    for (const NamedCurve& curve : each.curves) names.push_back(curve.series);
    const std::filesystem::path file = std::filesystem::path(folder) / each.name;
    std::erase(each.picture.id = each.name, '-');
    write_whole_file(file.string() + ".csv", csv_of(each));
    write_whole_file(file.string() + ".svg", picture_file(each.picture, wide_chart, names));
    write_whole_file(file.string() + "-narrow.svg",
                     picture_file(each.picture, narrow_chart, names));
  }
}

}  // namespace

int run(const EncodingsOptions& options) {
  if (!options.curves.empty()) {
    write_curves(options.curves);
    return 0;
  }
  std::vector<const Encoding*> chosen;
  for (const std::string& name : options.names) {
    chosen.push_back(find_encoding(name));
    if (chosen.back() != nullptr) continue;
    std::string known;
    for (const Encoding* e : all_encodings())
      known += (known.empty() ? "" : ", ") + std::string(e->name);
    throw UsageError("no encoding is named '" + name + "' (there are " + known + ")");
  }
  const bool all = chosen.empty();
  if (all) chosen = all_encodings();
  if (all) fmt::print("{}", prose("# ", "1. **"));
  std::string columns, line = "|---|";
  for (std::size_t i = 0; i < all_laws().size(); ++i) {
    const EncodingLaw& law = all_laws()[i];
    fmt::print("{}. **{}**: {}.\n", i + 1, law.name, law.meaning);
    columns += fmt::format(" {} |", i + 1);
    line += "---|";
  }
  fmt::print("\n{}| |{}\n{}\n", all ? prose("W_q, W_k, W_v and everything", "| |") : "", columns,
             line);
  std::vector<std::vector<LawCell>> table;
  for (const Encoding* e : chosen) {
    std::string row = fmt::format("| [{0}](#{0}) |", e->name);
    auto& cells = table.emplace_back();
    for (const EncodingLaw& law : all_laws()) {
      cells.push_back(law.judge(*e));
      row += fmt::format(" {} |", answer_word(cells.back().answer));
    }
    fmt::print("{}\n", row);
  }
  if (all) fmt::print("\n\"-\" means that the law does not apply.\n\n## The encodings\n");
  for (std::size_t i = 0; i < chosen.size(); ++i) print_encoding(*chosen[i], table[i]);
  if (!all) return 0;
  fmt::print("\n{}", prose("## Curves", "no such line"));
  return 0;
}

}  // namespace ropewalk::tools
