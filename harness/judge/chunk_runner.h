// Runs consecutive positions through the worker in chunks, without copies: inputs are written once,
// and outputs are judged where the worker left them. Each position has three heads: the basis
// vectors e1 and e2, and a full-mantissa vector (DataPattern::basis). The data is f32, out of
// place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/judge/executor.h"

namespace ropewalk::harness {

/// The kernel, the shape and the range of positions.
struct ChunkPlan {
  Pairing pairing = Pairing::half_split;
  std::int64_t rotary_dim = 128;
  double rope_theta = 10000;
  std::uint64_t seed = 1;
  std::int64_t first = 0, last = 0;
};

class ChunkRunner {
 public:
  static constexpr std::int64_t tokens_most = 4096;
  static constexpr std::int64_t heads = 3;
  /// Positions that are equal modulo this number get the same full-mantissa vector.
  static constexpr std::int64_t vectors = 1024;

  ChunkRunner(Subject& subject, const ChunkPlan& plan);

  CallResult ask_supports();

  /// Runs the positions first .. first + count - 1, with count <= tokens_most.
  CallResult run(std::int64_t first, std::int64_t count);

  /// Call after run(). Returns the outputs of a token's three heads, one behind the other. Elements
  /// that the kernel did not write are NaN.
  const float* outputs(std::int64_t token) const { return out_ + token * row_elements(); }
  /// Call once for each token in order, after its outputs are judged. Fills them with NaN again.
  void judged(std::int64_t token);

  /// The inputs of the three heads of a position.
  const float* inputs_of(std::int64_t position) const;

  /// The same positions as a case of property `agreement`. Its data is the same only if count is 1.
  Case case_of(std::int64_t first, std::int64_t count) const;

 private:
  std::int64_t row_elements() const { return heads * plan_.rotary_dim; }
  void lay_out(std::int64_t first, std::int64_t count);
  void write_inputs(std::int64_t first, std::int64_t count);

  Subject& subject_;
  ChunkPlan plan_;
  std::vector<double> inv_freq_;
  std::vector<float> rows_;  // [vectors, heads, rotary_dim]
  protocol::CallDescriptor call_{};
  std::vector<NamedRegion> regions_;
  float *in_ = nullptr, *out_ = nullptr;
  std::int32_t* positions_ = nullptr;
  std::int64_t count_ = 0;  // tokens of the layout; 0: nothing is laid out
  // first position of the inputs, modulo `vectors`; -1: not written yet
  std::int64_t inputs_from_ = -1;
  std::int64_t judged_ = 0;  // tokens with outputs that are NaN again
  bool prepared_ = false;
  int starts_ = 0;  // Worker::starts() when the buffers were laid out
};

}  // namespace ropewalk::harness
