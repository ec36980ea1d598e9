// What is common to the buffers of a workload, wherever they lie: how a call is laid out, its
// positions, and the rows that are judged.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/saturating.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/call/operands.h"
#include "harness/cases/problem.h"
#include "harness/judge/judge.h"

namespace ropewalk::bench {

/// The positions of timed calls. They differ from call to call, at the same address. What the next
/// call gets follows from the last: each position is one further, round a window of
/// `window` rows. A cold workload has positions of its own in each call. A small value: the
/// timed loop works on a copy in registers.
struct MovingPositions {
  const std::int32_t* first;  ///< before the first step; of a cold workload those of all calls
  void* read;                 ///< where the kernel reads them, as int32 or int64
  std::int64_t tokens;        ///< of the whole batch, once for each axis
  bool is_cold, is_wide;
  std::int32_t window;  ///< a power of two
  std::int32_t step = 0;
  std::int64_t at = 0;  ///< in `first`, of a cold workload

  void move_on() {
    move(1);
    write();
  }
  /// Those of the last call, or of the one so many calls before. [axes, tokens]
  std::vector<std::int32_t> positions(std::int64_t calls_before) const {
    MovingPositions then = *this;
    then.move(-calls_before);
    std::vector<std::int32_t> out(then.first + then.at, then.first + then.at + tokens);
    for (std::int32_t& position : out) position += then.step;
    return out;
  }
  void write() const {
    with_read([&](auto* to) {
      for (std::int64_t i = 0; i < tokens; ++i) to[i] = first[at + i] + step;
    });
  }
  /// Whether they are there as they were written. Allocates nothing, as the heap is watched.
  bool are_whole() const {
    bool whole = true;
    with_read([&](const auto* from) {
      for (std::int64_t i = 0; i < tokens; ++i) whole = whole && from[i] == first[at + i] + step;
    });
    return whole;
  }

 private:
  static std::int64_t around(std::int64_t number, std::int64_t count) {
    return (number % count + count) % count;
  }
  void move(std::int64_t calls) {
    if (is_cold)
      at = around(at + calls * tokens, cold_position_count);
    else
      step = static_cast<std::int32_t>((step + calls) & (window - 1));
  }
  template <class Use>
  void with_read(Use&& use) const {
    if (is_wide)
      use(static_cast<std::int64_t*>(read));
    else
      use(static_cast<std::int32_t*>(read));
  }
};

/// Fills the tables by position, of max_position_of() + 1 rows, with cosines and sines of libm.
void fill_tables(const Workload& workload, const std::vector<double>& inv_freq, std::byte* cos,
                 std::byte* sin);

/// What the calls of a workload are given, wherever it lies: a call laid out as verification lays
/// out a case (harness/cases/problem.h), positions that move on, weights and slots.
class WorkloadMemory {
 public:
  /// The workload outlives it.
  explicit WorkloadMemory(const Workload& workload);
  virtual ~WorkloadMemory() = default;
  WorkloadMemory(const WorkloadMemory&) = delete;
  WorkloadMemory& operator=(const WorkloadMemory&) = delete;

  const std::vector<double>& inv_freq(bool f32) const { return f32 ? inv_freq_f32_ : inv_freq_; }
  /// A head of a tensor as it is judged, whose elements lie at `in`.
  harness::GivenHead given_head(std::uint32_t tensor, const std::byte* in) const;

  /// The positions of the last call. [axes, batch x tokens]
  virtual std::vector<std::int32_t> last_positions() const = 0;
  /// The elements of a head, as the first call was given them and as the last call left them. What
  /// an earlier call gave may be gone, and what given() returned before is overwritten.
  virtual const std::byte* given(const harness::HeadPlace& at) const = 0;
  virtual const std::byte* left(const harness::HeadPlace& at) const = 0;
  /// The tables by position, in the memory of the host.
  virtual const std::byte* cos() const = 0;
  virtual const std::byte* sin() const = 0;

  /// An element of the input, of one token, that changed last: in place one, else one of each
  /// tensor.
  struct Changed : harness::HeadPlace {
    std::int64_t element = 0;  ///< counted from the head's first
  };
  const std::vector<Changed>& changes() const { return changes_; }
  /// The head of the first of them, in place, as the call after the change found it. NULL where no
  /// element changes between calls.
  virtual const std::byte* witness() const { return nullptr; }

  /// The place of a token of the whole batch.
  harness::HeadPlace place(std::size_t tensor, std::int64_t token, std::int64_t head) const {
    return {static_cast<std::uint32_t>(tensor), token / workload_.tokens, token % workload_.tokens,
            head};
  }

 protected:
  /// The operands of a call, or of the rotation alone: `begin` is where a buffer lies. The nodes of
  /// the chain stay until the next call of this.
  rope_operands operands_of(const harness::Problem& p, bool table,
                            const std::function<const std::byte*(std::size_t buffer)>& begin) const;
  static bool is_constant(const harness::BufferLayout& b) {
    return b.role == harness::Operand::weight || b.role == harness::Operand::slot;
  }
  static std::int64_t bytes_of(const harness::BufferLayout& b) {
    return saturating_product({b.elements, data_type(b.dtype).bytes});
  }
  std::size_t in_buffer(std::size_t tensor) const {
    return static_cast<std::size_t>(
        call_.buffer(harness::Operand::in, static_cast<std::uint32_t>(tensor)));
  }
  /// Draws the positions, which calls read at `read`. NULL: the address is set before each call.
  void place_positions(void* read, std::uint64_t& random);

  const Workload& workload_;
  std::vector<double> inv_freq_, inv_freq_f32_;
  /// A call, and the rotation alone, which after a norm works in the buffer of the output. Both
  /// have their places in buffers_. The slots of the second placement are those behind a change.
  harness::Problem call_, alone_;
  std::vector<harness::BufferLayout> buffers_;
  std::int64_t tokens_;  ///< of the whole batch
  std::vector<std::int32_t> first_positions_;
  MovingPositions moving_{};
  std::vector<Changed> changes_ = std::vector<Changed>(1);
  std::vector<std::byte> constants_[2];    ///< weights and slots, before a change and behind it
  std::vector<std::size_t> constants_at_;  ///< of each buffer that is one, in these bytes
  int placement_ = 0;                      ///< the slots and weights of what is judged

 private:
  void lay_out(harness::Problem& p, bool unfused);
  void make_constants();
  mutable harness::OperandNodes operand_nodes_;
};

}  // namespace ropewalk::bench
