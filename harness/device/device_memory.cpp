#include "harness/device/device_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/device/device.h"
#include "harness/process/step_failed.h"
#include "harness/protocol.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {
namespace {

using protocol::memory_descriptor;

// Calls move(done) until all bytes are moved. It returns what pread and pwrite return.
template <class Move>
void move_all(std::size_t bytes, const char* failure, Move&& move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = move(done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw StepFailed{protocol::Status::failed, failure};
    done += static_cast<std::size_t>(n);
  }
}

struct PartOfRegion {
  std::uint64_t first, bytes;
};

/// The smallest part of a region that holds every buffer that lies in it.
PartOfRegion used_part(const protocol::CallDescriptor& call, const protocol::Region& region) {
  std::uint64_t first = region.mapped_bytes, end = 0;
  for (const protocol::OperandPlace& other : call.given()) {
    if (is_of_problem(other.role) || other.region.file_offset != region.file_offset) continue;
    first = std::min(first, other.region.at);
    end = std::max(end, other.region.at + other.bytes);
  }
  return {first, std::min(end, region.mapped_bytes) - first};
}

using namespace protocol;

constexpr unsigned char poison = 0xff;  // a NaN in every type
constexpr std::size_t small_bytes = std::size_t{1} << 20;
constexpr const char* in_apply = "in apply";

[[noreturn]] void fail(const std::string& text) {
  throw StepFailed{Status::failed, text};
}

// Most bytes are as they were, and memcmp sees that faster than a loop over them.
bool are_all(const std::vector<std::byte>& bytes, unsigned char value) {
  return bytes.empty() || (bytes.front() == std::byte{value} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

std::byte* host_pointer(cuda::DeviceAddress address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are integers
  return reinterpret_cast<std::byte*>(address);
}
cuda::DeviceAddress device_address(const std::byte* at) {
  return reinterpret_cast<cuda::DeviceAddress>(at);
}

bool wants_exact_blocks() {
  const char* wanted = std::getenv("ROPEWALK_DEVICE_MEMORY");
  return wanted != nullptr && std::string_view(wanted) == "exact";
}

}  // namespace

std::vector<ByteRange> held_parts(std::uint64_t offset, std::uint64_t bytes) {
  std::vector<ByteRange> parts;
  if (bytes < least_with_holes) return {{0, bytes}};
  const auto end = static_cast<off_t>(offset + bytes);
  for (auto at = static_cast<off_t>(offset); at < end;) {
    const off_t data = lseek(memory_descriptor, at, SEEK_DATA);
    if (data < 0 || data >= end) break;
    const off_t hole = lseek(memory_descriptor, data, SEEK_HOLE);
    at = hole < 0 || hole > end ? end : hole;
    parts.push_back(
        {static_cast<std::uint64_t>(data) - offset, static_cast<std::uint64_t>(at) - offset});
  }
  return parts;
}

std::vector<std::byte> read_shared(std::uint64_t offset, std::size_t bytes) {
  std::vector<std::byte> to(bytes);
  move_all(bytes, "the shared memory cannot be read", [&](std::size_t done) {
    return pread(memory_descriptor, to.data() + done, bytes - done,
                 static_cast<off_t>(offset + done));
  });
  return to;
}

void write_shared(const std::vector<std::byte>& from, std::uint64_t offset) {
  move_all(from.size(), "the shared memory cannot be written", [&](std::size_t done) {
    return pwrite(memory_descriptor, from.data() + done, from.size() - done,
                  static_cast<off_t>(offset + done));
  });
}

DeviceMemory::DeviceMemory(Control& control, Device& device)
    : CallMemory(control), device_(device), host_(control), kept_(device), load_(device) {
  if (wants_exact_blocks()) zone_bytes_ = 0;
  for (cuda::StreamHandle& stream : streams_) stream = device_.make_stream();
}

DeviceMemory::~DeviceMemory() {
  release_blocks();
}

void DeviceMemory::allocate(Block& block, std::size_t shift) {
  const std::size_t before = zone_bytes_ == 0 ? 0 : zone_bytes_ + shift;
  block.memory = DeviceBlock(device_, block.bytes, block.name, before, zone_bytes_, poison);
}

// The last workspace stays, full of poison, until another one was used. So no two calls that follow
// each other have the same, and what writes into one of an earlier call is found.
void DeviceMemory::retire(Block& workspace) {
  if (zone_bytes_ == 0 || workspace.bytes > small_bytes || device_.is_lost()) return;
  retired_ = std::move(workspace);
  device_.queue_fill(retired_->data(), poison, retired_->bytes);
}

void DeviceMemory::check_retired() {
  if (!retired_) return;
  check_zones(*retired_);
  if (!are_all(copy(host_pointer(retired_->data()), retired_->bytes), poison))
    fail("apply wrote into the workspace of an earlier call");
}

void DeviceMemory::drop_workspaces() {
  std::erase_if(blocks_, [&](Block& block) {
    const bool is_workspace = block.region_bytes == 0;
    if (is_workspace) retire(block);
    return is_workspace;
  });
}

DeviceMemory::Block* DeviceMemory::find(const Region& region) {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) {
    return b.region_bytes == region.mapped_bytes && b.file_offset == region.file_offset &&
           b.writable == (region.writable != 0);
  });
  return found == blocks_.end() ? nullptr : &*found;
}

DeviceMemory::Block& DeviceMemory::place_region(const CallDescriptor& call,
                                                const OperandPlace& operand) {
  const Region& region = operand.region;
  PartOfRegion part{0, region.mapped_bytes};
  if (zone_bytes_ == 0) part = used_part(call, region);
  Block* block = find(region);
  if (block != nullptr && (block->first != part.first || block->bytes != part.bytes)) {
    // another problem used the region otherwise
    blocks_.remove_if([&](const Block& b) { return &b == block; });
    block = nullptr;
  }
  if (block == nullptr) {
    Block fresh;
    fresh.file_offset = region.file_offset;
    fresh.region_bytes = region.mapped_bytes;
    fresh.writable = region.writable != 0;
    fresh.name = operand_name(operand.role, operand.tensor);
    fresh.first = part.first;
    fresh.bytes = part.bytes;
    allocate(fresh);
    block = &blocks_.emplace_back(std::move(fresh));
  }
  return *block;
}

void DeviceMemory::place(const CallDescriptor& call, bool beside) {
  forget_places();
  host_.place_if(call, is_of_problem);
  if (!beside) {
    drop_workspaces();  // of an earlier call whose regions stay
    for (Block& block : blocks_) block.is_placed = false;
  }
  for (std::size_t i = 0; i < call.given().size(); ++i) {
    const OperandPlace& operand = call.given()[i];
    if (is_of_problem(operand.role)) continue;
    Block& block = place_region(call, operand);
    note(i, host_pointer(block.data() + (operand.region.at - block.first)), block.data(),
         block.bytes);
    if (!std::exchange(block.is_placed, true)) copy_in(block);
  }
}

void DeviceMemory::copy_in(Block& block) {
  block.given.clear();
  std::uint64_t held = 0;
  for (const auto [begin, end] : held_parts(block.file_offset + block.first, block.bytes)) {
    const std::uint64_t at = block.first + begin;
    block.given.push_back({at, read_shared(block.file_offset + at, end - begin)});
    held += end - begin;
  }
  if (held != block.bytes) device_.queue_fill(block.data(), 0, block.bytes);
  write_given(block);
}

void DeviceMemory::write_given(const Block& block) {
  for (const Extent& extent : block.given)
    device_.queue_write(block.data() + (extent.at - block.first), extent.content.data(),
                        extent.content.size());
}

void DeviceMemory::write_all_given() {
  for (const Block& block : blocks_)
    if (block.is_placed) write_given(block);
}

rope_operands DeviceMemory::operands(const CallDescriptor& call, const Workspace& workspace,
                                     std::uint32_t caller) {
  device_.wait_for_queued();
  rope_operands o = CallMemory::operands(call, workspace, caller);
  o.stream = streams_[caller];
  return o;
}

Workspace DeviceMemory::workspace(std::size_t bytes, bool at_end) {
  Workspace w;
  w.bytes = bytes;
  if (bytes == 0) return w;
  Block block;
  block.name = "the workspace";
  block.bytes = bytes;
  block.is_placed = true;
  // A workspace is a multiple of 64 bytes from 0, and in one of the two calls of no more.
  allocate(block, at_end ? 64 : 0);
  device_.queue_fill(block.data(), poison, bytes);
  w.address = host_pointer(block.data());
  if (!at_end && !left_in_workspace_.empty())
    device_.queue_write(block.data(), left_in_workspace_.data(),
                        std::min(bytes, left_in_workspace_.size()));
  control_.mapped[most_operands] = {block.data(), bytes};
  blocks_.push_back(std::move(block));
  return w;
}

DeviceMemory::Bytes DeviceMemory::copy(const std::byte* at, std::size_t bytes) {
  Bytes out(bytes);
  if (bytes > 0) device_.read(out.data(), device_address(at), bytes);
  return out;
}

void DeviceMemory::restore(std::byte* at, const Bytes& content) {
  device_.write(device_address(at), content.data(), content.size());
}
bool DeviceMemory::equals(const std::byte* at, const Bytes& content) {
  return copy(at, content.size()) == content;
}

void DeviceMemory::wait(void* stream) {
  device_.wait(static_cast<cuda::StreamHandle>(stream), in_apply);
}

void DeviceMemory::fill_all_with_poison() {
  for (const Block& block : blocks_)
    for (const Extent& extent : block.given)
      if (block.is_placed)
        device_.queue_fill(block.data() + (extent.at - block.first), poison, extent.content.size());
}

// The buffers hold poison while apply's work is captured. So work that apply puts on another
// stream, and that no graph repeats, finds nothing but poison.
void DeviceMemory::begin_apply(const rope_operands& o, bool as_graph) {
  if (captured_ != nullptr) {  // the last one failed, and left the poison
    end_capture();
    write_all_given();
  }
  if (as_graph) fill_all_with_poison();
  device_.wait_for_queued();
  if (!as_graph) return;
  const auto stream = static_cast<cuda::StreamHandle>(o.stream);
  device_.check(device_.driver().StreamBeginCapture(stream, cuda::capture_global),
                "while a capture began");
  captured_ = stream;
}

// Drops what is captured, if an entry failed before it was launched. Returns how the capture ended.
cuda::Result DeviceMemory::end_capture() {
  if (captured_ == nullptr) return cuda::success;
  return CapturedGraph(device_.driver(), std::exchange(captured_, nullptr)).ended();
}

std::string DeviceMemory::why_apply_failed() {
  const cuda::Result ended = end_capture();
  if (ended == cuda::success) return {};
  return fmt::format(", as it cannot be captured into a graph: {}",
                     error_text(device_.driver(), ended));
}

void DeviceMemory::launch(const rope_operands& o) {
  const auto stream = static_cast<cuda::StreamHandle>(o.stream);
  captured_ == nullptr ? device_.wait(stream, in_apply) : launch_graph(stream);
}

std::vector<DeviceMemory::Bytes> DeviceMemory::outputs() {
  std::vector<Bytes> all;
  for (const Block& block : blocks_)
    for (const Extent& extent : block.given)
      if (block.is_placed && block.writable)
        all.push_back(
            copy(host_pointer(block.data() + (extent.at - block.first)), extent.content.size()));
  return all;
}

// Launches the graph twice. Both launches get the same contents and must give the same bits.
void DeviceMemory::launch_graph(cuda::StreamHandle stream) {
  const cuda::Driver& d = device_.driver();
  CapturedGraph captured(d, std::exchange(captured_, nullptr));
  captured.check("apply");
  if (captured.allocates()) fail("apply allocates device memory, by work on its stream");
  device_.wait_for_all(in_apply);
  const cuda::GraphExecHandle exec = captured.exec(device_);
  const auto launched = [&] {
    write_all_given();
    device_.wait_for_queued();
    device_.check(d.GraphLaunch(exec, stream), "while apply's graph was launched");
    device_.wait(stream, in_apply);
    return outputs();
  };
  if (launched() != launched()) fail("apply's graph gave other bits when it was launched again");
}

void DeviceMemory::check_zones(const Block& block) {
  if (const std::string where = block.memory.touched(); !where.empty())
    fail(fmt::format("apply wrote outside its buffers: {} the pages of {}", where, block.name));
}

void DeviceMemory::check_unchanged(const Block& block, const Extent& extent, const Bytes& now) {
  const auto [was, is] = std::mismatch(extent.content.begin(), extent.content.end(), now.begin());
  if (was == extent.content.end()) return;
  const auto offset = static_cast<std::int64_t>(extent.at) + (was - extent.content.begin());
  // Several buffers may share a block. The offset is from the nearest one that begins before it.
  std::set<std::int64_t> begins;
  for (const std::byte* at : addresses_)
    if (at != nullptr && device_address(at) >= block.data() &&
        device_address(at) < block.data() + block.bytes)
      begins.insert(static_cast<std::int64_t>(device_address(at) - block.data() + block.first));
  const auto behind = begins.upper_bound(offset);
  const auto nearest = behind == begins.begin() ? behind : std::prev(behind);
  const std::int64_t begin = begins.empty() ? 0 : *nearest;
  fail(fmt::format("apply wrote into {}, which is read-only: byte offset {}", block.name,
                   offset - begin));
}

void DeviceMemory::check_zero(const Block& block, std::uint64_t begin, std::uint64_t bytes) {
  const Bytes part = copy(host_pointer(block.data() + (begin - block.first)), bytes);
  if (are_all(part, 0)) return;
  const auto is_set = [](std::byte b) { return b != std::byte{0}; };
  const auto at = std::find_if(part.begin(), part.end(), is_set) - part.begin();
  fail(fmt::format("apply wrote outside its rows: {}, byte offset {}", block.name,
                   begin + static_cast<std::uint64_t>(at)));
}

// What the shared memory does not hold must still be zero. Of large holes both ends are copied
// back, and some pieces by chance.
void DeviceMemory::check_holes(const Block& block) {
  constexpr std::uint64_t end_bytes = std::uint64_t{1} << 20, piece_bytes = end_bytes / 16;
  constexpr int pieces = 8;
  const auto check = [&](std::uint64_t begin, std::uint64_t end) {
    if (end - begin <= 2 * end_bytes) return check_zero(block, begin, end - begin);
    check_zero(block, begin, end_bytes);
    check_zero(block, end - end_bytes, end_bytes);
    std::uniform_int_distribution<std::uint64_t> any(begin, end - piece_bytes);
    for (int i = 0; i < pieces; ++i) check_zero(block, any(chance_), piece_bytes);
  };
  std::uint64_t at = block.first;
  for (const Extent& extent : block.given) {
    if (at < extent.at) check(at, extent.at);
    at = extent.at + extent.content.size();
  }
  if (at < block.first + block.bytes) check(at, block.first + block.bytes);
}

void DeviceMemory::collect_block(Block& block) {
  check_zones(block);
  if (block.region_bytes == 0) return;
  check_holes(block);
  for (const Extent& extent : block.given) {
    const Bytes now =
        copy(host_pointer(block.data() + (extent.at - block.first)), extent.content.size());
    if (!block.writable) check_unchanged(block, extent, now);
    if (now != extent.content) write_shared(now, block.file_offset + extent.at);
  }
}

void DeviceMemory::collect() {
  check_retired();
  for (Block& block : blocks_)
    if (block.is_placed) collect_block(block);
}

std::string DeviceMemory::kept_by(const std::function<void()>& calls) {
  load_.begin();
  std::string kept = kept_.by(calls);
  load_.end();
  return kept;
}

std::string DeviceMemory::kept_by_states() {
  if (!kept_.wants_count()) return {};
  release_blocks();
  return kept_.count_states();
}

void DeviceMemory::finish() {
  constexpr std::size_t most = 256;
  drop_workspaces();
  const bool too_many = blocks_.size() > most;
  std::erase_if(blocks_, [&](Block& block) {
    block.is_placed = false;
    return too_many || block.bytes > small_bytes;
  });
  host_.finish();
}

void DeviceMemory::release_blocks() {
  end_capture();
  retired_.reset();
  blocks_.clear();
}

// What states keep is counted anew, as another kernel may follow.
void DeviceMemory::unmap_all() {
  release_blocks();
  kept_.forget_states();
  host_.unmap_all();
}

}  // namespace ropewalk::harness
