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
  std::string supports, does_not;  ///< the claim that it supports, and the one that it does not
  std::vector<NamedCurve> curves;
};

// Powers of two from 2^low to 2^high, every `step`.
std::vector<ChartPlace> powers_of_two(int low, int high, int step) {
  std::vector<ChartPlace> out;
  for (int i = low; i <= high; i += step) out.push_back({std::exp2(i), fmt::format("2^{{{}}}", i)});
  return out;
}

CurvePicture decay_picture(Oracle& oracle) {
  CurvePicture out;
  out.name = "decay-bound";
  out.picture.title = "RoFormer's decay bound B(D)";
  out.picture.x_label = "distance D";
  out.picture.y_label = "B(D)";
  out.picture.x_scale = Scale::from_zero;
  for (const double x : {0.0, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0})
    out.picture.x_ticks.push_back({x, fmt::format("{:.0f}", x)});
  out.curves = decay_bound_curves(oracle);
  out.supports =
      "That the bound falls in the mean: from 20.8 over the distances 1 to 15 to 4.7 over 4,096 to "
      "16,383.";
  out.does_not = fmt::format(
      "That q.k decays. B bounds what q.k can be for slowly varying pairs; some q and k reach "
      "|q||k| at "
      "each distance (the law `falls` above). B itself rises at {} of the first 256 steps, which "
      "the "
      "paper's figure does not show, and past 4096 it no longer falls.",
      out.curves[1].x.size());
  return out;
}

CurvePicture relativity_picture(Oracle& oracle) {
  CurvePicture out;
  out.name = "relativity";
  out.picture.title = "Change of q.k when both positions move";
  out.picture.x_label = "position m, with m - n = 50";
  out.picture.y_label = "change of q.k / (|q||k|)";
  out.picture.x_scale = Scale::logarithmic;
  out.picture.x_ticks = powers_of_two(6, 20, 2);
  out.picture.y_floor = 1e-9;
  out.curves = relativity_curves(oracle);
  out.supports =
      "That bf16 breaks the dependence on m - n alone: by up to 8e-4 of |q||k| at any position, "
      "and by a "
      "sixth once positions themselves are rounded to bf16.";
  out.does_not =
      "That the error of bf16 results or tables grows with the context: it does not. What grows is "
      "the "
      "error of an f32 angle, which passes bf16's near 2^19. Frequencies in bf16 keep the law and "
      "turn by other angles than the model's, which only an oracle sees.";
  return out;
}

CurvePicture context_picture() {
  CurvePicture out;
  out.name = "context";
  out.picture.title = "Pairs that turn at least once in L tokens";
  out.picture.x_label = "tokens L";
  out.picture.y_label = "share of the pairs";
  out.picture.x_scale = Scale::logarithmic;
  out.picture.x_ticks = powers_of_two(7, 20, 1);
  out.curves = context_curves();
  out.supports =
      "That a larger base leaves more pairs without a whole turn in training: of 64 pairs at base "
      "10000 "
      "18 in 4096 tokens, at base 500000 32.";
  out.does_not =
      "That a model of this base works at that length. The share says which angles training can "
      "show, "
      "not what a model makes of them.";
  return out;
}

CurvePicture angle_picture(Oracle& oracle) {
  CurvePicture out;
  out.name = "angle";
  out.picture.title = "Error of cos and sin by how the angle is formed";
  out.picture.x_label = "position";
  out.picture.y_label = "largest error of a pair";
  out.picture.x_scale = Scale::logarithmic;
  out.picture.x_ticks = powers_of_two(0, 31, 4);
  out.picture.y_floor = 1e-8;
  out.curves = angle_curves(oracle);
  out.supports =
      "That an f32 angle loses a bit at each doubling of the position: 1e-4 at 1,024, 0.01 at "
      "131,072, "
      "and nothing is left at 2^24. An angle in f64 costs no accuracy up to 2^28.";
  out.does_not =
      "That the exact angle is better for a trained model. A model that was trained with f32 "
      "angles has "
      "learned those.";
  return out;
}

std::vector<CurvePicture> curve_pictures() {
  Oracle oracle;
  std::vector<CurvePicture> out{decay_picture(oracle), relativity_picture(oracle),
                                context_picture(), angle_picture(oracle)};
  for (CurvePicture& each : out) {
    int colour = 0;
    for (const NamedCurve& curve : each.curves) {
      const bool rises = each.name == "decay-bound" && colour == 1;
      each.picture.series.push_back(
          {curve.x, curve.y, rises ? Draw::points : Draw::line, {}, {}, {colour, 0}});
      ++colour;
    }
  }
  return out;
}

std::string csv_of(const CurvePicture& picture) {
  std::string out = "series,x,y\n";
  for (const NamedCurve& curve : picture.curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      out += fmt::format("\"{}\",{:.9g},{:.6g}\n", curve.series, curve.x[i], curve.y[i]);
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
        "<img alt=\"{0}\" src=\"curves/{1}.svg\"></picture>\n\nIt supports: {2}\n\nIt does not "
        "support: {3}\n\nNumbers: [{1}.csv](curves/{1}.csv)\n",
        each.picture.title, each.name, each.supports, each.does_not);
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
