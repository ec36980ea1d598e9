#include "benchmarks/cells/workload_data.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>

#include "base/fingerprint.h"
#include "base/random.h"
#include "base/system/descriptor.h"
#include "base/system/memory_limits.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_shape.h"
#include "harness/cases/stored.h"
#include "harness/process/exceptions.h"
#include "harness/process/step_failed.h"

namespace ropewalk::bench {
using harness::Operand;

namespace {
constexpr int tail_value = 0xa5;
}

AlignedBytes::AlignedBytes(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
  const std::size_t rounded = (bytes_ + tail_bytes + 63) / 64 * 64;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(64, rounded)));
  if (data_ == nullptr) throw std::bad_alloc();
  std::memset(data_.get() + bytes_, tail_value, tail_bytes);
}

bool AlignedBytes::is_whole() {
  if (data_ == nullptr) return true;
  std::byte* const tail = data_.get() + bytes_;
  const bool whole =
      std::all_of(tail, tail + tail_bytes, [](std::byte b) { return b == std::byte{tail_value}; });
  if (!whole) std::memset(tail, tail_value, tail_bytes);
  return whole;
}

WorkloadData::WorkloadData(const Workload& w, std::uint64_t seed)
    : WorkloadMemory(w),
      held_(buffers_.size()),
      element_size_(static_cast<std::size_t>(element_bytes(w))) {
  std::uint64_t random = seed_of_name(seed, w.name);
  const auto mapped = static_cast<std::size_t>(table_bytes(w) / 2) + table_offset;
  for (harness::GuardedMapping* const table : {&cos_, &sin_})
    *table = harness::GuardedMapping(mapped + harness::most_read_past);
  fill_tables(w, inv_freq_, cos_.data() + table_offset, sin_.data() + table_offset);
  for (harness::GuardedMapping* const table : {&cos_, &sin_}) table->make_read_only();
  map_constants();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const harness::BufferLayout& b = buffers_[i];
    const bool is_table = b.role == Operand::cos || b.role == Operand::sin;
    if (!is_table && !is_constant(b)) held_[i].bytes = AlignedBytes(bytes_of(b));
    begins_.push_back(is_constant(b) ? weights_and_slots_there_.data() + constants_at_[i]
                      : !is_table    ? held_[i].bytes.data()
                                  : (b.role == Operand::cos ? cos_ : sin_).data() + table_offset);
  }
  for (std::size_t i = 0; i < w.tensors.size(); ++i)
    if (const std::size_t in = in_buffer(i); !held_[in].given)
      held_[in].given.emplace(bytes_of(buffers_[in]), w.dtype, random);
  give_inputs();
  place_positions(begins_[static_cast<std::size_t>(call_.buffer(Operand::positions))], random);
  moving_.write();
  for (const bool changed : {false, true}) cache_spans_[changed] = cache_spans(false, changed);
}

// Kernels find them where they can only read.
void WorkloadData::map_constants() {
  const std::size_t bytes = harness::whole_pages(constants_[0].size() + 1);
  const Descriptor file(memfd_create("ropewalk constants", MFD_CLOEXEC));
  if (ftruncate(file.number(), static_cast<off_t>(bytes)) != 0)
    throw std::runtime_error("memory for the weights and slots could not be had");
  constants_there_ = harness::GuardedMapping(file.number(), 0, bytes, true);
  weights_and_slots_there_ = harness::GuardedMapping(file.number(), 0, bytes, false);
  give_constants(false);
}

bool WorkloadData::positions_are_whole() {
  const bool whole = moving_.are_whole();
  if (!whole) moving_.write();
  return held_[static_cast<std::size_t>(call_.buffer(Operand::positions))].bytes.is_whole() &&
         whole;
}

bool WorkloadData::outputs_are_whole() {
  bool whole = true;
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (buffers_[i].writable) whole = held_[i].bytes.is_whole() && whole;
  return whole;
}

void WorkloadData::refresh(std::uint64_t seed) {
  for (Held& held : held_)
    if (held.given) held.given->refresh(seed);
  give_inputs();
}

void WorkloadData::give_inputs() {
  if (is_in_place(workload_)) return;
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (held_[i].given) held_[i].given->copy_to(begins_[i]);
  stores_.clear();  // they are undone
  give_constants(false);
}

bool WorkloadData::inputs_are_whole() {
  if (is_in_place(workload_)) return true;
  bool whole = true;
  for (const Store& s : stores_) {
    if (is_change_taken_) whole = whole && std::memcmp(s.to, s.value, element_size_) == 0;
    std::memcpy(s.to, s.before, element_size_);
  }
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (!held_[i].given || held_[i].given->is_equal_to(begins_[i])) continue;
    whole = false;
    held_[i].given->copy_to(begins_[i]);
  }
  for (const Store& s : stores_)
    if (is_change_taken_) std::memcpy(s.to, s.value, element_size_);
  return whole;
}

void WorkloadData::draw_change(std::uint64_t& random) {
  const bool in_place = is_in_place(workload_);
  for (const Store& s : stores_)
    if (!in_place) std::memcpy(s.to, s.before, element_size_);
  if (!in_place) give_constants(false);
  const std::size_t drawn = next_random(random) % workload_.tensors.size();
  const std::int64_t token = random_below(tokens_, random);
  changes_.clear();
  stores_.clear();
  for (std::size_t i = 0; i < workload_.tensors.size(); ++i) {
    const harness::TensorCase& t = workload_.tensors[i];
    if (in_place && i != drawn) continue;
    Changed c{place(i, token, random_below(t.heads, random)), random_below(t.head_dim, random)};
    if (in_place) c.element = t.rotary_offset + c.element % workload_.rotary_dim;
    Store s{};
    s.head = in_at(c);
    s.to = s.head + c.element * element_bytes(workload_);
    held_[in_buffer(i)].given->read(s.to - begins_[in_buffer(i)], element_size_, s.before);
    with_floating_type(workload_.dtype, [&]<class Data>(std::type_identity<Data>) {
      Data value{};
      do {
        const double size = 1.5 + static_cast<double>(next_random(random) >> 12) * 0x1p-53;
        value = Data{static_cast<TableOf<Data>>(next_random(random) % 2 == 0 ? size : -size)};
      } while (std::abs(double{value}) >= 2);
      std::memcpy(s.value, &value, sizeof value);
    });
    if (in_place) witness_.resize(static_cast<std::size_t>(t.head_dim) * element_size_);
    changes_.push_back(c);
    stores_.push_back(s);
  }
}

void WorkloadData::take_change(bool taken) {
  is_change_taken_ = taken;
  placement_ = taken && has_other_constants_ ? 1 : 0;
}

const std::byte* WorkloadData::given(const harness::HeadPlace& at) const {
  const std::size_t buffer = in_buffer(at.tensor);
  given_.resize(
      static_cast<std::size_t>(workload_.tensors[at.tensor].head_dim * element_bytes(workload_)));
  held_[buffer].given->read(in_at(at) - begins_[buffer], given_.size(), given_.data());
  for (std::size_t i = 0; i < stores_.size() && is_change_taken_; ++i)
    if (changes_[i] == at)
      std::memcpy(given_.data() + (stores_[i].to - stores_[i].head), stores_[i].value,
                  element_size_);
  return given_.data();
}

void WorkloadData::refill() {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (!buffers_[i].writable || buffers_[i].role == Operand::cache) continue;
    if (held_[i].given)
      held_[i].given->copy_to(begins_[i]);
    else  // all bits are one: a NaN of every type
      std::memset(begins_[i], 0xff, static_cast<std::size_t>(bytes_of(buffers_[i])));
  }
  for (const auto& spans : cache_spans_)
    for (const CeilingSpan& s : spans)
      for (std::int64_t row = 0; row < s.rows; ++row)
        std::memset(static_cast<std::byte*>(s.out) + row * s.stride, 0xff,
                    static_cast<std::size_t>(s.row_bytes));
}

std::size_t WorkloadData::outputs_fingerprint(std::uint64_t random) const {
  constexpr std::int64_t piece = 64 << 10, pieces = 32;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (!buffers_[i].writable) continue;
    const auto add = [&](std::int64_t at, std::int64_t bytes) {
      const auto* const from = reinterpret_cast<const char*>(begins_[i] + at);
      sum = 31 * sum + std::hash<std::string_view>()({from, static_cast<std::size_t>(bytes)});
    };
    const std::int64_t bytes = bytes_of(buffers_[i]);
    if (bytes <= 2 * pieces * piece) {
      add(0, bytes);
      continue;
    }
    add(bytes - piece, piece);  // what is written last, as a rule
    add(0, piece);
    for (std::int64_t k = 0; k < pieces; ++k) add(random_below(bytes - piece, random), piece);
  }
  return sum;
}

std::vector<CeilingSpan> WorkloadData::spans() const {
  std::vector<CeilingSpan> out;
  for (std::size_t i = 0; i < workload_.tensors.size(); ++i)
    add_spans(
        i, [&](const auto& at) { return in_at(at); },
        [&](const auto& at) { return out_at(call_, 0, at); }, out);
  return out;
}

std::vector<CeilingSpan> WorkloadData::spans_apart() {
  constexpr std::int64_t line = 64, held_by_caches = std::int64_t{64} << 20;
  std::vector<CeilingSpan> out = spans();
  if (ceiling_working_set_bytes(workload_) > held_by_caches) return out;
  std::int64_t bytes = 0;
  for (const CeilingSpan& s : out) bytes += line + (s.rows - 1) * s.stride + s.row_bytes;
  if (apart_.data() == nullptr) apart_ = AlignedBytes(bytes);
  std::byte* at = apart_.data();
  for (CeilingSpan& s : out) {  // as far into a line as the output itself
    at += (static_cast<std::byte*>(s.out) - at) & (line - 1);
    s.out = std::exchange(at, at + (s.rows - 1) * s.stride + s.row_bytes);
  }
  return out;
}

std::vector<NormPass> WorkloadData::norm_passes() const {
  std::vector<NormPass> out;
  for (std::size_t i = 0; i < workload_.tensors.size(); ++i) {
    const harness::TensorCase& t = workload_.tensors[i];
    if (!t.norm) continue;
    std::vector<CeilingSpan> rows;
    add_spans(
        i, [&](const auto& at) { return in_at(at); },
        [&](const auto& at) { return out_at(alone_, 0, at); }, rows);
    const int weight = call_.buffer(Operand::weight, static_cast<std::uint32_t>(i));
    for (const CeilingSpan& span : rows)
      out.push_back({span, workload_.dtype, t.head_dim, begins_[static_cast<std::size_t>(weight)],
                     workload_.epsilon});
  }
  return out;
}

std::vector<CeilingSpan> WorkloadData::cache_spans(bool unfused, bool changed) const {
  std::vector<CeilingSpan> out;
  for (std::size_t i = 0; i < workload_.tensors.size(); ++i)
    if (workload_.tensors[i].append)
      add_spans(
          i,
          [&, rotated = unfused && workload_.tensors[i].rotate](const auto& at) {
            return rotated ? out_at(alone_, 0, at) : in_at(at);
          },
          [&](const auto& at) { return out_at(call_, changed ? 1 : 0, at); }, out);
  return out;
}

// In place of windows alone. Rows that touch are one, and rows of one length that are equally far
// apart are one span. So rows are taken in the order of their addresses.
void WorkloadData::add_spans(std::size_t tensor, const RowAt& from, const RowAt& to,
                             std::vector<CeilingSpan>& out) const {
  const harness::TensorCase& t = workload_.tensors[tensor];
  const rope_tensor& strides = call_.asked.tensor[tensor];
  const bool in_place = is_in_place(workload_),
             by_head = strides.in_head_stride > strides.in_token_stride;
  const std::int64_t size = element_bytes(workload_),
                     skipped = in_place ? t.rotary_offset * size : 0,
                     bytes = (in_place ? workload_.rotary_dim : t.head_dim) * size;
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  const auto add = [&](const std::byte* in, std::byte* to_row, std::int64_t row_bytes) {
    CeilingSpan* const last = std::ssize(out) > first ? &out.back() : nullptr;
    const auto ahead = last != nullptr ? in - static_cast<const std::byte*>(last->in) : 0;
    const bool alike = last != nullptr && to_row - static_cast<std::byte*>(last->out) == ahead;
    if (alike && last->rows == 1 && ahead == last->row_bytes) {
      last->stride = last->row_bytes += row_bytes;
    } else if (alike && row_bytes == last->row_bytes &&
               (last->rows == 1 ? ahead > row_bytes : ahead == last->rows * last->stride)) {
      last->stride = ahead / last->rows++;
    } else {
      out.push_back(
          {in, to_row, 1, row_bytes, row_bytes, in_place ? sign_flips(workload_.dtype) : 0});
    }
  };
  const std::int64_t outer = by_head ? t.heads : workload_.tokens,
                     inner = by_head ? workload_.tokens : t.heads;
  for (std::int64_t b = 0; b < workload_.batch; ++b)
    for (std::int64_t i = 0; i < outer; ++i) {
      const auto at = [&](std::int64_t j) {
        return harness::HeadPlace{static_cast<std::uint32_t>(tensor), b, by_head ? j : i,
                                  by_head ? i : j};
      };
      for (std::int64_t j = 0; j < inner;) {
        const std::byte* const in = from(at(j));
        std::byte* const out_row = to(at(j));
        std::int64_t row_bytes = bytes;
        while (++j < inner && from(at(j)) == in + row_bytes && to(at(j)) == out_row + row_bytes)
          row_bytes += bytes;
        add(in + skipped, out_row + skipped, row_bytes);
      }
    }
}

WorkloadData& LazyData::make() {
  if (data_) return *data_;
  const auto refuse = [](const std::string& why) {
    throw harness::StepFailed{harness::protocol::Status::skipped, why};
  };
  const std::int64_t needed = allocated_bytes(workload_);
  if (const std::string why = memory_refusal(needed); !why.empty()) refuse(why);
  try {
    return data_.emplace(workload_, seed_);
  } catch (const std::bad_alloc&) {
  } catch (const std::runtime_error&) {  // of a mapping
  }
  refuse(fmt::format("{} MiB of memory could not be had", needed >> 20));
  return *data_;  // never reached
}

}  // namespace ropewalk::bench
