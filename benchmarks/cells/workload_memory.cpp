#include "benchmarks/cells/workload_memory.h"

#include <algorithm>
#include <cmath>

#include "base/fingerprint.h"
#include "base/random.h"
#include "benchmarks/workloads/traffic.h"
#include "harness/cases/axes.h"
#include "harness/cases/fused.h"
#include "harness/cases/stored.h"

namespace ropewalk::bench {
using harness::Operand;
namespace {

/// Every position once in a random order, and then the first of them again.
void scatter_all(std::int32_t* positions, std::int64_t held, std::uint64_t& random) {
  for (std::int64_t i = 0; i < cold_position_count; ++i) {
    const std::int64_t j = random_below(i + 1, random);
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
  for (std::vector<std::byte>& bytes : constants_) bytes.resize(line);  // never empty
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
    const auto scattered = random_below(scattered_position_count, random);
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

}  // namespace ropewalk::bench
