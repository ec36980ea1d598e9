#include "benchmarks/engine/recheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "benchmarks/engine/rounds.h"
#include "benchmarks/workloads/timed_types.h"
#include "benchmarks/workloads/workload_shape.h"
#include "kernels/api/kernel.h"
#include "reference/bounds.h"

namespace ropewalk::bench {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 20;  // judged in full below that
constexpr std::int64_t most_tokens = 64;

// 64 bits of mantissa where x86 is: the truth of f64 data is computed in it.
using Wide = long double;

// Timed data are near 1, far from where squares end; hypot took a seventh of a bench's time.
Wide length(Wide a, Wide b) {
  return std::sqrt(a * a + b * b);
}

struct WideTurn {
  Wide cos, sin;
};

/// The tokens of the whole batch that are judged.
std::vector<std::int64_t> chosen_tokens(const Workload& w, const Expected& expected,
                                        std::uint64_t seed) {
  const std::int64_t tokens = w.batch * w.tokens;
  std::vector<std::int64_t> all(static_cast<std::size_t>(tokens));
  std::iota(all.begin(), all.end(), 0);
  std::int64_t row = 0;
  for (const WorkloadTensor& t : w.tensors) row += t.heads * t.head_dim;
  if (tokens <= most_tokens || tokens * row <= most_elements) return all;
  std::vector<std::int64_t> chosen{expected.token};
  const std::int64_t quarter = most_tokens / 4;
  for (std::int64_t i = 0; i < quarter; ++i) {
    chosen.push_back(i);
    chosen.push_back(tokens - 1 - i);
    chosen.push_back(
        static_cast<std::int64_t>(next_random(seed) % static_cast<std::uint64_t>(tokens)));
  }
  std::partial_sort(all.begin(), all.begin() + quarter, all.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      return expected.positions[a] > expected.positions[b];
                    });
  chosen.insert(chosen.end(), all.begin(), all.begin() + quarter);
  return chosen;
}

template <class Real>
class Recheck {
 public:
  Recheck(const rope_kernel& kernel, const Workload& w, const WorkloadData& data,
          const Expected& expected, Oracle& oracle)
      : kernel_(kernel),
        w_(w),
        data_(data),
        expected_(expected),
        // As the kernel got them, but not where it could write.
        inv_freq_(kernel.angle_contract == ROPE_CONTRACT_F32_ANGLE ? workload_frequencies_f32(w)
                                                                   : workload_frequencies(w)),
        oracle_(oracle),
        slack_(expected.calls == 1 ? 1.01 : 1.5 * static_cast<double>(expected.calls)) {
    precision_ = sizeof(Real) == 8 ? bounds::f64 : bounds::f32;
    precision_.flushes = (kernel.flags & ROPE_FLUSHES_SUBNORMALS) != 0;
  }

  std::string run(std::uint64_t seed) {
    for (const std::int64_t token : chosen_tokens(w_, expected_, seed)) {
      const std::int32_t position = expected_.positions[token];
      take_turns(position);
      for (const std::size_t tensor : {std::size_t{0}, std::size_t{1}}) {
        const std::int64_t heads = w_.tensors[tensor].heads;
        for (std::int64_t head = 0; head < heads; ++head)
          if (std::string wrong = judge_row(tensor, token * heads + head); !wrong.empty())
            return fmt::format("{}, {}, token {}, head {}, position {}", wrong,
                               tensor == 0 ? "q" : "k", token, head, position);
      }
    }
    return {};
  }

 private:
  void take_turns(std::int64_t position) {
    const std::int64_t half = w_.rotary_dim / 2;
    const bool f32_angle = kernel_.angle_contract == ROPE_CONTRACT_F32_ANGLE;
    turns_.resize(static_cast<std::size_t>(half));
    for (std::int64_t i = 0; i < half; ++i) {
      const double frequency = inv_freq_[static_cast<std::size_t>(i)];
      WideTurn& turn = turns_[static_cast<std::size_t>(i)];
      if (kernel_.angle_contract == ROPE_CONTRACT_TABLE) {
        const auto* cos = reinterpret_cast<const Real*>(data_.cos()) + position * half;
        const auto* sin = reinterpret_cast<const Real*>(data_.sin()) + position * half;
        turn = {static_cast<Wide>(cos[i]), static_cast<Wide>(sin[i])};
      } else if (f32_angle) {
        const float angle_rad = static_cast<float>(position) * static_cast<float>(frequency);
        turn = {std::cos(static_cast<Wide>(angle_rad)), std::sin(static_cast<Wide>(angle_rad))};
      } else {
        const Rotation r = oracle_.at(frequency, position);
        turn = {static_cast<Wide>(r.re.hi) + static_cast<Wide>(r.re.lo),
                static_cast<Wide>(r.im.hi) + static_cast<Wide>(r.im.lo)};
      }
      if (expected_.turns == 0) turn = {1, 0};
      if (expected_.turns < 0) turn.sin = -turn.sin;
    }
  }

  double bound_of(double rho, double r) const {
    if (kernel_.error_bound > 0)
      return slack_ * (kernel_.error_bound * precision_.u * rho + bounds::underflow(precision_, 1));
    if (kernel_.angle_contract == ROPE_CONTRACT_TABLE)
      return slack_ * bounds::against_table(precision_, rho, r, 1);
    return slack_ *
           bounds::against_exact(precision_, rho, bounds::computed_rotation * precision_.u, 1);
  }

  std::string judge_row(std::size_t tensor, std::int64_t row) const {
    const WorkloadTensor& t = w_.tensors[tensor];
    const auto* in = reinterpret_cast<const Real*>(data_.input(tensor)) + row * t.head_dim;
    const auto* out = reinterpret_cast<const Real*>(data_.output(tensor)) + row * t.head_dim;
    const std::int64_t after = t.rotary_offset + w_.rotary_dim;
    const auto same = [&](std::int64_t from, std::int64_t to) {
      return std::memcmp(in + from, out + from,
                         static_cast<std::size_t>(to - from) * sizeof(Real)) == 0;
    };
    if (!same(0, t.rotary_offset) || !same(after, t.head_dim))
      return "an element outside the window changed";
    for (std::int64_t i = 0; i < w_.rotary_dim / 2; ++i) {
      const PairIndex at = pair_index(w_.pairing, i, w_.rotary_dim / 2);
      const auto x1 = static_cast<Wide>(in[t.rotary_offset + at.first]);
      const auto x2 = static_cast<Wide>(in[t.rotary_offset + at.second]);
      const auto y1 = static_cast<Wide>(out[t.rotary_offset + at.first]);
      const auto y2 = static_cast<Wide>(out[t.rotary_offset + at.second]);
      const WideTurn& turn = turns_[static_cast<std::size_t>(i)];
      const auto error = static_cast<double>(
          length(y1 - (x1 * turn.cos - x2 * turn.sin), y2 - (x2 * turn.cos + x1 * turn.sin)));
      const double bound = bound_of(static_cast<double>(length(x1, x2)),
                                    static_cast<double>(length(turn.cos, turn.sin)));
      if (!(error <= bound)) return fmt::format("pair {} is not rotated", i);
    }
    return {};
  }

  const rope_kernel& kernel_;
  const Workload& w_;
  const WorkloadData& data_;
  const Expected& expected_;
  std::vector<double> inv_freq_;
  Oracle& oracle_;
  double slack_;  ///< also for what is computed here, which is far more exact
  bounds::Precision precision_;
  std::vector<WideTurn> turns_;
};

}  // namespace

std::string recheck(const rope_kernel& kernel, const Workload& workload, const WorkloadData& data,
                    const Expected& expected, Oracle& oracle, std::uint64_t seed) {
  return with_timed_type(workload.dtype, [&]<class Data>(std::type_identity<Data>) {
    return Recheck<Data>(kernel, workload, data, expected, oracle).run(seed);
  });
}

}  // namespace ropewalk::bench
