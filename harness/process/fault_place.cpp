#include "harness/process/fault_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {

using namespace protocol;

std::string place_of_fault(const Control& c, const std::vector<NamedRegion>& regions) {
  constexpr std::uint64_t near = GuardedMapping::widest_guard;  // no other buffer is this near
  std::string best;
  std::uint64_t best_distance = near;
  for (std::size_t i = 0; i < std::min<std::size_t>(region_count, regions.size()); ++i) {
    const MappedRegion& m = c.mapped[i];
    if (m.bytes == 0) continue;
    const NamedRegion& r = regions[i];
    const std::uint64_t bytes = r.bytes != 0 ? r.bytes : m.bytes;
    const std::uint64_t begin = m.begin + r.lead, end = begin + bytes, at = c.fault_address;
    const bool inside = at >= begin && at < end;
    const std::uint64_t distance = inside ? 0 : at >= end ? at - end : begin - at;
    if (distance >= best_distance) continue;
    best_distance = distance;
    const char* where = inside ? "in read-only" : at >= end ? "past the end of" : "before";
    best = fmt::format("{} {}, byte offset {} (it has {} bytes)", where, r.name,
                       static_cast<std::int64_t>(at - begin), bytes);
  }
  return best.empty() ? fmt::format("address {:#x}, near no buffer", c.fault_address)
                      : fmt::format("{} {}", c.fault_is_write != 0 ? "write" : "read", best);
}

}  // namespace ropewalk::harness
