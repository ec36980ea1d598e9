// The buffers of a workload on a device: sets that calls go round, so that none finds its own in
// the cache; or one set, which stays there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/cells/pristine_input.h"
#include "benchmarks/cells/workload_memory.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/device/device.h"

namespace ropewalk::bench {

/// The functions of benchmarks/ceilings/device_functions.h, loaded into a device, and the stream on
/// which all that is timed runs.
class DeviceModule {
 public:
  /// Throws StepFailed. The device outlives the module.
  explicit DeviceModule(harness::Device& device);

  harness::Device& device() const { return device_; }
  /// TimingRow::device
  std::string facts() const;
  harness::cuda::StreamHandle stream() const { return stream_; }
  /// Puts a function on the stream, with blocks of device_block threads. The first call loads
  /// the functions, so it is not for a capture. Throws StepFailed: as skipped, and with what the
  /// driver's compiler says, if it does not take them.
  void launch(const std::string& function, std::uint64_t blocks,
              std::initializer_list<std::uint64_t> parameters) const;

 private:
  void load() const;

  harness::Device& device_;
  harness::cuda::StreamHandle stream_;
  mutable harness::cuda::Owned<harness::cuda::ModuleTag> module_;
};

/// The most calls in a graph.
inline constexpr std::int64_t most_graph_calls = 4096;

/// The number of sets: 1, whose data stay in the cache if they fit there, as those of a decode step
/// do; for a prefill so many that together they are three times the cache.
std::int64_t sets_of(const Workload& workload, std::int64_t cache_bytes);

/// Whether a row of the table and one of the data have a whole vector.
bool has_floor_copy(const Workload& workload);

/// All inputs and positions are new before each epoch. The device makes them of the piece that the
/// host keeps; what is judged is read back row by row. Functions throw StepFailed.
class DeviceSets final : public WorkloadMemory {
 public:
  /// The workload and the module outlive the sets.
  DeviceSets(const Workload& workload, std::uint64_t seed, const DeviceModule& module);

  std::int64_t count() const { return count_; }
  rope_operands operands(bool table, std::int64_t set) const;
  const DeviceModule& module() const { return module_; }

  /// New inputs and positions, and outputs full of NaN.
  void renew();
  /// Throws StepFailed if a call wrote where it may not.
  void hold_bytes() const;
  /// Throws StepFailed if a call wrote into the tables, or into the chosen token's inputs.
  void hold_constants() const;
  /// What is judged from now on: this set, and the token among others.
  void choose(std::int64_t set, std::uint64_t& random);

  // What ceilings move: all vectors of a set, side by side.
  harness::cuda::DeviceAddress in(std::int64_t set) const;
  harness::cuda::DeviceAddress out(std::int64_t set) const;
  std::uint64_t vectors() const;
  /// Puts floor_copy on the stream. The workload must have it.
  void put_floor_copy(std::int64_t set) const;

  std::vector<std::int32_t> last_positions() const override;
  const std::byte* given(const harness::HeadPlace& at) const override;
  const std::byte* left(const harness::HeadPlace& at) const override;
  const std::byte* cos() const override { return cos_.data(); }
  const std::byte* sin() const override { return sin_.data(); }

 private:
  /// The byte of a row of a buffer in its set.
  std::int64_t byte_of(int buffer, std::int64_t row) const {
    return at_[static_cast<std::size_t>(buffer)] + row * element_bytes(workload_);
  }
  const harness::DeviceBlock& outputs() const {
    return is_in_place(workload_) ? inputs_ : outputs_;
  }
  std::int64_t call_positions_bytes() const;

  const DeviceModule& module_;
  harness::Device& device_;
  std::int64_t count_, in_set_bytes_ = 0, out_set_bytes_ = 0;
  std::vector<std::int64_t> at_;  ///< of each buffer of inputs or outputs, in a set of such
  harness::DeviceBlock inputs_, outputs_, positions_, wide_positions_;
  harness::DeviceBlock cos_there_, sin_there_, weights_and_slots_there_;
  std::vector<std::byte> cos_, sin_, given_positions_;
  std::uint64_t random_;
  PristineInput pristine_;  ///< of all sets
  std::int64_t judged_set_ = 0;
  mutable std::vector<std::byte> given_, left_;        ///< of one head; of one token's heads
  mutable std::optional<harness::HeadPlace> left_at_;  ///< whose token that is
};

}  // namespace ropewalk::bench
