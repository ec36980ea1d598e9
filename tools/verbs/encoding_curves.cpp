// The curves of `ropewalk encodings --curves`. docs/encodings.md says what each shows.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/whole_file.h"
#include "reference/curves.h"
#include "reports/figures/figure.h"
#include "reports/pages/picture_file.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;
namespace {

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

}  // namespace

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

}  // namespace ropewalk::tools
