// Runs consecutive positions through the worker, without copies: inputs are written once, and
// outputs are judged where the worker left them. Each position has three heads: the basis vectors
// e1 and e2, and a full-mantissa vector (DataPattern::basis). The data is f32 or a 16-bit type, out
// of place, in one batch row. A run is one call. Runs of one count and form that follow each other
// share a state.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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
  Dtype dtype = Dtype::f32;  ///< f32, f16 or bf16

  static constexpr std::int64_t heads = 3;
  std::int64_t row_bytes() const { return heads * rotary_dim * data_type(dtype).bytes; }
  /// The positions of the longest call, which writes 12 MiB: more than the 8 MiB from which kernels
  /// store past the caches of most processors. The limits are for small and for large rotary_dim.
  std::int64_t longest_call() const {
    return std::clamp((std::int64_t{12} << 20) / row_bytes(), std::int64_t{4096},
                      std::int64_t{16384});
  }
};

/// What differs between calls beside their positions.
struct ChunkForm {
  Operation operation = Operation::forward;
  Dtype position_dtype = Dtype::i32;
  bool operator==(const ChunkForm&) const = default;
};

class ChunkRunner {
 public:
  static constexpr std::int64_t heads = ChunkPlan::heads;
  /// Positions that are equal modulo this number get the same full-mantissa vector.
  static constexpr std::int64_t vectors = 1024;

  ChunkRunner(Subject& subject, const ChunkPlan& plan);

  /// Asks about a call of so many tokens.
  CallResult ask_supports(std::int64_t count, const ChunkForm& form = {});

  /// Runs the positions first .. first + count - 1, with count <= ChunkPlan::longest_call().
  CallResult run(std::int64_t first, std::int64_t count, const ChunkForm& form = {});

  /// Call after run(). Returns the outputs of a token's three heads, one behind the other, until
  /// the next call. 16-bit outputs are widened, which is exact. Elements that the kernel did not
  /// write are NaN.
  const float* outputs(std::int64_t token);
  /// Call once for each token in order, after its outputs are judged. Fills them with NaN again.
  void judged(std::int64_t token);

  /// The inputs of the three heads of a position, widened as the outputs are.
  const float* inputs_of(std::int64_t position) const;

  /// The same positions as a case of property `agreement`. Its data is the same only if count is 1.
  Case case_of(std::int64_t first, std::int64_t count, const ChunkForm& form = {}) const;

 private:
  std::int64_t row_elements() const { return heads * plan_.rotary_dim; }
  std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(plan_.row_bytes()); }
  /// The rows that hold the longest call from any vector on.
  std::int64_t input_rows() const { return plan_.longest_call() + vectors - 1; }
  void lay_out();
  void describe(std::int64_t count, const ChunkForm& form);
  void write_positions(std::int64_t first, std::int64_t count, const ChunkForm& form);
  /// Ends a state, unless the next run takes it, and lays buffers out if there are none.
  void make_ready(bool with_this_state);
  void choose_inputs(std::int64_t first, std::uint64_t tensor_bytes);
  void write_inputs(std::int64_t vector);

  Subject& subject_;
  ChunkPlan plan_;
  std::vector<double> inv_freq_;
  std::vector<std::byte> rows_;                  // [vectors, heads, rotary_dim]
  std::vector<std::byte> poison_;                // what a row of outputs holds before a call
  std::vector<float> wide_rows_, wide_outputs_;  // the inputs' rows and one of outputs; f32: none
  protocol::CallDescriptor call_{};
  std::optional<ChunkForm> described_;  // by call_.problem
  std::vector<NamedRegion> regions_;
  std::byte* memory_ = nullptr;  // file offset 0 of the shared memory; NULL: nothing is laid out
  std::byte* out_ = nullptr;     // of the last run
  std::int64_t in_from_ = 0;     // the vector in the first row of the inputs' buffer
  bool clean_ = false;           // all outputs are NaN
  bool prepared_ = false;        // a state is alive, of the last run's count and form
  std::int64_t count_ = 0;       // tokens of the last run
  int starts_ = 0;               // Worker::starts() when the buffers were laid out
};

}  // namespace ropewalk::harness
