#include "benchmarks/cells/workload_data.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>

#include "base/fingerprint.h"
#include "base/random.h"
#include "base/system/descriptor.h"
#include "base/system/memory_limits.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_shape.h"
#include "harness/cases/axes.h"
#include "harness/cases/fused.h"
#include "harness/cases/stored.h"
#include "harness/process/exceptions.h"
#include "harness/process/step_failed.h"

namespace ropewalk::bench {
using harness::Operand;
namespace {

/// The bits of sign and mantissa in eight bytes of a type, which change no binade.
std::uint64_t sign_and_mantissa(Dtype dtype) {
  const DataType& type = data_type(dtype);
  const auto bits = static_cast<int>(8 * type.bytes);
  std::uint64_t out = 0;
  for (int at = 0; at < 64; at += bits)
    out |= ((std::uint64_t{1} << (type.format.mantissa - 1)) - 1) << at | std::uint64_t{1}
                                                                              << (at + bits - 1);
  return out;
}

constexpr int tail_value = 0xa5;

template <class Data>
void fill_table(std::byte* cos, std::byte* sin, std::int64_t rows,
                const std::vector<double>& inv_freq) {
  Data* to_cos = reinterpret_cast<Data*>(cos);
  Data* to_sin = reinterpret_cast<Data*>(sin);
  for (std::int64_t position = 0; position < rows; ++position)
    for (const double frequency : inv_freq) {
      const double angle_rad = static_cast<double>(position) * frequency;
      *to_cos++ = Data{static_cast<TableOf<Data>>(std::cos(angle_rad))};
      *to_sin++ = Data{static_cast<TableOf<Data>>(std::sin(angle_rad))};
    }
}

/// A number in [0, count).
std::int64_t below(std::int64_t count, std::uint64_t& random) {
  return static_cast<std::int64_t>(next_random(random) % static_cast<std::uint64_t>(count));
}

/// Every position once in a random order, and then the first of them again.
void scatter_all(std::int32_t* positions, std::int64_t held, std::uint64_t& random) {
  for (std::int64_t i = 0; i < cold_position_count; ++i) {
    const auto j =
        static_cast<std::int64_t>(next_random(random) % static_cast<std::uint64_t>(i + 1));
    positions[i] = positions[j];
    positions[j] = static_cast<std::int32_t>(i);
  }
  for (std::int64_t i = cold_position_count; i < held; ++i)
    positions[i] = positions[i - cold_position_count];
}

}  // namespace

PristineInput::PristineInput(std::int64_t bytes, Dtype dtype, std::uint64_t& random)
    : bytes_(bytes), changeable_(sign_and_mantissa(dtype)), seed_(next_random(random)) {
  const auto size = static_cast<std::int64_t>(data_type(dtype).bytes);
  std::vector<std::byte> halves(8);
  for (std::int64_t i = 0; i < 8 / size; ++i) harness::store(halves, dtype, i, 0.5);
  const auto half = harness::load_as<std::uint64_t>(halves, 0);
  kept_.resize(static_cast<std::size_t>((std::min(bytes, most_kept_bytes) + 7) / 8));
  for (std::uint64_t& word : kept_) word = half | (next_random(random) & changeable_);
}

void PristineInput::refresh(std::uint64_t seed) {
  flip(next_random(seed) & changeable_);
}

void PristineInput::copy_to(std::byte* to) {
  for_each_piece([&](std::int64_t at, std::size_t bytes, const std::byte* from) {
    std::memcpy(to + at, from, bytes);
    return true;
  });
  if (set_bytes_ > 0) std::memcpy(to + set_at_, value_, set_bytes_);
}

bool PristineInput::is_equal_to(const std::byte* other) {
  bool equal = true;
  for_each_piece([&](std::int64_t at, std::size_t bytes, const std::byte* here) {
    const std::int64_t from = set_at_ - at;
    const bool has_set = set_bytes_ > 0 && from >= 0 && from < static_cast<std::int64_t>(bytes);
    const std::size_t first = has_set ? static_cast<std::size_t>(from) : bytes;
    const std::size_t rest = has_set ? first + set_bytes_ : bytes;
    equal = std::memcmp(here, other + at, first) == 0 &&
            std::memcmp(here + rest, other + at + rest, bytes - rest) == 0 &&
            (!has_set || std::memcmp(value_, other + set_at_, set_bytes_) == 0);
    return equal;
  });
  return equal;
}

void PristineInput::read(std::int64_t at, std::size_t bytes, std::byte* to) const {
  const std::int64_t end = at + static_cast<std::int64_t>(bytes);
  for (std::int64_t from = at; from < end;) {
    const std::int64_t piece = from / most_kept_bytes, in_piece = from % most_kept_bytes;
    const std::int64_t count = std::min(end - from, most_kept_bytes - in_piece);
    std::memcpy(to + (from - at), data() + in_piece, static_cast<std::size_t>(count));
    if (const std::uint64_t flips = flips_of(piece); flips != 0)
      for (std::int64_t i = 0; i < count; ++i)
        to[from - at + i] ^= bytes_of(&flips)[(in_piece + i) % 8];
    from += count;
  }
  if (set_bytes_ > 0 && set_at_ >= at && set_at_ < end)
    std::memcpy(to + (set_at_ - at), value_, set_bytes_);
}

void PristineInput::set(std::int64_t at, std::size_t bytes, const std::byte* value) {
  set_at_ = at;
  set_bytes_ = value == nullptr ? 0 : bytes;
  if (value != nullptr) std::memcpy(value_, value, bytes);
}

std::uint64_t PristineInput::flips_of(std::int64_t piece) const {
  return piece == 0 ? 0 : mix(seed_ + static_cast<std::uint64_t>(piece)) & changeable_;
}

template <class Use>
void PristineInput::for_each_piece(Use&& use) {
  std::int64_t piece = 0;
  for (std::int64_t at = 0; at < bytes_; at += most_kept_bytes) {
    const std::int64_t bytes = std::min(most_kept_bytes, bytes_ - at);
    if (!use(at, static_cast<std::size_t>(bytes), data())) break;
    if (at + bytes == bytes_) break;
    flip(flips_of(piece) ^ flips_of(piece + 1));
    ++piece;
  }
  flip(flips_of(piece));
}

void PristineInput::flip(std::uint64_t flips) {
  if (flips == 0) return;
  for (std::uint64_t& word : kept_) word ^= flips;
}

WorkloadMemory::WorkloadMemory(const Workload& w)
    : workload_(w),
      inv_freq_(inv_freq_of(w, false)),
      inv_freq_f32_(inv_freq_of(w, true)),
      asked_(make_problem(w, inv_freq_, ROPE_ANGLES_TABLE, Operation::forward, &nodes_)),
      tokens_(w.batch * w.tokens),
      constants_{harness::slots_of(w), {}} {
  const std::int64_t most = std::max(w.tensors[0].head_dim, w.tensors[1].head_dim);
  weight_room_ = static_cast<std::size_t>((most * element_bytes(w) + 63) / 64 * 64);
  std::uint64_t random = seed_of_name(1, w.name);
  store_constants(constants_, random);
}

void WorkloadMemory::store_constants(Constants& to, std::uint64_t& random) const {
  const auto slots = std::as_bytes(std::span(to.slots));
  to.bytes.resize(slots_at() + slots.size());
  std::ranges::copy(slots, to.bytes.end() - std::ssize(slots));
  const Dtype dtype = workload_.dtype;
  for (std::size_t i = 0; i < slots_at() / static_cast<std::size_t>(data_type(dtype).bytes); ++i)
    harness::store(to.bytes, dtype, static_cast<std::int64_t>(i),
                   0.5 + static_cast<double>(next_random(random) >> 12) * 0x1p-52);
}

rope_operands WorkloadMemory::operands_of(
    bool table, bool unfused,
    const std::function<const void*(Operand role, std::uint32_t tensor)>& address) const {
  harness::ProblemNodes nodes;
  const rope_problem p =
      make_problem(workload_, inv_freq_, table ? ROPE_ANGLES_TABLE : ROPE_ANGLES_INV_FREQ,
                   Operation::forward, &nodes, unfused);
  std::vector<harness::Given> given;
  for (const harness::OperandLayout& o : harness::operands_of(p, nodes))
    given.push_back({o.role, o.tensor, address(o.role, o.tensor)});
  return operands_at(given, nodes, operand_nodes_);
}

void WorkloadMemory::place_positions(void* read, std::uint64_t& random) {
  const Workload& w = workload_;
  first_positions_.resize(static_cast<std::size_t>(positions_held(w)));
  if (w.cold) scatter_all(first_positions_.data(), std::ssize(first_positions_), random);
  for (std::int64_t i = 0; i < tokens_ && !w.cold; ++i) {
    const auto scattered = below(scattered_position_count, random);
    first_positions_[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(w.scattered ? scattered : i % w.tokens);
  }
  // In a picture of rows of eight patches. What is scattered is text, whose axes are equal.
  constexpr std::int64_t width = 8;
  const std::int64_t text = is_picture_alone(w) ? 0 : (w.tokens + 2) / 3;
  for (std::int64_t i = w.axes * tokens_ - 1; i >= 0 && w.axes > 1; --i) {
    const std::int64_t token = i % tokens_;
    const std::int32_t usual = first_positions_[static_cast<std::size_t>(token)];
    const std::int64_t axis = i / tokens_ + (is_picture_alone(w) && w.axes == 2 ? 1 : 0);
    first_positions_[static_cast<std::size_t>(i)] =
        w.scattered ? usual
                    : static_cast<std::int32_t>(harness::picture_position(
                          axis, token % w.tokens, text, width, text, usual));
  }
  moving_ = {
      first_positions_.data(), read, w.axes * tokens_, w.cold, w.position_dtype == Dtype::i64,
      position_window_of(w)};
}

void fill_tables(const Workload& w, const std::vector<double>& inv_freq, std::byte* cos,
                 std::byte* sin) {
  with_floating_type(harness::table_dtype(w), [&]<class Data>(std::type_identity<Data>) {
    fill_table<Data>(cos, sin, max_position_of(w) + 1, inv_freq);
  });
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
    : WorkloadMemory(w), buffers_(w.fused ? 1 : w.tensors.size()) {
  std::uint64_t random = seed_of_name(seed, w.name);
  for (std::size_t i = 0; i < w.tensors.size(); ++i) {
    bytes_[buffer_of(i)] += room_bytes(w, w.tensors[i]);
    if (w.tensors[i].append) caches_[i] = AlignedBytes(cache_bytes(w, w.tensors[i]));
  }
  for (std::size_t i = 0; i < buffers_; ++i) {
    pristine_[i] = PristineInput(bytes_[i], w.dtype, random);
    if (!is_in_place(w)) inputs_[i] = AlignedBytes(bytes_[i]);
    work_[i] = AlignedBytes(bytes_[i]);
  }
  give_inputs();
  const auto mapped = static_cast<std::size_t>(table_bytes(w) / 2) + table_offset;
  for (harness::GuardedMapping* const table : {&cos_, &sin_})
    *table = harness::GuardedMapping(mapped + harness::most_read_past);
  fill_tables(w, inv_freq_, cos_.data() + table_offset, sin_.data() + table_offset);
  for (harness::GuardedMapping* const constant : {&cos_, &sin_}) constant->make_read_only();
  make_constants();
  positions_ = AlignedBytes(position_bytes(w, tokens_));
  place_positions(positions_.data(), random);
  moving_.write();
  cache_spans_ = cache_spans(false);
  changed_cache_spans_ = cache_spans(false, true);
}

// Kernels find them where they can only read.
void WorkloadData::make_constants() {
  others_.slots = constants_.slots;
  if (others_.slots.size() == 1)
    others_.slots[0] =
        (others_.slots[0] + 1) % (harness::pages_of(workload_) * workload_.page_size);
  else if (!others_.slots.empty())
    std::rotate(others_.slots.begin(), others_.slots.begin() + 1, others_.slots.end());
  std::uint64_t random = seed_of_name(2, workload_.name);
  store_constants(others_, random);
  const std::size_t bytes = harness::whole_pages(others_.bytes.size() + 1);
  const Descriptor file(memfd_create("ropewalk constants", MFD_CLOEXEC));
  if (ftruncate(file.number(), static_cast<off_t>(bytes)) != 0)
    throw std::runtime_error("memory for the weights and slots could not be had");
  constants_there_ = harness::GuardedMapping(file.number(), 0, bytes, true);
  weights_and_slots_there_ = harness::GuardedMapping(file.number(), 0, bytes, false);
  give_constants(false);
}

void WorkloadData::take_constants(bool taken) {
  if (taken != has_taken_) std::swap(constants_, others_);
  has_taken_ = taken;
}

bool WorkloadData::positions_are_whole() {
  const bool whole = moving_.are_whole();
  if (!whole) moving_.write();
  return positions_.is_whole() && whole;
}

void WorkloadData::refresh(std::uint64_t seed) {
  for (PristineInput& input : pristine_) input.refresh(seed);
  give_inputs();
}

void WorkloadData::give_inputs() {
  if (is_in_place(workload_)) return;
  for (std::size_t i = 0; i < buffers_; ++i) pristine_[i].copy_to(inputs_[i].data());
  change_.to = nullptr;  // it is undone
  if (weights_and_slots_there_.data() != nullptr) give_constants(false);
}

bool WorkloadData::inputs_are_whole() {
  for (std::size_t i = 0; i < buffers_ && !is_in_place(workload_); ++i)
    if (!pristine_[i].is_equal_to(inputs_[i].data())) {
      std::byte* const changed = change_.to;  // stays changed
      give_inputs();
      change_.to = changed;
      return false;
    }
  return true;
}

std::int64_t WorkloadData::byte_of(const Row& of, std::int64_t element) const {
  const harness::TensorCase& t = workload_.tensors[of.tensor];
  return begin_of(of.tensor) + (row(of.tensor, of.head / t.heads, of.head % t.heads) + element) *
                                   element_bytes(workload_);
}

void WorkloadData::draw_change(std::uint64_t& random) {
  if (change_.to != nullptr && !is_in_place(workload_)) {
    std::memcpy(change_.to, change_.before, change_.bytes);
    give_constants(false);
  }
  const std::size_t tensor = next_random(random) % workload_.tensors.size();
  const harness::TensorCase& t = workload_.tensors[tensor];
  const Row row{tensor, below(tokens_ * t.heads, random)};
  change_.tensor = row.tensor;
  change_.token = row.head / t.heads;
  change_.head = row.head % t.heads;
  change_.element = is_in_place(workload_) ? t.rotary_offset + below(workload_.rotary_dim, random)
                                           : below(t.head_dim, random);
  change_.bytes = static_cast<std::size_t>(element_bytes(workload_));
  const std::int64_t at = byte_of(row, change_.element);
  const std::size_t buffer = buffer_of(row.tensor);
  change_.to = at + (is_in_place(workload_) ? work_ : inputs_)[buffer].data();
  change_.from = work_[buffer].data() + byte_of(row, 0);
  witness_.resize(static_cast<std::size_t>(t.head_dim) * change_.bytes);
  pristine_[buffer].read(at, change_.bytes, change_.before);
  const double before = harness::load(change_.before, workload_.dtype, 0);
  with_floating_type(workload_.dtype, [&]<class Data>(std::type_identity<Data>) {
    Data value{};
    do {
      const double size = 1.5 + static_cast<double>(next_random(random) >> 12) * 0x1p-53;
      value = Data{static_cast<TableOf<Data>>(next_random(random) % 2 == 0 ? size : -size)};
    } while (std::abs(double{value}) == std::abs(before) || std::abs(double{value}) >= 2);
    std::memcpy(change_.value, &value, sizeof value);
  });
}

void WorkloadData::take_change(bool taken) {
  const Row row{change_.tensor,
                change_.token * workload_.tensors[change_.tensor].heads + change_.head};
  pristine_[buffer_of(row.tensor)].set(byte_of(row, change_.element), change_.bytes,
                                       taken ? change_.value : nullptr);
  if (!is_in_place(workload_)) take_constants(taken);
}

const std::byte* WorkloadData::given(std::size_t tensor, std::int64_t token,
                                     std::int64_t head) const {
  const std::int64_t at = begin_of(tensor) + row(tensor, token, head) * element_bytes(workload_);
  given_.resize(
      static_cast<std::size_t>(workload_.tensors[tensor].head_dim * element_bytes(workload_)));
  pristine_[buffer_of(tensor)].read(at, given_.size(), given_.data());
  return given_.data();
}

void WorkloadData::refill() {
  for (std::size_t i = 0; i < buffers_; ++i) {
    const auto bytes = static_cast<std::size_t>(bytes_[i]);
    if (is_in_place(workload_))
      pristine_[i].copy_to(work_[i].data());
    else  // all bits are one: a NaN of every type
      std::memset(work_[i].data(), 0xff, bytes);
  }
  for (const auto* const spans : {&cache_spans_, &changed_cache_spans_})
    for (const CeilingSpan& s : *spans)
      std::memset(s.out, 0xff, static_cast<std::size_t>(s.row_bytes));
}

std::size_t WorkloadData::outputs_fingerprint(std::uint64_t random) const {
  constexpr std::int64_t piece = 64 << 10, pieces = 32;
  std::size_t sum = 0;
  const auto add = [&](std::size_t buffer, std::int64_t at, std::int64_t bytes) {
    const auto* const from = reinterpret_cast<const char*>(work_[buffer].data() + at);
    sum = 31 * sum + std::hash<std::string_view>()({from, static_cast<std::size_t>(bytes)});
  };
  for (std::size_t i = 0; i < buffers_; ++i) {
    if (bytes_[i] <= 2 * pieces * piece) {
      add(i, 0, bytes_[i]);
      continue;
    }
    add(i, bytes_[i] - piece, piece);  // what is written last, as a rule
    add(i, 0, piece);
    for (std::int64_t k = 0; k < pieces; ++k) add(i, below(bytes_[i] - piece, random), piece);
  }
  if (cache_spans_.empty()) return sum;
  const CeilingSpan& last = cache_spans_.back();
  return 31 * sum + std::hash<std::string_view>()({static_cast<const char*>(last.out),
                                                   static_cast<std::size_t>(last.row_bytes)});
}

rope_operands WorkloadData::operands(bool table, bool unfused) const {
  return operands_of(table, unfused, [&](Operand role, std::uint32_t i) -> const void* {
    const std::byte* const out = work_[buffer_of(i)].data() + begin_of(i);
    const bool in_place = is_in_place(workload_) || (unfused && workload_.tensors[i].norm);
    if (role == Operand::in) return in_place ? out : input(i);
    if (role == Operand::out) return out;
    if (role == Operand::cache) return caches_[i].data();
    if (role == Operand::positions) return positions_.data();
    if (role == Operand::cos) return cos();
    if (role == Operand::sin) return sin();
    return constant_at(weights_and_slots_there_.data(), role, i);
  });
}

std::vector<CeilingSpan> WorkloadData::spans() const {
  std::vector<CeilingSpan> out = cache_spans_;
  for (std::size_t i = 0; i < workload_.tensors.size(); ++i)
    if (!workload_.tensors[i].append) add_spans(i, out);
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
    std::vector<CeilingSpan> rows;
    if (t.norm) add_spans(i, rows);
    for (const CeilingSpan& span : rows)
      out.push_back({span, workload_.dtype, t.head_dim,
                     weights_and_slots_there_.data() + weight_at(i), workload_.epsilon});
  }
  return out;
}

std::vector<CeilingSpan> WorkloadData::cache_spans(bool unfused, bool changed) {
  std::vector<CeilingSpan> out;
  take_constants(changed);
  const std::int64_t bytes = element_bytes(workload_);
  for (std::size_t i = 0; i < workload_.tensors.size(); ++i) {
    const harness::TensorCase& t = workload_.tensors[i];
    const std::byte* const from =
        unfused && t.rotate ? work_[buffer_of(i)].data() + begin_of(i) : input(i);
    for (std::int64_t head = 0; head < tokens_ * t.heads && t.append; ++head) {
      const std::byte* const in = from + row(i, head / t.heads, head % t.heads) * bytes;
      std::byte* const to = caches_[i].data() + left_row(i, head / t.heads, head % t.heads) * bytes;
      CeilingSpan* const last = head > 0 ? &out.back() : nullptr;
      if (last != nullptr && static_cast<const std::byte*>(last->in) + last->row_bytes == in &&
          static_cast<std::byte*>(last->out) + last->row_bytes == to)
        last->stride = last->row_bytes += t.head_dim * bytes;
      else
        out.push_back({in, to, 1, t.head_dim * bytes, t.head_dim * bytes, 0});
    }
  }
  take_constants(false);
  return out;
}

// As few spans as there can be: one if all rows are equally far apart, else one for each token.
void WorkloadData::add_spans(std::size_t tensor, std::vector<CeilingSpan>& out) const {
  const Workload& w = workload_;
  const harness::TensorCase& t = w.tensors[tensor];
  const rope_tensor& p = asked_.tensor[tensor];
  const std::int64_t skipped = is_in_place(w) ? t.rotary_offset : 0;
  const std::int64_t elements = is_in_place(w) ? w.rotary_dim : t.head_dim;
  std::byte* const to = work_[buffer_of(tensor)].data() + begin_of(tensor);
  const std::byte* const in = is_in_place(w) ? to : input(tensor);
  const auto add = [&](std::int64_t from, std::int64_t rows, std::int64_t row_elements,
                       std::int64_t stride) {
    const std::int64_t bytes = element_bytes(w), at = (from + skipped) * bytes;
    const bool touch = row_elements == stride;  // then they are one long row
    out.push_back({in + at, to + at, touch ? 1 : rows, (touch ? rows : 1) * row_elements * bytes,
                   stride * bytes, is_in_place(w) ? sign_flips(w.dtype) : 0});
  };
  const std::int64_t tokens = w.batch * w.tokens;
  if (w.layout == WorkloadLayout::packed || w.layout == WorkloadLayout::head_major)
    return add(0, tokens * t.heads, elements, t.head_dim);
  if (w.fused && elements == t.head_dim)
    return add(0, tokens, t.heads * t.head_dim, p.in_token_stride);
  for (std::int64_t b = 0; b < w.batch; ++b)
    for (std::int64_t token = 0; token < w.tokens; ++token)
      add(b * p.in_batch_stride + token * p.in_token_stride, t.heads, elements, p.in_head_stride);
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
