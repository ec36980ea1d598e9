// What is common to the buffers of a workload, wherever they lie: what is asked, its positions, and
// the rows that the recheck reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "benchmarks/workloads/workload_layout.h"
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

class WorkloadMemory {
 public:
  /// The workload outlives it.
  explicit WorkloadMemory(const Workload& workload);
  virtual ~WorkloadMemory() = default;
  WorkloadMemory(const WorkloadMemory&) = delete;
  WorkloadMemory& operator=(const WorkloadMemory&) = delete;

  const std::vector<double>& inv_freq(bool f32) const { return f32 ? inv_freq_f32_ : inv_freq_; }
  /// A head of a tensor as it is judged, whose elements lie at `in`.
  harness::GivenHead given_head(std::uint32_t tensor, const std::byte* in) const {
    return {asked_, nodes_.norm, tensor, in, constants_.bytes.data() + weight_at(tensor)};
  }
  /// The index of a row from the first element of its tensor. Input and output have the same
  /// strides.
  std::int64_t row(std::size_t tensor, std::int64_t token, std::int64_t head) const {
    return harness::in_index(asked_, static_cast<std::uint32_t>(tensor), token / workload_.tokens,
                             token % workload_.tokens, head);
  }

  /// The same of what a call writes: of a tensor that is appended, from the first of its cache.
  std::int64_t left_row(std::size_t tensor, std::int64_t token, std::int64_t head) const {
    const harness::TensorCase& t = workload_.tensors[tensor];
    if (!t.append) return row(tensor, token, head);
    return (constants_.slots[static_cast<std::size_t>(token)] * t.heads + head) * t.head_dim;
  }

  /// The positions of the last call. [axes, batch x tokens]
  virtual std::vector<std::int32_t> last_positions() const = 0;
  /// The elements of a head, as the first call was given them and as the last call left them. The
  /// token is one of the whole batch. What an earlier call gave may be gone, and what given()
  /// returned before is overwritten.
  virtual const std::byte* given(std::size_t tensor, std::int64_t token,
                                 std::int64_t head) const = 0;
  virtual const std::byte* left(std::size_t tensor, std::int64_t token,
                                std::int64_t head) const = 0;
  /// The tables by position, in the memory of the host.
  virtual const std::byte* cos() const = 0;
  virtual const std::byte* sin() const = 0;

  /// The element of the input that changed last.
  struct Changed {
    std::size_t tensor = 0;
    std::int64_t token = 0, head = 0;  ///< the token of the whole batch
    std::int64_t element = 0;          ///< counted from the head's first
  };
  virtual const Changed& last_change() const = 0;
  /// The head of that element, in place, as the call after the change found it. NULL where no
  /// element changes between calls.
  virtual const std::byte* witness() const { return nullptr; }

 protected:
  struct Constants {
    std::vector<std::int64_t> slots;  ///< of each token; empty without an append
    std::vector<std::byte> bytes;     ///< weights, and then slots
  };
  /// Draws the weights, and stores them and the slots.
  void store_constants(Constants& to, std::uint64_t& random) const;

  /// Of the weights of a tensor in these bytes, and of the slots behind all weights.
  std::size_t weight_at(std::size_t tensor) const { return tensor * weight_room_; }
  std::size_t slots_at() const { return weight_at(workload_.tensors.size()); }
  /// The operands of a call: `address` is that of each, NULL: it is not given. The nodes of the
  /// chain stay until the next call of this.
  rope_operands operands_of(
      bool table, bool unfused,
      const std::function<const void*(harness::Operand role, std::uint32_t tensor)>& address) const;
  /// Of the operands that lie among these bytes; NULL: it does not.
  const void* constant_at(const std::byte* weights_and_slots, harness::Operand role,
                          std::uint32_t tensor) const {
    return role == harness::Operand::weight ? weights_and_slots + weight_at(tensor)
           : role == harness::Operand::slot ? weights_and_slots + slots_at()
                                            : nullptr;
  }
  /// Draws the positions, which calls read at `read`. NULL: the address is set before each call.
  void place_positions(void* read, std::uint64_t& random);

  const Workload& workload_;
  std::vector<double> inv_freq_, inv_freq_f32_;
  harness::ProblemNodes nodes_;
  rope_problem asked_;
  std::int64_t tokens_;  ///< of the whole batch
  std::vector<std::int32_t> first_positions_;
  MovingPositions moving_{};
  std::size_t weight_room_ = 0;  ///< bytes, a multiple of 64
  Constants constants_;

 private:
  mutable harness::OperandNodes operand_nodes_;
};

}  // namespace ropewalk::bench
