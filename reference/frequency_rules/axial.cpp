// axial: the patches of a picture have positions on two or three axes, and the pairs that turn by
// one of them have the frequencies of a head as long as they are alone. Which pairs those are says
// the map of the positions' axes; their order is one of three.
//
// Source: the code of vision towers as transformers has it (compute_axial_rope_parameters and
// recomposition_frequencies of Qwen2-VL, Kimi-K2.5 and Pixtral); there is no paper.
#include "reference/frequency_rule.h"
#include "reference/real.h"

namespace ropewalk {
namespace {

std::vector<double> of_each_axis(const RuleInput& in) {
  enum { in_blocks, in_turn, all_in_blocks };
  const auto axes = static_cast<std::int64_t>(in.number("axes")), half = in.rotary_dim / 2;
  const auto order = static_cast<int>(in.number("order"));
  const std::int64_t block = (half + axes - 1) / axes, all = block * axes;
  const std::int64_t count = order == all_in_blocks ? all : block;
  const auto powers = rounded(real_frequencies(in.rope_theta, 2 * count, count));
  std::vector<double> out;
  for (std::int64_t i = 0; i < half; ++i) {
    const std::int64_t power = order == in_blocks ? i % block
                               : order == in_turn ? i / axes
                                                  : i % block * axes + i / block;
    out.push_back(powers[static_cast<std::size_t>(power)]);
  }
  return out;
}

const RegisteredRule axial({
    .name = "axial",
    .config_types = {"axial"},
    .parameters = {{.key = "axes", .config_key = "axes", .least = 2, .most = 3, .count = true},
                   // 0: a block of pairs for each axis; 1: the axes in turn; 2: blocks, to which
                   // the frequencies of the whole head are dealt in turn.
                   {.key = "order", .config_key = "order", .least = 0, .most = 2, .count = true}},
    .inv_freq = of_each_axis,
    .least_rotary_dim = 4,
});

}  // namespace
}  // namespace ropewalk
