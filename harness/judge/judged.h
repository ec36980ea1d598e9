// For tests of the judge: a case and its correct outputs, which the test then spoils. They are
// computed here, without a kernel or a worker.
#pragma once
#include <functional>
#include <limits>
#include <string>

#include "harness/judge/judge.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr const char* four_pairs =
    "rotary_dim=8 q.head_dim=8 pairing=interleaved positions=3 q.values=";

struct Value {
  double re, im;
};

/// One case, its correct outputs, and the judge's finding about the changed outputs.
class Judged {
 public:
  explicit Judged(const std::string& line) : problem(make_problem(case_from_text(line), oracle)) {
    execution.outputs[0].resize(problem.buffers.size());
    for (std::size_t i = 0; i < problem.buffers.size(); ++i)
      if (problem.buffers[i].writable) execution.outputs[0][i] = problem.buffers[i].content;
    execution.outputs[1] = execution.outputs[0];
    facts.angle_contract = problem.source.contract;
    for_each_pair([&](std::uint32_t tensor, auto... place) {
      with_floating_type(tensor_dtype(problem.source, tensor),
                         [&]<class Data>(std::type_identity<Data>) {
                           rotate_as<TableOf<Data>>(tensor, place...);
                         });
    });
  }

  void put(std::size_t placement, std::uint32_t tensor, std::int64_t b, std::int64_t t,
           std::int64_t h, std::int64_t pair, Value y) {
    const TensorPlaces& at = problem.tensor[tensor];
    auto& bytes = execution.outputs[placement][static_cast<std::size_t>(at.out)];
    const std::int64_t row = at.out_at + out_index(problem.asked, tensor, b, t, h) +
                             problem.asked.tensor[tensor].rotary_offset;
    const auto [first, second] =
        pair_index(problem.asked.pairing, pair, problem.asked.rotary_dim / 2);
    const Dtype dtype = tensor_dtype(problem.source, tensor);
    store(bytes, dtype, row + first, y.re);
    store(bytes, dtype, row + second, y.im);
  }
  /// Sets pair `pair` of q's first head, in both placements.
  void put(std::int64_t pair, Value y) {
    for (const std::size_t placement : {0u, 1u}) put(placement, 0, 0, 0, 0, pair, y);
  }
  Value got(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h,
            std::int64_t pair) const {
    const PairValue y = output_pair(problem, execution.outputs[0], tensor, b, t, h, pair);
    return {y.re.hi, y.im.hi};
  }
  Value got(std::int64_t pair) const { return got(0, 0, 0, 0, pair); }

  /// Replaces every output y by change(y).
  void change_all(const std::function<Value(Value)>& change) {
    for_each_pair([&](std::uint32_t tensor, auto... place) {
      const Value y = change(got(tensor, place...));
      for (const std::size_t placement : {0u, 1u}) put(placement, tensor, place..., y);
    });
  }

  Finding finding() {
    Subject subject{worker, oracle, facts};
    return compare_with_truth(subject, problem, execution);
  }

  Oracle oracle;
  KernelFacts facts;
  Problem problem;
  Execution execution;

 private:
  template <class Visit>
  void for_each_pair(Visit&& visit) {
    for_each_rotated_head(problem.asked, [&](std::uint32_t tensor, auto... place) {
      for (std::int64_t i = 0; i < problem.asked.rotary_dim / 2; ++i) visit(tensor, place..., i);
    });
  }
  /// The plain loop in the data type, or in f32 for 16-bit types. A scale is rounded to that type
  /// first.
  template <class Real>
  void rotate_as(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h,
                 std::int64_t pair) {
    const auto r = rotations_of(problem, oracle, 0, tensor, b, t)[static_cast<std::size_t>(pair)];
    const PairValue in = input_pair(problem, execution.outputs[0], tensor, b, t, h, pair);
    const auto scale = static_cast<Real>(ropewalk::scale_of(problem.asked));
    const auto x1 = static_cast<Real>(in.re.hi), x2 = static_cast<Real>(in.im.hi);
    const auto c = static_cast<Real>(r.re.hi);
    const auto s =
        static_cast<Real>(problem.asked.operation == ROPE_TRANSPOSE ? -r.im.hi : r.im.hi);
    const Real y1 = scale * (x1 * c - x2 * s), y2 = scale * (x2 * c + x1 * s);
    for (const std::size_t placement : {0u, 1u})
      put(placement, tensor, b, t, h, pair, {double{y1}, double{y2}});
  }

  Worker worker{WorkerOptions{}};  // this worker is never started
};

}  // namespace ropewalk::harness
