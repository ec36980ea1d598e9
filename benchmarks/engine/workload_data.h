// The memory of one workload: tensors, tables, positions, shared by every cell that is timed on it.
//
// One set of buffers a workload: the smallest stay in L1 from call to call, and so do the table
// rows of a workload that is not cold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/engine/ceilings.h"
#include "benchmarks/workloads/workloads.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::bench {

/// Memory on a 64-byte boundary; throws std::bad_alloc. Some bytes behind it are noted, so that who
/// writes past its end is found and the heap stays whole.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::int64_t bytes);
  std::byte* data() const { return data_.get(); }
  /// False once something was written behind its end. Nobody is charged for it twice.
  bool is_whole();

 private:
  static constexpr std::size_t tail_bytes = 256;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

/// Memory on a 64-byte boundary, in pages of its own, which can be made read-only: a kernel that
/// writes there ends by a fault that names it. Throws std::bad_alloc.
class SealedBytes {
 public:
  SealedBytes() = default;
  explicit SealedBytes(std::int64_t bytes);
  std::byte* data() const { return pages_ == nullptr ? nullptr : pages_.get() + offset; }
  void seal(bool sealed);

 private:
  /// Where malloc lets large ones begin.
  static constexpr std::size_t offset = 64;
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* pages) const;
  };
  std::unique_ptr<std::byte, Unmap> pages_;
};

/// The buffers of one workload, shared by all its cells. Only one cell runs at a time.
/// Tables are cosines of libm: near enough for timing; what is true is judged elsewhere.
class WorkloadData {
 public:
  WorkloadData(const Workload& workload, std::uint64_t seed);
  /// Brings the buffers back to the seeded values (in place) or reads and writes them once (out of
  /// place). Untimed, before each repetition: so a kernel that can only turn forward starts anew.
  void refill();
  /// New inputs, so that an output of before is not the answer.
  void refresh(std::uint64_t seed);
  /// What lies in the buffers is the input now (in place), and one element of it is another:
  /// returns the token, of the whole batch, that has it. The outputs stay as they are.
  std::int64_t disturb(std::uint64_t& random);
  /// Before a call that will be judged: nothing is left where its output belongs.
  void poison();
  const std::byte* input(std::size_t tensor) const { return pristine_[tensor].data(); }
  const std::byte* output(std::size_t tensor) const { return work_[tensor].data(); }
  const std::int32_t* positions() const {
    return reinterpret_cast<const std::int32_t*>(positions_.data());
  }
  /// Of the next call: of a cold workload others each time, whoever calls.
  const std::int32_t* next_positions() {
    if (!workload_.cold) return positions();
    cold_at_ = (cold_at_ + workload_.batch * workload_.tokens) % cold_position_count;
    return positions() + cold_at_;
  }
  /// False where something was written behind an output, once.
  bool outputs_are_whole() {
    const bool first = work_[0].is_whole();
    return work_[1].is_whole() && first;
  }
  const std::byte* cos() const { return cos_.data(); }
  const std::byte* sin() const { return sin_.data(); }
  rope_operands operands(bool table) const;
  std::vector<CeilingSpan> spans() const;
  const std::vector<double>& inv_freq(bool f32) const { return f32 ? inv_freq_f32_ : inv_freq_; }

 private:
  void fill_inputs(std::uint64_t& random);
  void seal_inputs(bool sealed);

  const Workload& workload_;
  std::vector<double> inv_freq_, inv_freq_f32_;
  std::int64_t cold_at_ = 0;
  std::int64_t tensor_bytes_[2];
  SealedBytes pristine_[2], cos_, sin_, positions_;
  AlignedBytes work_[2];
};

/// WorkloadData made when first needed: a filtered-out workload costs nothing. One for each
/// workload.
class LazyData {
 public:
  LazyData(const Workload& workload, std::uint64_t seed) : workload_(workload), seed_(seed) {}
  /// Why the data cannot be had, empty when `here` may be called.
  std::string refusal();
  WorkloadData& here() { return *data_; }

 private:
  const Workload& workload_;
  std::uint64_t seed_;
  std::optional<WorkloadData> data_;
};

}  // namespace ropewalk::bench
