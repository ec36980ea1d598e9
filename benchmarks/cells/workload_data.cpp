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

constexpr int tail_value = 0xa5;

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

WorkloadMemory::WorkloadMemory(const Workload& w)
    : workload_(w),
      inv_freq_(inv_freq_of(w, false)),
      inv_freq_f32_(inv_freq_of(w, true)),
      tokens_(w.batch * w.tokens) {
  lay_out(call_, false);
  if (is_fusing(w)) lay_out(alone_, true);
  make_constants();
}

void WorkloadMemory::lay_out(harness::Problem& p, bool unfused) {
  p.source = timed_case(workload_, true, workload_.operation, unfused);
  p.asked = make_problem(workload_, inv_freq_, ROPE_ANGLES_TABLE, workload_.operation, &p, unfused);
  std::vector<harness::BufferLayout> own = harness::place_operands(p);
  std::vector<int> among;
  for (harness::BufferLayout& b : own) {
    if (const std::size_t both = b.name.find("in_out"); both != std::string::npos)
      b.name.erase(both, 3);
    auto at = std::ranges::find(buffers_, b.name, &harness::BufferLayout::name);
    if (at == buffers_.end()) at = buffers_.insert(at, b);
    at->elements = std::max(at->elements, b.elements);
    among.push_back(static_cast<int>(at - buffers_.begin()));
  }
  for (auto& of_role : p.places)
    for (harness::Place& place : of_role)
      if (place.buffer >= 0) place.buffer = among[static_cast<std::size_t>(place.buffer)];
}

// Behind a change the tokens of a batch have each other's slots, or one token another.
void WorkloadMemory::make_constants() {
  std::vector<std::int64_t>& others = call_.other_slots;
  others = call_.slots = harness::slots_of(workload_);
  if (others.size() == 1)
    others[0] = (others[0] + 1) % (harness::pages_of(workload_) * workload_.page_size);
  else if (!others.empty())
    std::rotate(others.begin(), others.begin() + 1, others.end());
  constexpr std::size_t line = 64;
  std::uint64_t random = seed_of_name(1, workload_.name);
  for (const harness::BufferLayout& b : buffers_) {
    constants_at_.push_back(constants_[0].size());
    if (!is_constant(b)) continue;
    for (const int side : {0, 1}) {
      std::vector<std::byte> own(static_cast<std::size_t>(bytes_of(b)));
      if (b.role == Operand::slot)
        harness::fill_slots(side == 0 ? call_.slots : others, b.dtype, own);
      for (std::int64_t i = 0; i < b.elements && b.role == Operand::weight; ++i)
        harness::store(own, b.dtype, i,
                       0.5 + static_cast<double>(next_random(random) >> 12) * 0x1p-52);
      own.resize((own.size() + line - 1) / line * line);
      constants_[side].insert(constants_[side].end(), own.begin(), own.end());
    }
  }
}

harness::GivenHead WorkloadMemory::given_head(std::uint32_t tensor, const std::byte* in) const {
  const int weight = call_.buffer(Operand::weight, tensor);
  const std::byte* const constants = constants_[placement_].data();
  return {call_.asked, call_.norm, tensor, in,
          weight < 0 ? nullptr : constants + constants_at_[static_cast<std::size_t>(weight)]};
}

rope_operands WorkloadMemory::operands_of(
    const harness::Problem& p, bool table,
    const std::function<const std::byte*(std::size_t buffer)>& begin) const {
  std::vector<harness::Given> given;
  for (const harness::OperandLayout& o : harness::operands_of(p.asked, p)) {
    const harness::Place& place = p.place(o.role, o.tensor);
    if (place.buffer < 0 || (!table && (o.role == Operand::cos || o.role == Operand::sin)))
      continue;
    given.push_back({o.role, o.tensor,
                     begin(static_cast<std::size_t>(place.buffer)) + place.at * o.element_bytes});
  }
  return operands_at(given, p, operand_nodes_);
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
    auto* to_cos = reinterpret_cast<Data*>(cos);
    auto* to_sin = reinterpret_cast<Data*>(sin);
    for (std::int64_t position = 0; position <= max_position_of(w); ++position)
      for (const double frequency : inv_freq) {
        const double angle_rad = static_cast<double>(position) * frequency;
        *to_cos++ = Data{static_cast<TableOf<Data>>(std::cos(angle_rad))};
        *to_sin++ = Data{static_cast<TableOf<Data>>(std::sin(angle_rad))};
      }
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
  const std::int64_t token = below(tokens_, random);
  changes_.clear();
  stores_.clear();
  for (std::size_t i = 0; i < workload_.tensors.size(); ++i) {
    const harness::TensorCase& t = workload_.tensors[i];
    if (in_place && i != drawn) continue;
    Changed c{place(i, token, below(t.heads, random)), below(t.head_dim, random)};
    if (in_place) c.element = t.rotary_offset + c.element % workload_.rotary_dim;
    Store s{};
    s.head = in_at(c);
    s.to = s.head + c.element * element_bytes(workload_);
    held_[in_buffer(i)].given->read(s.to - begins_[in_buffer(i)], element_size_, s.before);
    const double before = harness::load(s.before, workload_.dtype, 0);
    with_floating_type(workload_.dtype, [&]<class Data>(std::type_identity<Data>) {
      Data value{};
      do {
        const double size = 1.5 + static_cast<double>(next_random(random) >> 12) * 0x1p-53;
        value = Data{static_cast<TableOf<Data>>(next_random(random) % 2 == 0 ? size : -size)};
      } while (std::abs(double{value}) == std::abs(before) || std::abs(double{value}) >= 2);
      std::memcpy(s.value, &value, sizeof value);
    });
    if (in_place) witness_.resize(static_cast<std::size_t>(t.head_dim) * element_size_);
    changes_.push_back(c);
    stores_.push_back(s);
  }
}

void WorkloadData::take_change(bool taken) {
  is_change_taken_ = taken;
  placement_ = taken && !is_in_place(workload_) ? 1 : 0;
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
    for (std::int64_t k = 0; k < pieces; ++k) add(below(bytes - piece, random), piece);
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

// In place of windows alone. Heads of a token that touch are one row, and so are rows that do; rows
// of one length that are equally far apart are one span.
void WorkloadData::add_spans(std::size_t tensor, const RowAt& from, const RowAt& to,
                             std::vector<CeilingSpan>& out) const {
  const harness::TensorCase& t = workload_.tensors[tensor];
  const bool in_place = is_in_place(workload_);
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
  for (std::int64_t token = 0; token < tokens_; ++token)
    for (std::int64_t head = 0; head < t.heads;) {
      const std::byte* const in = from(place(tensor, token, head));
      std::byte* const out_row = to(place(tensor, token, head));
      std::int64_t row_bytes = bytes;
      while (++head < t.heads && from(place(tensor, token, head)) == in + row_bytes &&
             to(place(tensor, token, head)) == out_row + row_bytes)
        row_bytes += bytes;
      add(in + skipped, out_row + skipped, row_bytes);
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
