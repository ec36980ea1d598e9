// The buffers of a workload on a device: sets that calls go round, so that none finds its own in
// the cache; or one set, which stays there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/cells/device_module.h"
#include "benchmarks/cells/judged_rows.h"
#include "benchmarks/cells/moving_positions.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/device/device.h"

namespace ropewalk::bench {

/// The most calls in a graph.
inline constexpr std::int64_t most_graph_calls = 4096;

/// The number of sets: 1, whose data stay in the cache if they fit there, as those of a decode step
/// do; for a prefill so many that together they are three times the cache.
std::int64_t sets_of(const Workload& workload, std::int64_t cache_bytes);

/// Whether a row of the table and one of the data have a whole vector.
bool has_floor_copy(const Workload& workload);

/// Memory of a device with a pattern behind its end.
class DeviceBytes {
 public:
  DeviceBytes() = default;
  /// Throws StepFailed, as skipped if the device has no room. The device outlives the memory.
  DeviceBytes(harness::Device& device, std::int64_t bytes, const std::string& what);
  ~DeviceBytes();
  DeviceBytes(DeviceBytes&& other) noexcept { *this = std::move(other); }
  DeviceBytes& operator=(DeviceBytes&& other) noexcept;
  harness::cuda::DeviceAddress address() const { return address_; }
  std::int64_t bytes() const { return bytes_; }
  /// False once something was written behind its end. It says so once, so no other kernel is
  /// blamed.
  bool is_whole() const;

 private:
  harness::Device* device_ = nullptr;
  harness::cuda::DeviceAddress address_ = 0;
  std::int64_t bytes_ = 0;
};

/// All inputs and positions are new before each epoch, made on the device by input_value. So the
/// host keeps none: what is judged is read back row by row. Functions throw StepFailed.
class DeviceSets final : public JudgedRows {
 public:
  /// The workload and the module outlive the sets.
  DeviceSets(const Workload& workload, std::uint64_t seed, const DeviceModule& module);

  std::int64_t count() const { return count_; }
  rope_operands operands(bool table, std::int64_t set) const;
  const std::vector<double>& inv_freq(bool f32) const { return f32 ? inv_freq_f32_ : inv_freq_; }
  const DeviceModule& module() const { return module_; }

  /// New inputs and positions, and outputs full of NaN.
  void renew();
  /// What a call wrote where it may not, in words.
  std::string wrong_bytes() const;
  /// What a call wrote into the tables, or into the chosen token's inputs, in words.
  std::string changed_constants() const;
  /// What is judged from now on: this set, and the token among others.
  void choose(std::int64_t set, std::uint64_t& random);

  // What ceilings move: all vectors of a set, side by side.
  harness::cuda::DeviceAddress in(std::int64_t set) const;
  harness::cuda::DeviceAddress out(std::int64_t set) const;
  std::uint64_t vectors() const;
  /// Puts floor_copy on the stream. The workload must have it.
  void put_floor_copy(std::int64_t set) const;

  std::vector<std::int32_t> last_positions() const override;
  const std::byte* given(std::size_t tensor, std::int64_t token, std::int64_t head) const override;
  const std::byte* left(std::size_t tensor, std::int64_t token, std::int64_t head) const override;
  const std::byte* cos() const override { return cos_.data(); }
  const std::byte* sin() const override { return sin_.data(); }
  const Changed& last_change() const override { return judged_; }
  const std::byte* witness() const override { return nullptr; }
  const std::byte* changed_window() const override { return nullptr; }

 private:
  /// The index of a head's first element in its set.
  std::int64_t first_element(std::size_t tensor, std::int64_t token, std::int64_t head) const;
  const DeviceBytes& outputs() const { return is_in_place(workload_) ? inputs_ : outputs_; }
  std::int64_t call_positions_bytes() const;

  const Workload& workload_;
  const DeviceModule& module_;
  harness::Device& device_;
  std::vector<double> inv_freq_, inv_freq_f32_;
  rope_problem asked_;
  std::int64_t tokens_, count_, k_begins_at_ = 0, set_bytes_ = 0;
  DeviceBytes inputs_, outputs_, positions_, wide_positions_, cos_there_, sin_there_;
  std::vector<std::byte> cos_, sin_, given_positions_;
  std::vector<std::int32_t> first_positions_;
  MovingPositions moving_{};
  std::uint64_t random_, seed_ = 0;
  std::int64_t judged_set_ = 0;
  Changed judged_;
  mutable std::vector<std::byte> given_, left_;  ///< of one head; of one token's heads
  mutable std::int64_t left_tensor_ = -1, left_token_ = -1;
};

}  // namespace ropewalk::bench
