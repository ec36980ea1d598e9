// The memory of one workload: tensors, tables and positions, shared by every cell that is timed on
// it.
//
// Each workload has one set of buffers. The smallest stay in L1 from call to call. Of the
// table each call takes other rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/ceilings/ceilings.h"
#include "benchmarks/ceilings/loops.h"
#include "benchmarks/cells/pristine_input.h"
#include "benchmarks/cells/workload_memory.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/cases/problem.h"
#include "harness/process/guarded_mapping.h"
#include "kernels/api/rope_kernel.h"
#include "kernels/api/types.h"

namespace ropewalk::bench {

/// The norm of code that fuses nothing: a pass of its own, before a kernel's rotation. It is a
/// plain loop that the compiler vectorizes. The copy to a cache, after the rotation, is memcpy.
struct NormPass {
  CeilingSpan rows;  ///< of whole heads, without a gap between those of a row
  Dtype dtype;       ///< of elements and weights
  std::int64_t head_dim;
  const void* weight;
  double epsilon;
};
void normalize(const NormPass& pass);

/// Memory on a 64-byte boundary; throws std::bad_alloc. A pattern behind its end detects a kernel
/// that writes past it, and keeps the heap whole.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::int64_t bytes);
  std::byte* data() const { return data_.get(); }
  /// False once something was written behind its end. It says so once, so no other kernel is
  /// blamed.
  bool is_whole();

 private:
  static constexpr std::size_t tail_bytes = 256;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

/// The buffers of one workload, shared by all its cells. Only one cell runs at a time. Tables are
/// cosines of libm, which is precise enough for timing. Correctness is judged elsewhere.
///
/// What a call is given differs from call to call, at the same addresses: its positions (moving),
/// and once an epoch an element of the input (change) and, out of place, all weights and slots
/// (change_constants).
class WorkloadData final : public WorkloadMemory {
 public:
  WorkloadData(const Workload& workload, std::uint64_t seed);
  /// In place, gives the buffers the input again; out of place, overwrites the outputs with NaN.
  void refill();
  /// Makes new inputs of the old ones, so that an earlier output is not the answer: changes the
  /// same bits of sign and mantissa in all of them.
  void refresh(std::uint64_t seed);

  MovingPositions& moving() { return moving_; }
  /// The positions of the last call, or of the one so many calls before.
  std::vector<std::int32_t> positions(std::int64_t calls_before = 0) const {
    return moving_.positions(calls_before);
  }
  /// False if the kernel wrote into its positions, or behind them. It says so once.
  bool positions_are_whole();

  /// Draws what change() replaces, and new values: in place an element that is rotated, of the
  /// buffer, else one of each tensor of a token of the input. The values are 1.5 to 2 in size,
  /// beyond the others, which lie in (-1, 1), so that the pair's bound covers what it had before
  /// (docs/decisions/0036). Undoes the change before it, out of place.
  void draw_change(std::uint64_t& random);
  /// For the timed loop: stores, in place to the buffer, else to the input. Keeps the head of the
  /// buffer as the next call finds it.
  void change() {
    for (const Store& s : stores_) std::memcpy(s.to, s.value, element_size_);
    std::memcpy(witness_.data(), stores_.front().head, witness_.size());
  }
  /// For the timed loop, out of place: stores other weights and slots.
  void change_constants() { give_constants(true); }
  /// After a call of both: what was given has the new values, or again the old ones.
  void take_change(bool taken);
  /// Whether the next call finds the slots of a change.
  bool has_other_slots() const { return has_other_constants_; }
  /// False if the kernel wrote into its input; a change must be taken. It says so once. In place
  /// there is no input.
  bool inputs_are_whole();
  const std::byte* witness() const override { return witness_.data(); }
  std::vector<std::int32_t> last_positions() const override { return positions(); }
  const std::byte* given(const harness::HeadPlace& at) const override;
  const std::byte* left(const harness::HeadPlace& at) const override {
    return out_at(call_, placement_, at);
  }

  /// Of the bytes that a call may write, and those between them; of large outputs, of both ends and
  /// pieces drawn by `random`, as a look at all would end long after it began.
  std::size_t outputs_fingerprint(std::uint64_t random) const;
  /// False if something was written behind an output. It says so once.
  bool outputs_are_whole();
  const std::byte* cos() const override { return cos_.data() + table_offset; }
  const std::byte* sin() const override { return sin_.data() + table_offset; }
  /// `unfused`: of the rotation alone (timed_case), which leaves K beside its cache.
  rope_operands operands(bool table, bool unfused = false) const {
    return operands_of(unfused ? alone_ : call_, table,
                       [&](std::size_t buffer) { return begins_[buffer]; });
  }
  std::vector<CeilingSpan> spans() const;
  /// The same with outputs that no kernel touches, where caches may hold the set: stores past the
  /// caches empty them of the lines that they overwrite, which the next cell would have to fetch.
  std::vector<CeilingSpan> spans_apart();
  /// The passes beside the rotation alone: norms, and copies to the caches (`unfused`). Else of
  /// what a call appends.
  std::vector<NormPass> norm_passes() const;
  std::vector<CeilingSpan> cache_spans(bool unfused, bool changed = false) const;

 private:
  /// A buffer of inputs, or of outputs.
  struct Held {
    AlignedBytes bytes;
    std::optional<PristineInput> given;  ///< what calls read in it
  };
  void map_constants();
  void give_inputs();
  /// The weights and slots that the next calls find: those before the change, or behind it.
  void give_constants(bool changed) {
    const std::vector<std::byte>& given = constants_[changed ? 1 : 0];
    std::memcpy(constants_there_.data(), given.data(), given.size());
    has_other_constants_ = changed;
  }
  std::byte* in_at(const harness::HeadPlace& at) const {
    return begins_[in_buffer(at.tensor)] + harness::in_row(call_, at) * element_bytes(workload_);
  }
  std::byte* out_at(const harness::Problem& p, int placement, const harness::HeadPlace& at) const {
    return begins_[static_cast<std::size_t>(p.output(at.tensor).buffer)] +
           harness::out_row(p, placement, at) * element_bytes(workload_);
  }
  using RowAt = std::function<std::byte*(const harness::HeadPlace&)>;
  void add_spans(std::size_t tensor, const RowAt& from, const RowAt& to,
                 std::vector<CeilingSpan>& out) const;

  /// That at which malloc places large blocks.
  static constexpr std::size_t table_offset = 64;
  harness::GuardedMapping cos_, sin_, weights_and_slots_there_;  ///< as kernels read them
  harness::GuardedMapping constants_there_;  ///< weights_and_slots_there_, as it is written
  bool has_other_constants_ = false;
  std::vector<Held> held_;          ///< of each of buffers_; empty for tables, weights and slots
  std::vector<std::byte*> begins_;  ///< where each begins
  AlignedBytes apart_;
  std::vector<CeilingSpan> cache_spans_[2];
  mutable std::vector<std::byte> given_;  ///< the row that given() was asked for last
  struct Store {
    std::byte *to, *head;  ///< the element, and the first of its head
    std::byte value[8], before[8];
  };
  std::vector<Store> stores_;  ///< of each of changes()
  std::size_t element_size_ = 0;
  bool is_change_taken_ = false;
  std::vector<std::byte> witness_{1};  ///< out of place of no use
};

/// WorkloadData that is made when first needed, so a filtered-out workload costs nothing. There is
/// one for each workload.
class LazyData {
 public:
  LazyData(const Workload& workload, std::uint64_t seed) : workload_(workload), seed_(seed) {}
  /// Throws StepFailed, as skipped if the data cannot be had.
  WorkloadData& make();
  WorkloadData& here() { return *data_; }  ///< once it is made
  void drop() { data_.reset(); }

 private:
  const Workload& workload_;
  std::uint64_t seed_;
  std::optional<WorkloadData> data_;
};

}  // namespace ropewalk::bench
