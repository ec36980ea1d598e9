// The page docs/encodings.md: which laws hold for which encoding of positions, with
// counterexamples. The prose around them is printed from the page, which is compiled in.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/text_file.h"
#include "reference/curves.h"
#include "reference/encodings/laws.h"
#include "reports/figures/chart.h"
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

struct NamedChart {
  std::string name;  ///< of its files
  Chart chart;
  std::vector<NamedCurve> curves;
};

std::vector<NamedChart> curve_charts() {
  Oracle oracle;
  const std::vector<NamedCurve> decay = decay_bound_curves(oracle);
  std::vector<NamedChart> out{
      {.name = "decay-bound",
       .chart = {.title = "RoFormer's decay bound B(D)",
                 .x = {"distance D", Scale::from_zero, Unit::power_of_two},
                 .y = {"B(D)"}},
       .curves = decay},
      {.name = "relativity",
       .chart = {.title = "Change of q.k when both positions move",
                 .x = {"position m, with m - n = 50", Scale::logarithmic, Unit::power_of_two},
                 .y = {"change of q.k / (|q||k|)", Scale::logarithmic, Unit::power_of_ten, 1e-9}},
       .curves = relativity_curves(oracle)},
      {.name = "context",
       .chart = {.title = "Pairs that turn at least once in L tokens",
                 .x = {"tokens L", Scale::logarithmic, Unit::power_of_two},
                 .y = {"share of the pairs"}},
       .curves = context_curves()},
      {.name = "angle",
       .chart = {.title = "Error of cos and sin by how the angle is formed",
                 .x = {"position", Scale::logarithmic, Unit::power_of_two},
                 .y = {"largest error of a pair", Scale::logarithmic, Unit::power_of_ten, 1e-8}},
       .curves = angle_curves(oracle)}};
  for (auto& [name, chart, curves] : out)
    for (const NamedCurve& curve : curves)
      chart.series.push_back({.name = curve.series,
                              .draw = curve.series == decay[1].series ? Draw::points : Draw::line,
                              .style = {static_cast<int>(chart.series.size()), 0},
                              .x = curve.x,
                              .y = curve.y});
  return out;
}

std::string csv_of(const std::vector<NamedCurve>& curves) {
  std::string out = "series,x,y\n";
  for (const NamedCurve& curve : curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      out += fmt::format("\"{}\",{:.9g},{:.4g}\n", curve.series, curve.x[i], curve.y[i]);
  return out;
}

/// Writes CSV and SVG. Throws std::runtime_error without gnuplot.
void write_curves(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UsageError("cannot make the folder " + folder + ": " + error.message());
  for (const auto& [name, chart, curves] : curve_charts()) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    write_whole_file(file.string() + ".csv", csv_of(curves));
    write_whole_file(file.string() + ".svg", picture_file(chart));
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
