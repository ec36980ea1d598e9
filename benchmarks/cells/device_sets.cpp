#include "benchmarks/cells/device_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/fingerprint.h"
#include "base/printable.h"
#include "base/random.h"
#include "base/system/memory_limits.h"
#include "benchmarks/ceilings/device_functions.h"
#include "benchmarks/workloads/traffic.h"
#include "harness/process/step_failed.h"
#include "harness/watch/entries.h"

namespace ropewalk::bench {
using namespace harness;
namespace {

constexpr std::int64_t alignment = 256;
constexpr unsigned char poison = 0xff;  // a NaN in every type
constexpr std::int64_t vector_bytes = device_vector_bytes;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

void* pointer(cuda::DeviceAddress address) {
  return reinterpret_cast<void*>(address);  // NOLINT: the driver's addresses are integers
}

/// Of a row of cosines.
std::int64_t table_vectors(const Workload& w) {
  return w.rotary_dim / 2 * table_element_bytes(w) / vector_bytes;
}

}  // namespace

DeviceModule::DeviceModule(Device& device)
    : device_(device),
      stream_(device.make_stream()),
      module_(nullptr, device.driver().ModuleUnload) {}

std::string DeviceModule::facts() const {
  std::string facts =
      fmt::format("{}, sm_{}, {} multiprocessors, L2 {} KiB", device_.name(), device_.capability(),
                  device_.multiprocessors(), device_.l2_bytes() >> 10);
  const std::string& driver = device_.health().driver_version();
  if (!driver.empty()) facts += ", driver " + driver;
  return facts;
}

void DeviceModule::load() const {
  constexpr int error_log = 5, error_log_bytes = 6;  // CUjit_option
  const int options[] = {error_log, error_log_bytes};
  char log[1024] = "";
  // The driver takes a size in the place of a pointer.
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};  // NOLINT
  cuda::ModuleHandle module = nullptr;
  const cuda::Result result = device_.driver().ModuleLoadDataEx(
      &module, device_functions_text().c_str(), 2, options, values);
  if (result != cuda::success)
    throw StepFailed{protocol::Status::skipped,
                     fmt::format("the device loads no ceilings: {}; {}",
                                 error_text(device_.driver(), result), printable_start(log, 400))};
  module_.reset(module);
}

void DeviceModule::launch(const std::string& function, std::uint64_t blocks,
                          std::initializer_list<std::uint64_t> parameters) const {
  if (module_ == nullptr) load();
  if (blocks == 0) return;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw StepFailed{protocol::Status::skipped, "is larger than a grid of the device"};
  const cuda::Driver& d = device_.driver();
  cuda::FunctionHandle found = nullptr;
  device_.check(d.ModuleGetFunction(&found, module_.get(), function.c_str()),
                "while a function was looked for");
  std::vector<std::uint64_t> values(parameters);
  std::vector<void*> places;
  for (std::uint64_t& value : values) places.push_back(&value);
  device_.check(d.LaunchKernel(found, static_cast<unsigned>(blocks), 1, 1, device_block, 1, 1, 0,
                               stream_, places.data(), nullptr),
                "while a function was launched");
}

bool has_floor_copy(const Workload& w) {
  return table_vectors(w) > 0 && data_bytes_one_way(w) / vector_bytes >= w.batch * w.tokens;
}

std::int64_t sets_of(const Workload& w, std::int64_t cache_bytes) {
  if (w.phase != report::WorkloadPhase::prefill) return 1;
  const std::int64_t bytes = std::max<std::int64_t>(ceiling_working_set_bytes(w), 1);
  return std::max<std::int64_t>((3 * cache_bytes + bytes - 1) / bytes, 1);
}

DeviceSets::DeviceSets(const Workload& w, std::uint64_t seed, const DeviceModule& module)
    : WorkloadMemory(w),
      module_(module),
      device_(module.device()),
      count_(sets_of(w, device_.l2_bytes())),
      random_(fresh_seed()) {
  std::uint64_t random = seed_of_name(seed, w.name);
  for (const BufferLayout& b : buffers_) {
    std::int64_t& bytes = b.writable ? out_set_bytes_ : in_set_bytes_;
    at_.push_back(bytes);
    if (b.writable || b.role == Operand::in) bytes = saturating_sum({bytes, aligned(bytes_of(b))});
  }
  const std::int64_t in_bytes = is_in_place(w) ? out_set_bytes_ : in_set_bytes_;
  const std::int64_t all = saturating_product({count_, std::max(in_bytes, out_set_bytes_)});
  if (all > workload_bytes_max)
    throw StepFailed{protocol::Status::skipped,
                     fmt::format("{} sets of {} MiB are too much", count_, all / count_ >> 20)};
  const std::string sets = fmt::format("{} {} of buffers", count_, count_ == 1 ? "set" : "sets");
  const auto block = [&](std::int64_t bytes, const std::string& name) {
    return DeviceBlock(device_, static_cast<std::size_t>(bytes), name);
  };
  inputs_ = block(count_ * in_bytes, sets);
  if (!is_in_place(w)) outputs_ = block(count_ * out_set_bytes_, sets);
  in_set_bytes_ = in_bytes;
  pristine_ = PristineInput(count_ * in_bytes, w.dtype, random);
  weights_and_slots_there_ = block(std::ssize(constants_[0]), "the weights and slots");
  device_.write(weights_and_slots_there_.data(), constants_[0].data(), constants_[0].size());

  place_positions(nullptr, random);
  given_positions_.resize(static_cast<std::size_t>(count_ * call_positions_bytes()));
  positions_ = block(std::ssize(given_positions_), "the positions");
  const std::vector<std::int64_t> wide(first_positions_.begin(),
                                       first_positions_.begin() + tokens_);
  wide_positions_ = block(tokens_ * 8, "the positions");
  device_.write(wide_positions_.data(), wide.data(), wide.size() * 8);

  const std::int64_t table_bytes = bench::table_bytes(w) / 2;
  if (const std::string why = memory_refusal(2 * table_bytes); !why.empty())
    throw StepFailed{protocol::Status::skipped, why};
  for (std::vector<std::byte>* table : {&cos_, &sin_})
    table->resize(static_cast<std::size_t>(table_bytes));
  fill_tables(w, inv_freq_, cos_.data(), sin_.data());
  for (const auto& [table, there] : {std::pair{&cos_, &cos_there_}, {&sin_, &sin_there_}}) {
    *there = block(table_bytes, "the table");
    device_.write(there->data(), table->data(), table->size());
  }
  module_.launch("floor", 1, {});  // loads the functions, which a capture refuses
  renew();
}

std::int64_t DeviceSets::call_positions_bytes() const {
  return position_bytes(workload_, tokens_);
}

cuda::DeviceAddress DeviceSets::in(std::int64_t set) const {
  return inputs_.data() + static_cast<std::uint64_t>(set * in_set_bytes_);
}
cuda::DeviceAddress DeviceSets::out(std::int64_t set) const {
  return outputs().data() + static_cast<std::uint64_t>(set * out_set_bytes_);
}
std::uint64_t DeviceSets::vectors() const {
  return static_cast<std::uint64_t>(data_bytes_one_way(workload_) / vector_bytes);
}

rope_operands DeviceSets::operands(bool table, std::int64_t set) const {
  rope_operands o = operands_of(call_, table, [&](std::size_t i) {
    const BufferLayout& b = buffers_[i];
    cuda::DeviceAddress begin = b.writable ? out(set) : in(set);
    if (b.role == Operand::positions) begin = positions_.data();
    if (b.role == Operand::cos) begin = cos_there_.data();
    if (b.role == Operand::sin) begin = sin_there_.data();
    if (is_constant(b)) begin = weights_and_slots_there_.data() + constants_at_[i];
    if (b.writable || b.role == Operand::in) begin += static_cast<std::uint64_t>(at_[i]);
    if (b.role == Operand::positions)
      begin += static_cast<std::uint64_t>(set * call_positions_bytes());
    return static_cast<const std::byte*>(pointer(begin));
  });
  o.stream = module_.stream();
  return o;
}

void DeviceSets::renew() {
  pristine_.refresh(next_random(random_));
  const std::uint64_t all = inputs_.bytes();
  std::uint64_t done = std::min<std::uint64_t>(pristine_.kept().size() * 8, all);
  device_.write(inputs_.data(), pristine_.kept().data(), done);
  for (int bit = 0; done < all; ++bit) {
    const std::uint64_t part = std::min(done, all - done), vectors = part / vector_bytes;
    device_.check(device_.driver().MemcpyDtoDAsync(inputs_.data() + done, inputs_.data(), part,
                                                   module_.stream()),
                  "while inputs were copied");
    module_.launch("update_1", blocks_for(vectors, 1),
                   {inputs_.data() + done, vectors, pristine_.flips_of_bit(bit)});
    done += part;
  }
  if (!is_in_place(workload_)) device_.fill(outputs_.data(), poison, outputs_.bytes());
  for (std::int64_t set = 0; set < count_; ++set) {
    moving_.read = given_positions_.data() + set * call_positions_bytes();
    moving_.move_on();
  }
  device_.write(positions_.data(), given_positions_.data(), given_positions_.size());
  device_.wait(module_.stream(), "while inputs were made");
  left_at_.reset();
}

void DeviceSets::hold_bytes() const {
  std::vector<std::byte> now(given_positions_.size());
  device_.read(now.data(), positions_.data(), now.size());
  if (now != given_positions_ || !positions_.touched().empty())
    entry_failed(Entry::apply, "wrote into its positions");
  if (!outputs().touched().empty()) entry_failed(Entry::apply, "wrote past the end of an output");
  for (const DeviceBlock* block : {&inputs_, &cos_there_, &sin_there_, &weights_and_slots_there_})
    if (!block->touched().empty())
      entry_failed(Entry::apply, "wrote past the end of an input or a table");
}

void DeviceSets::hold_constants() const {
  constexpr std::size_t most_bytes = std::size_t{8} << 20;
  std::vector<std::byte> now;
  const auto hold = [&](cuda::DeviceAddress there, const std::byte* given, std::size_t bytes,
                        const char* what) {
    now.resize(bytes);
    device_.read(now.data(), there, bytes);
    if (std::memcmp(now.data(), given, bytes) != 0) entry_failed(Entry::apply, what);
  };
  const auto table_bytes = std::min(cos_there_.bytes(), most_bytes);
  hold(cos_there_.data(), cos_.data(), table_bytes, "wrote into a table");
  hold(sin_there_.data(), sin_.data(), table_bytes, "wrote into a table");
  hold(weights_and_slots_there_.data(), constants_[0].data(), constants_[0].size(),
       "wrote into a weight or a slot");
  if (is_in_place(workload_)) return;
  const std::int64_t bytes = element_bytes(workload_);
  for (std::size_t tensor = 0; tensor < workload_.tensors.size(); ++tensor) {
    const TensorCase& t = workload_.tensors[tensor];
    for (std::int64_t head = 0; head < t.heads; ++head) {
      const HeadPlace at{static_cast<std::uint32_t>(tensor), changes_[0].b, changes_[0].t, head};
      const std::int64_t first = byte_of(call_.buffer(Operand::in, at.tensor), in_row(call_, at));
      hold(in(judged_set_) + static_cast<std::uint64_t>(first), given(at),
           static_cast<std::size_t>(t.head_dim * bytes), "wrote into its inputs");
    }
  }
}

void DeviceSets::choose(std::int64_t set, std::uint64_t& random) {
  judged_set_ = set;
  changes_ = {{place(0, random_below(tokens_, random), 0), 0}};
  left_at_.reset();
}

void DeviceSets::put_floor_copy(std::int64_t set) const {
  const auto rows = static_cast<std::uint64_t>(tokens_);
  const std::uint64_t row_vectors = vectors() / rows;
  module_.launch("floor_copy", blocks_for(row_vectors * rows, 1),
                 {in(set), row_vectors, rows, wide_positions_.data(), cos_there_.data(),
                  sin_there_.data(), static_cast<std::uint64_t>(table_vectors(workload_))});
}

std::vector<std::int32_t> DeviceSets::last_positions() const {
  return moving_.positions(count_ - 1 - judged_set_);
}

const std::byte* DeviceSets::given(const HeadPlace& at) const {
  const int buffer = call_.buffer(Operand::in, at.tensor);
  given_.resize(
      static_cast<std::size_t>(workload_.tensors[at.tensor].head_dim * element_bytes(workload_)));
  pristine_.read(judged_set_ * in_set_bytes_ + byte_of(buffer, in_row(call_, at)), given_.size(),
                 given_.data());
  return given_.data();
}

// One copy brings all heads of a token, unless they lie far apart.
const std::byte* DeviceSets::left(const HeadPlace& at) const {
  const TensorCase& t = workload_.tensors[at.tensor];
  const std::int64_t bytes = element_bytes(workload_);
  HeadPlace first = at;
  first.h = 0;
  const auto row = [&](std::int64_t h) { return out_row(call_, 0, {at.tensor, at.b, at.t, h}); };
  const std::int64_t span = row(t.heads - 1) - row(0) + t.head_dim;
  const bool together = span <= 4 * t.heads * t.head_dim;
  if (!together) first = at;
  if (left_at_ != first) {
    left_.resize(static_cast<std::size_t>((together ? span : t.head_dim) * bytes));
    const std::int64_t from = byte_of(call_.output(at.tensor).buffer, row(first.h));
    device_.read(left_.data(), out(judged_set_) + static_cast<std::uint64_t>(from), left_.size());
    left_at_ = first;
  }
  return left_.data() + (row(at.h) - row(first.h)) * bytes;
}

}  // namespace ropewalk::bench
