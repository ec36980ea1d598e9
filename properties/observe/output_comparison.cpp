#include "properties/observe/output_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "harness/judge/judge.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t most_looked_at = 1 << 18;  // pairs that are held to the exact rotation

std::size_t table_row_of(std::int64_t position) {
  const auto* row = std::ranges::upper_bound(position_rows, position);
  return static_cast<std::size_t>(row - std::begin(position_rows)) - 1;
}

double ulps_apart(const Format& format, double a, double b) {
  const double size = std::max({std::abs(a), std::abs(b), format.normal});
  const double ulps = std::abs(a - b) / (2 * format.u * std::exp2(std::floor(std::log2(size))));
  return std::isnan(ulps) ? INFINITY : ulps;
}

PairValue pair_of(const OutputSide& side, const HeadPlace& at, std::int64_t pair) {
  return output_pair(side.problem, side.outputs, at.tensor, at.b, at.t, at.h, pair);
}

}  // namespace

const std::byte* OutputSide::row(const HeadPlace& at) const {
  const TensorPlaces& places = problem.tensor[at.tensor];
  const auto buffer = static_cast<std::size_t>(places.out);
  return outputs[buffer].data() +
         out_row(problem, outputs.placement, at) * problem.buffers[buffer].element_bytes();
}

void OutputComparison::add(const OutputSide& a, const OutputSide& b, bool in_sweep) {
  in_sweep_ = in_sweep;
  for_each_row(a.problem, [&](const HeadPlace& at) { add_row(a, b, at); });
}

void OutputComparison::add_row(const OutputSide& a, const OutputSide& b, const HeadPlace& at) {
  const Apart found = apart(a, b, at);
  out_.all.add(found);
  const std::int64_t position = position_of(a.problem, 0, at.b, at.t, 0);
  if (in_sweep_ && position >= 0 && position <= swept_to)
    out_.by_position[table_row_of(position)].add(found);
}

Apart OutputComparison::apart(const OutputSide& a, const OutputSide& b, const HeadPlace& at) {
  const rope_problem& p = a.problem.asked;
  const rope_tensor& tensor = p.tensor[at.tensor];
  const Dtype dtype = tensor_dtype(a.problem.source, at.tensor);
  const auto bytes = static_cast<std::size_t>(data_type(dtype).bytes);
  const std::byte *row_a = a.row(at), *row_b = b.row(at);
  Apart out{tensor.head_dim, tensor.head_dim, 0, 0};
  if (std::memcmp(row_a, row_b, bytes * static_cast<std::size_t>(tensor.head_dim)) == 0) return out;
  std::vector<std::int64_t> pairs(static_cast<std::size_t>(tensor.head_dim), -1);
  for (std::int64_t i = 0; tensor.rotate != 0 && i < p.rotary_dim / 2; ++i) {
    const PairIndex e = pair_elements(p, at.tensor, i);
    pairs[static_cast<std::size_t>(e.first)] = pairs[static_cast<std::size_t>(e.second)] = i;
  }
  std::vector<bool> is_noted(static_cast<std::size_t>(p.rotary_dim / 2), false);
  for (std::size_t e = 0; e < pairs.size(); ++e) {
    const auto element = static_cast<std::int64_t>(e);
    const double x = load(row_a, dtype, element), y = load(row_b, dtype, element);
    if (std::memcmp(row_a + e * bytes, row_b + e * bytes, bytes) == 0) continue;
    if (std::isnan(x) && std::isnan(y)) continue;
    --out.equal;
    out.ulps = std::max(out.ulps, ulps_apart(data_type(dtype).format, x, y));
    if (pairs[e] >= 0) {  // a pair counts once
      if (is_noted[static_cast<std::size_t>(pairs[e])]) continue;
      is_noted[static_cast<std::size_t>(pairs[e])] = true;
    }
    out.u_rho = std::max(out.u_rho, note(a, b, {at, element, pairs[e], dtype}));
  }
  return out;
}

// Keeps the first and the largest difference. Returns the distance of a pair, or of an element.
double OutputComparison::note(const OutputSide& a, const OutputSide& b, const Place& place) {
  const HeadPlace& at = place.row;
  const Format& format = data_type(place.dtype).format;
  const double x = load(a.row(at), place.dtype, place.element),
               y = load(b.row(at), place.dtype, place.element);
  double distance = std::abs(x - y), size = std::max(std::abs(x), std::abs(y));
  std::string nearer;
  if (place.pair >= 0) {
    size =
        std::abs(scale_of(a.problem.source)) * magnitude(input_pair(a.problem, 0, at, place.pair));
    distance = magnitude(pair_of(a, at, place.pair) - pair_of(b, at, place.pair));
    nearer = nearer_of(a, b, place);
  }
  distance /= std::max(size, format.normal) * format.u;
  if (std::isnan(distance)) distance = INFINITY;
  const std::int64_t pair = std::max<std::int64_t>(place.pair, 0);
  const std::int64_t position = position_of(a.problem, 0, at.b, at.t, pair);
  const bool is_first = !out_.first || (in_sweep_ && position < out_.first->position);
  const bool is_largest = distance > largest_;
  if (!is_first && !is_largest) return distance;
  const Parting parting{
      position,
      fmt::format("{} element {}{}", place_text(at.tensor, at.b, at.t, at.h), place.element,
                  place.pair < 0 ? "" : fmt::format(", pair {}", place.pair)),
      x, y, nearer};
  if (is_largest) out_.worst = parting, largest_ = distance;
  if (is_first) out_.first = parting;
  return distance;
}

std::string OutputComparison::nearer_of(const OutputSide& a, const OutputSide& b,
                                        const Place& place) {
  if (out_.a_nearer + out_.b_nearer >= most_looked_at) return "";
  // Frequencies of this contract are rounded to f32; the other kernel's are not.
  const Problem& asked =
      a.problem.source.contract == ROPE_CONTRACT_F32_ANGLE ? b.problem : a.problem;
  const HeadPlace& at = place.row;
  const Rotation r = given_rotation(asked, oracle_, at.tensor,
                                    position_of(asked, 0, at.b, at.t, place.pair), place.pair);
  const PairValue x = input_pair(a.problem, 0, at, place.pair);
  const bool back = asked.source.operation == Operation::transpose;
  PairValue y = back ? rotate_transpose(x, r) : rotate(x, r);
  const DoubleDouble scale(scale_of(asked.source));
  y = {y.re * scale, y.im * scale};
  const double of_a = magnitude(pair_of(a, at, place.pair) - y),
               of_b = magnitude(pair_of(b, at, place.pair) - y);
  if (of_a < of_b) return ++out_.a_nearer, a_;
  if (of_b < of_a) return ++out_.b_nearer, b_;
  return "";
}

}  // namespace ropewalk::properties
