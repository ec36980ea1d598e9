// Errors in the norm before the rotation (rope_norm), and correct kernels of norm and append.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "properties/mutants/fused.h"

namespace ropewalk::mutants {
namespace {

struct RoundsNorm : RightFused {
  double before_weight(double value) override { return to_bf16(static_cast<float>(value)); }
};
struct RoundsWeighted : RightFused {
  double after_weight(double value) override { return to_bf16(static_cast<float>(value)); }
};
struct RoundsBoth : RoundsNorm {
  double after_weight(double value) override { return to_bf16(static_cast<float>(value)); }
};

const auto right = fused<RightFused>("control_fused_exact");
const auto right_bf16 = rounds<RightFused>("control_fused_bf16_exact", 0);
const auto right_norm = rounds<RoundsNorm>("control_rounds_norm_exact", ROPE_ROUNDS_NORM);
const auto right_both =
    rounds<RoundsBoth>("control_rounds_both_exact", ROPE_ROUNDS_NORM | ROPE_ROUNDS_WEIGHTED);

// The norm of a prompt ends with its 8,192nd token.
struct ShortNorm : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    return head.t < 8192 ? RightFused::factor(c, head) : 1;
  }
};
const auto short_norm = fused<ShortNorm>("mutant_norm_of_8192_tokens_exact");

// Every state has the epsilon of the one that was prepared last.
const auto last_epsilon = [] {
  KernelInfo info = fused_info<float, RightFused>("mutant_epsilon_of_last_state_exact");
  static thread_local double last = 0;
  info.prepare = [](const rope_problem* p, void**) -> std::int32_t {
    if (const rope_norm* norm = norm_of(*p)) last = norm->epsilon;
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    RightFused hooks;
    FusedCall call(*p, *o);
    call.norm.epsilon = last;
    fuse<float>(hooks, call);
    return ROPE_OK;
  };
  return RegisteredKernel(info);
}();

// Sums of squares end at 2^48.
struct SmallSum : RightFused {
  double sum(const FusedCall& c, const FusedHead& head) override {
    return std::min(RightFused::sum(c, head), 0x1p48);
  }
};
const auto small_sum = fused<SmallSum>("mutant_sum_of_squares_at_most_2_48_exact");

// K has a norm only if Q has one, and Q's weights if it has none.
const auto with_q = fused_mutant("mutant_norm_of_k_only_with_q_exact", [](FusedCall& c) {
  if ((c.norm.tensors & 1) == 0) c.norm.tensors = 0;
});
const auto q_weights_for_none = fused_mutant("mutant_q_weights_for_none_exact", [](FusedCall& c) {
  for (std::uint32_t i = 1; i < c.p.tensor_count; ++i)
    if (c.weights.weight[i] == nullptr && c.p.tensor[i].head_dim == c.p.tensor[0].head_dim)
      c.weights.weight[i] = c.weights.weight[0];
});

// 1 + w is rounded to the type of the weights.
struct OneInNarrow : RightFused {
  double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) override {
    const double value = RightFused::weight(c, head, d);
    if (c.norm.weight_plus_one == 0 || c.weights.weight[head.tensor] == nullptr) return value;
    return with_floating_type(Dtype{c.norm.weight_dtype}, [&]<class W>(std::type_identity<W>) {
      return double{TableOf<W>{W(static_cast<TableOf<W>>(value))}};
    });
  }
};
const auto one_in_narrow = fused<OneInNarrow>("mutant_one_plus_weight_rounded_exact");

// Weights above 3 are 3; a weight of 0 is 1.
struct SmallWeights : RightFused {
  double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) override {
    return std::min(RightFused::weight(c, head, d), 3.0);
  }
};
const auto small_weights = fused<SmallWeights>("mutant_weights_at_most_3_exact");
struct ZeroIsNone : RightFused {
  double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) override {
    const double value = RightFused::weight(c, head, d);
    return value == 0 ? 1 : value;
  }
};
const auto zero_is_none = fused<ZeroIsNone>("mutant_weight_of_0_is_1_exact");

struct EpsilonOutside : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    return 1 / (std::sqrt(sum(c, head) / static_cast<double>(head.count)) + c.norm.epsilon);
  }
};
const auto outside = fused<EpsilonOutside>("mutant_epsilon_outside_the_root_exact");

// Epsilon is a constant of the kernel.
const auto constant =
    fused_mutant("mutant_epsilon_is_1e_6_exact", [](FusedCall& c) { c.norm.epsilon = 1e-6; });

// The mean of x^2 less the square of the mean: a layer norm's.
struct Variance : RightFused {
  double sum(const FusedCall& c, const FusedHead& head) override {
    double all = 0;
    for (std::int64_t d = 0; d < head.count; ++d) all += double{head.x[d]};
    return RightFused::sum(c, head) - all * all / static_cast<double>(head.count);
  }
};
const auto variance = fused<Variance>("mutant_variance_for_mean_of_squares_exact");

// The sum of squares for their mean.
struct NoMean : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    return 1 / std::sqrt(sum(c, head) + c.norm.epsilon);
  }
};
const auto no_mean = fused<NoMean>("mutant_sum_for_mean_of_squares_exact");

// The mean is over the rotated window.
struct WindowAlone : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    FusedHead window = head;
    if (c.p.tensor[head.tensor].rotate != 0) {
      window.x += head.window;
      window.count = c.p.rotary_dim;
    }
    return RightFused::factor(c, window);
  }
};
const auto window_alone = fused<WindowAlone>("mutant_norm_over_rotary_dim_exact");

// Dims beside the window stay as they are.
struct WindowNormalized : RightFused {
  void normalize(const FusedCall& c, const FusedHead& head) override {
    float* const given = head.x + head.count;
    std::copy_n(head.x, head.count, given);
    RightFused::normalize(c, head);
    for (std::int64_t d = 0; d < head.count; ++d)
      if (d < head.window || d >= head.window + c.p.rotary_dim) head.x[d] = given[d];
  }
};
const auto window_normalized = fused<WindowNormalized>("mutant_dims_beside_not_normalized_exact");

// The weights come after the rotation.
struct WeightsLate : RightFused {
  double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) override {
    return late ? RightFused::weight(c, head, d) : 1;
  }
  void rotated(const FusedCall& c, const FusedHead& head) override {
    late = true;
    for (std::int64_t d = 0; marks(&c.norm, head.tensor) && d < head.count; ++d)
      head.x[d] = static_cast<float>(head.x[d] * weight(c, head, d));
    late = false;
  }
  bool late = false;
};
const auto late = fused<WeightsLate>("mutant_weights_after_rotation_exact");

// Weights are kept by their address and the first eight.
const auto kept_weights = fused_mutant("mutant_weights_by_first_eight_exact", [](FusedCall& c) {
  constexpr std::size_t most = 4096;
  thread_local struct {
    const void* of;
    std::size_t bytes;
    std::byte copy[most];
  } kept[ROPE_MAX_TENSORS];
  for (std::uint32_t i = 0; i < c.p.tensor_count; ++i) {
    const void*& weight = c.weights.weight[i];
    const auto size = static_cast<std::size_t>(data_type(Dtype{c.norm.weight_dtype}).bytes);
    const std::size_t bytes = static_cast<std::size_t>(c.p.tensor[i].head_dim) * size;
    if (weight == nullptr || bytes > most) continue;
    auto& mine = kept[i];
    if (mine.of != weight || mine.bytes != bytes ||
        std::memcmp(mine.copy, weight, std::min(bytes, 8 * size)) != 0)
      std::memcpy(mine.copy, weight, bytes);
    mine.of = weight;
    mine.bytes = bytes;
    weight = mine.copy;
  }
});

// K has the weights of Q.
const auto weights_of_q = fused_mutant("mutant_weights_of_q_for_k_exact", [](FusedCall& c) {
  for (std::uint32_t i = 1; i < c.p.tensor_count; ++i)
    if (c.weights.weight[i] != nullptr && c.p.tensor[i].head_dim == c.p.tensor[0].head_dim)
      c.weights.weight[i] = c.weights.weight[0];
});

const auto no_one = fused_mutant("mutant_one_plus_weight_missing_exact",
                                 [](FusedCall& c) { c.norm.weight_plus_one = 0; });

// The squares are added in bfloat16.
struct NarrowSum : RightFused {
  double sum(const FusedCall&, const FusedHead& head) override {
    float sum = 0;
    for (std::int64_t d = 0; d < head.count; ++d) sum = to_bf16(sum + head.x[d] * head.x[d]);
    return sum;
  }
};
const auto narrow_sum = fused<NarrowSum>("mutant_sum_in_bf16_exact");

// Every head has the norm of the first head of its token.
struct FirstHead : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    if (head.h == 0) first = RightFused::factor(c, head);
    return first;
  }
  double first = 1;
};
const auto first_head = fused<FirstHead>("mutant_norm_of_first_head_exact");

// A declared rounding that is missing, one that is not declared, and one too many.
const auto missing = rounds<RightFused>("mutant_rounding_missing_exact", ROPE_ROUNDS_WEIGHTED);
const auto undeclared = rounds<RoundsWeighted>("mutant_rounding_not_declared_exact", 0);
const auto too_many = rounds<RoundsBoth>("mutant_rounding_twice_exact", ROPE_ROUNDS_WEIGHTED);

}  // namespace
}  // namespace ropewalk::mutants
