#include "kernels/cuda/access_log.h"

#include <algorithm>
#include <cstring>

#include "kernels/api/kernel.h"
#include "kernels/cuda/host_launcher.h"

namespace ropewalk::cuda {
namespace {

constexpr std::uint64_t thread_bits = 10;  // a block has at most 1024 threads

// "block 3 thread 17", by the numbers that a device gives them.
struct LaneName {
  char text[48];
};
LaneName name_of(std::uint64_t lane) {
  LaneName name;
  std::snprintf(name.text, sizeof name.text, "block %llu thread %llu",
                static_cast<unsigned long long>((lane >> thread_bits) - 1),
                static_cast<unsigned long long>(lane & ((1U << thread_bits) - 1)));
  return name;
}

std::uint64_t number_of(const Extent& at, const Extent& counts) {
  return (std::uint64_t{at.z} * counts.y + at.y) * counts.x + at.x;
}

std::uint64_t address_of(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

// The elements of a row, and the rows of one tensor.
template <class Visit>
void for_each_row(const rope_problem& p, const rope_tensor& s, const void* base,
                  std::int64_t batch_stride, std::int64_t token_stride, std::int64_t head_stride,
                  Visit&& visit) {
  const std::int64_t bytes = data_type(Dtype{s.in_dtype}).bytes;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t t = 0; t < p.tokens; ++t)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t at = (p.batch > 1 ? b * batch_stride : 0) +
                                (p.tokens > 1 ? t * token_stride : 0) +
                                (s.heads > 1 ? h * head_stride : 0);
        visit(static_cast<const std::byte*>(base) + at * bytes,
              static_cast<std::size_t>(s.head_dim * bytes));
      }
}

}  // namespace

// At most half of the cells are in use, so a search ends soon.
std::size_t AccessLog::bytes_for(std::size_t touched) {
  return (touched / 2 + 1) * 2 * sizeof(Cell);
}

AccessLog::AccessLog(void* memory, std::size_t bytes, LaunchFault& fault)
    : cells_(static_cast<Cell*>(memory)), count_(bytes / sizeof(Cell)), fault_(&fault) {
  std::fill(cells_, cells_ + count_, Cell{});
}

AccessLog::Cell* AccessLog::find(std::uint64_t key, bool insert) {
  if (count_ == 0) return nullptr;
  std::size_t at = (key * 0x9e3779b97f4a7c15U >> 20) % count_;
  for (std::size_t tried = 0; tried < count_; ++tried, at = at + 1 == count_ ? 0 : at + 1) {
    if (cells_[at].key == key) return &cells_[at];
    if (cells_[at].key == 0) {
      if (!insert) return nullptr;
      cells_[at].key = key;
      return &cells_[at];
    }
  }
  return nullptr;
}

void AccessLog::allow(const void* begin, std::size_t bytes, Rights rights, const char* what) {
  const std::uint64_t first = address_of(begin) / 2 + 1;
  for (std::uint64_t key = first; key < first + bytes / 2; ++key) {
    Cell* cell = find(key, true);
    if (cell == nullptr) return fault_->say("the log has no room for %s", what);
    if (cell->what == nullptr || rights == Rights::read_and_write) {
      cell->what = what;
      cell->rights = rights;
    }
  }
}

AccessLog::Who AccessLog::who(const Lane& lane, std::uint32_t epoch) {
  const std::uint64_t block = number_of(lane.block, lane.blocks) + 1;
  return {block << thread_bits | number_of(lane.thread, lane.threads), epoch};
}

// Whether two accesses of different lanes have no order.
bool AccessLog::conflict(const Who& before, const Who& now) {
  if (before.lane == 0 || before.lane == now.lane) return false;
  return before.lane >> thread_bits != now.lane >> thread_bits || before.epoch == now.epoch;
}

AccessLog::Cell* AccessLog::allowed(const Lane& lane, std::uint64_t key, Rights needed) {
  Cell* cell = find(key, false);
  const char* verb = needed == Rights::read_only ? "reads" : "writes";
  const LaneName name = name_of(who(lane, 0).lane);
  if (cell == nullptr) {
    fault_->say("%s %s outside the operands", name.text, verb);
  } else if (needed == Rights::read_and_write && cell->rights == Rights::read_only) {
    fault_->say("%s writes %s, which may only be read", name.text, cell->what);
    cell = nullptr;
  }
  return cell;
}

bool AccessLog::read(const Lane& lane, std::uint32_t epoch, const void* at, std::size_t bytes) {
  const Who now = who(lane, epoch);
  for (std::uint64_t i = 0; i < bytes / 2; ++i) {
    Cell* cell = allowed(lane, address_of(at) / 2 + 1 + i, Rights::read_only);
    if (cell == nullptr) return false;
    if (conflict(cell->writer, now))
      fault_->say("an element of %s is written by %s, read by %s", cell->what,
                  name_of(cell->writer.lane).text, name_of(now.lane).text);
    // Two readers are enough: a later writer differs from one of them.
    Who* readers = cell->readers;
    if (readers[0].lane == 0 || readers[0].lane == now.lane)
      readers[0] = now;
    else
      readers[1] = now;
  }
  return true;
}

bool AccessLog::write(const Lane& lane, std::uint32_t epoch, const void* at, std::size_t bytes) {
  const Who now = who(lane, epoch);
  for (std::uint64_t i = 0; i < bytes / 2; ++i) {
    Cell* cell = allowed(lane, address_of(at) / 2 + 1 + i, Rights::read_and_write);
    if (cell == nullptr) return false;
    if (conflict(cell->writer, now))
      fault_->say("an element of %s is written by two threads: %s and %s", cell->what,
                  name_of(cell->writer.lane).text, name_of(now.lane).text);
    for (const Who& reader : cell->readers)
      if (conflict(reader, now))
        fault_->say("an element of %s is written by %s, read by %s", cell->what,
                    name_of(now.lane).text, name_of(reader.lane).text);
    cell->writer = now;
  }
  return true;
}

void allow_operands(AccessLog& log, const rope_problem& p, const rope_operands& o) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    for_each_row(p, s, o.tensor[i].in, s.in_batch_stride, s.in_token_stride, s.in_head_stride,
                 [&](const void* row, std::size_t bytes) {
                   log.allow(row, bytes, Rights::read_only, "an input");
                 });
    for_each_row(p, s, o.tensor[i].out, s.out_batch_stride, s.out_token_stride, s.out_head_stride,
                 [&](const void* row, std::size_t bytes) {
                   log.allow(row, bytes, Rights::read_and_write, "an output");
                 });
    if (p.angle_source != ROPE_ANGLES_TABLE || s.rotate == 0) continue;
    const auto entry = static_cast<std::int64_t>(sizeof(float));
    for (const void* table : {o.tensor[i].cos, o.tensor[i].sin})
      for (std::int64_t row = 0; row < p.table_rows; ++row)
        log.allow(static_cast<const std::byte*>(table) +
                      (p.table_rows > 1 ? row * p.table_row_stride * entry : 0),
                  static_cast<std::size_t>(p.rotary_dim / 2 * entry), Rights::read_only, "a table");
  }
  if (o.positions == nullptr) return;
  const std::int64_t bytes = data_type(Dtype{p.position_dtype}).bytes;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t t = 0; t < p.tokens; ++t)
      log.allow(static_cast<const std::byte*>(o.positions) +
                    ((p.batch > 1 ? b * p.position_batch_stride : 0) +
                     (p.tokens > 1 ? t * p.position_token_stride : 0)) *
                        bytes,
                static_cast<std::size_t>(bytes), Rights::read_only, "positions");
}

std::size_t bytes_of_operands(const rope_problem& p) {
  const std::int64_t rows = p.batch * p.tokens;
  std::int64_t bytes = rows * 8;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    bytes += 2 * rows * s.heads * s.head_dim * data_type(Dtype{s.in_dtype}).bytes;
    if (p.angle_source == ROPE_ANGLES_TABLE) bytes += p.table_rows * p.rotary_dim * 4;
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace ropewalk::cuda
