#include "harness/device/device_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/process/step_failed.h"

namespace ropewalk::harness {
DeviceBlock::DeviceBlock(Device& device, std::size_t bytes, const std::string& name,
                         std::size_t before, std::size_t behind, unsigned char pattern)
    : device_(&device), before_(before), bytes_(bytes), behind_(behind), pattern_(pattern) {
  const std::size_t all = before + bytes + behind;
  begin_ = device.allocate(all);
  if (begin_ == 0) {
    const int shift = all >> 20 == 0 ? 0 : 20;
    throw StepFailed{
        protocol::Status::skipped,
        fmt::format("{} needs {} {} of device memory, and {} are free", name, all >> shift,
                    shift == 0 ? "bytes" : "MiB", device.free_bytes() >> shift)};
  }
  if (before > 0) device.queue_fill(begin_, pattern, before);
  if (behind > 0) device.queue_fill(data() + bytes, pattern, behind);
}

DeviceBlock::~DeviceBlock() {
  if (begin_ != 0) device_->release(begin_);
}

DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(begin_, other.begin_);
  std::swap(before_, other.before_);
  std::swap(bytes_, other.bytes_);
  std::swap(behind_, other.behind_);
  std::swap(pattern_, other.pattern_);
  return *this;
}

void* DeviceBlock::pointer() const {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are integers
  return begin_ == 0 ? nullptr : reinterpret_cast<void*>(data());
}

std::string DeviceBlock::touched() const {
  if (begin_ == 0) return {};
  const auto is_touched = [&](unsigned char byte) { return byte != pattern_; };
  std::vector<unsigned char> zone(before_);
  if (before_ > 0) device_->read(zone.data(), begin_, before_);
  if (const auto last = std::find_if(zone.rbegin(), zone.rend(), is_touched); last != zone.rend()) {
    device_->fill(begin_, pattern_, before_);
    return fmt::format("{} bytes before", last - zone.rbegin() + 1);
  }
  zone.resize(behind_);
  if (behind_ > 0) device_->read(zone.data(), data() + bytes_, behind_);
  const auto first = std::find_if(zone.begin(), zone.end(), is_touched);
  if (first == zone.end()) return {};
  device_->fill(data() + bytes_, pattern_, behind_);
  return fmt::format("{} bytes behind", first - zone.begin());
}

}  // namespace ropewalk::harness
