// The curves of `ropewalk encodings`: the section of the page, and the files of --curves.
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
  std::string shows, shows_not;  ///< the claim that it supports, and the one that it does not
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
       .shows = "the bound falls in the mean: from 20.8 over the distances 1 to 15 to 4.7 "
                "over 4,096 to 16,383, taken over "
                "every distance.",
       .shows_not =
           fmt::format("q.k decays. B bounds what q.k can be for slowly varying pairs; some q "
                       "and k reach |q||k| at each distance (the law `falls` above). B itself "
                       "rises at {} of the first 256 steps, which the paper's figure does not "
                       "show, and past 4096 it no longer falls.",
                       decay[1].x.size()),
       .curves = decay},
      {.name = "relativity",
       .picture = {.title = "Change of q.k when both positions move",
                   .x_label = "position m, with m - n = 50",
                   .y_label = "change of q.k / (|q||k|)",
                   .x_scale = Scale::logarithmic,
                   .x_ticks = powers_of_two(6, 20, 2),
                   .y_floor = 1e-9},
       .shows = "bf16 breaks the dependence on m - n alone: by up to 8e-4 of |q||k| at any "
                "position, and by a sixth once positions themselves are rounded to bf16.",
       .shows_not = "the error of bf16 results or tables grows with the context: it does not. "
                    "What grows is the error of an f32 angle, which passes bf16's near 2^19. "
                    "Frequencies in bf16 keep the law and turn by other angles than the model's, "
                    "which only an oracle sees.",
       .curves = relativity_curves(oracle)},
      {.name = "context",
       .picture = {.title = "Pairs that turn at least once in L tokens",
                   .x_label = "tokens L",
                   .y_label = "share of the pairs",
                   .x_scale = Scale::logarithmic,
                   .x_ticks = powers_of_two(7, 20, 1)},
       .shows = "a larger base leaves more pairs without a whole turn in training: of 64 "
                "pairs at base 10000 18 in 4096 tokens, at base 500000 32.",
       .shows_not = "a model of this base works at that length. The share says which angles "
                    "training can show, not what a model makes of them.",
       .curves = context_curves()},
      {.name = "angle",
       .picture = {.title = "Error of cos and sin by how the angle is formed",
                   .x_label = "position",
                   .y_label = "largest error of a pair",
                   .x_scale = Scale::logarithmic,
                   .x_ticks = powers_of_two(0, 31, 4),
                   .y_floor = 1e-8},
       .shows = "an f32 angle loses a bit at each doubling of the position: 1e-4 at 1,024, "
                "0.01 at 131,072, and nothing is left at 2^24. An angle in f64 costs no accuracy "
                "up to 2^27.",
       .shows_not = "the exact angle is better for a trained model. A model that was trained "
                    "with f32 angles has learned those.",
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

std::string curves_section() {
  std::string out =
      "## Curves\n\nComputed from the rotation alone, rotary_dim 128. `ropewalk encodings --curves "
      "DIR` writes their\nnumbers (CSV) and these pictures.\n";
  for (const CurvePicture& each : curve_pictures())
    out += fmt::format(
        "\n### {0}\n\n<picture><source media=\"(max-width: 600px)\" "
        "srcset=\"curves/{1}-narrow.svg\">"
        "<img alt=\"{0}\" src=\"curves/{1}.svg\"></picture>\n\nIt shows that {2}\n\nIt does not "
        "show that {3}\n\nNumbers: [{1}.csv](curves/{1}.csv)\n",
        each.picture.title, each.name, each.shows, each.shows_not);
  return out;
}

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
