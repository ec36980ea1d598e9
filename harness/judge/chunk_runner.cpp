#include "harness/judge/chunk_runner.h"

#include <cstring>

#include "harness/cases/poison.h"
#include "harness/cases/stored.h"
#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {
namespace {

using namespace protocol;

constexpr std::uint64_t cache_line = 64;

std::size_t row_of(std::int64_t position) {
  return static_cast<std::size_t>(position & (ChunkRunner::vectors - 1));
}

// The largest multiple of 64 from which `used` bytes fit before the end of the region's pages.
std::uint64_t lead_at_end(const Region& region, std::uint64_t used) {
  return (region.mapped_bytes - used) / cache_line * cache_line;
}

// Fills `to` with as many 16-bit elements as floats, which is exact. Each value is looked up: the
// conversion of f16 by integers takes some fifteen operations.
void widen(Dtype dtype, const std::byte* from, std::vector<float>& to) {
  constexpr auto all = [](Dtype type) {
    std::vector<float> values(std::size_t{1} << 16);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      values[i] = static_cast<float>(load(reinterpret_cast<const std::byte*>(&bits), type, 0));
    }
    return values;
  };
  static const std::vector<float> f16 = all(Dtype::f16), bf16 = all(Dtype::bf16);
  const std::vector<float>& values = dtype == Dtype::f16 ? f16 : bf16;
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = values[load_as<std::uint16_t>(from, static_cast<std::int64_t>(i))];
}

}  // namespace

ChunkRunner::ChunkRunner(Subject& subject, const ChunkPlan& plan) : subject_(subject), plan_(plan) {
  // The frequencies are made once. Each case of a chunk gets them as its own.
  inv_freq_ = frequencies_of(case_of(0, 1));
  rows_.resize(static_cast<std::size_t>(vectors) * row_bytes());
  poison_.resize(row_bytes());
  fill_poison(poison_.data(), row_bytes(), plan_.dtype, Poison::a);
  for (std::int64_t at = 0; at < vectors; ++at) {
    Case c = case_of(at, 1);
    c.inv_freq = inv_freq_;
    const Problem problem = make_problem(c, subject_.oracle);
    std::memcpy(rows_.data() + static_cast<std::uint64_t>(at) * row_bytes(),
                problem.buffers[static_cast<std::size_t>(problem.tensor[0].in)].content.data(),
                row_bytes());
  }
  if (plan_.dtype == Dtype::f32) return;
  wide_rows_.resize(static_cast<std::size_t>(vectors * row_elements()));
  wide_outputs_.resize(static_cast<std::size_t>(row_elements()));
  widen(plan_.dtype, rows_.data(), wide_rows_);
}

const float* ChunkRunner::outputs(std::int64_t token) {
  const std::byte* const row = out_ + static_cast<std::uint64_t>(token) * row_bytes();
  if (plan_.dtype == Dtype::f32) return reinterpret_cast<const float*>(row);
  widen(plan_.dtype, row, wide_outputs_);
  return wide_outputs_.data();
}

Case ChunkRunner::case_of(std::int64_t first, std::int64_t count, const ChunkForm& form) const {
  Case c;
  c.kernel = subject_.facts.name;
  c.plugin = subject_.facts.plugin;
  c.property = "agreement";
  c.contract = subject_.facts.angle_contract;
  c.operation = form.operation;
  c.position_dtype = form.position_dtype;
  c.pairing = plan_.pairing;
  c.rotary_dim = plan_.rotary_dim;
  c.rope_theta = plan_.rope_theta;
  c.tokens = count;
  c.position_from = first;
  c.data = DataPattern::basis;
  c.seed = plan_.seed + row_of(first);
  c.dtype = plan_.dtype;
  c.tensors[0].heads = heads;
  c.tensors[0].head_dim = plan_.rotary_dim;
  return c;
}

const float* ChunkRunner::inputs_of(std::int64_t position) const {
  const auto* const rows =
      plan_.dtype == Dtype::f32 ? reinterpret_cast<const float*>(rows_.data()) : wide_rows_.data();
  return rows + static_cast<std::int64_t>(row_of(position)) * row_elements();
}

// The buffers have room for the longest call. Each call lies as near to the end of their pages, and
// so to a forbidden page, as 64-byte alignment lets it, but for its inputs.
void ChunkRunner::lay_out() {
  call_ = {};
  described_.reset();
  call_.workspace_at_end = 1;
  const auto longest = static_cast<std::uint64_t>(plan_.longest_call());
  std::uint64_t next = 0;
  const auto place = [&](std::uint64_t bytes, bool writable) {
    const Region region{buffers_offset + next, whole_pages(bytes), 0, writable ? 1u : 0u, 0};
    next += region.mapped_bytes;
    return region;
  };
  call_.inv_freq = place(inv_freq_.size() * sizeof(double), false);
  call_.positions = place(longest * sizeof(std::int64_t), false);
  call_.tensor[0].in = place(static_cast<std::uint64_t>(input_rows()) * row_bytes(), false);
  call_.tensor[0].out = place(longest * row_bytes(), true);
  memory_ = subject_.worker.reserve_buffers(next) - buffers_offset;
  starts_ = subject_.worker.starts();
  std::memcpy(memory_ + call_.inv_freq.file_offset, inv_freq_.data(),
              inv_freq_.size() * sizeof(double));
  write_inputs(0);
  regions_.assign(region_count, {"nothing"});
  regions_[0] = {"inv_freq"};
  regions_[workspace_region] = {"workspace"};
  clean_ = prepared_ = false;
}

void ChunkRunner::write_inputs(std::int64_t vector) {
  std::byte* const to = memory_ + call_.tensor[0].in.file_offset;
  for (std::int64_t row = 0; row < input_rows(); ++row)
    std::memcpy(to + static_cast<std::uint64_t>(row) * row_bytes(),
                rows_.data() + row_of(vector + row) * row_bytes(), row_bytes());
  in_from_ = vector;
}

// The buffer's rows hold the vectors in turn. A call takes those from its first position's vector
// on, and so needs no copy, unless the kernel needs alignment that this row lacks.
void ChunkRunner::choose_inputs(std::int64_t first, std::uint64_t tensor_bytes) {
  Region& in = call_.tensor[0].in;
  in.at = row_of(first - in_from_) * row_bytes();
  if ((subject_.facts.flags & ROPE_NEEDS_ALIGN_64) != 0 && in.at % cache_line != 0) {
    write_inputs(static_cast<std::int64_t>(row_of(first)));
    in.at = 0;
  }
  regions_[2] = {"q.in", in.at, tensor_bytes};
}

void ChunkRunner::write_positions(std::int64_t first, std::int64_t count, const ChunkForm& form) {
  const auto used = static_cast<std::uint64_t>(count * data_type(form.position_dtype).bytes);
  call_.positions.at = lead_at_end(call_.positions, used);
  regions_[1] = {"positions", call_.positions.at, used};
  std::byte* const to = memory_ + call_.positions.file_offset + call_.positions.at;
  if (form.position_dtype == Dtype::i64) {
    for (std::int64_t t = 0; t < count; ++t) reinterpret_cast<std::int64_t*>(to)[t] = first + t;
  } else {
    for (std::int64_t t = 0; t < count; ++t)
      reinterpret_cast<std::int32_t*>(to)[t] = static_cast<std::int32_t>(first + t);
  }
}

// Only what depends on the count differs between two calls of one form.
void ChunkRunner::describe(std::int64_t count, const ChunkForm& form) {
  if (!(form == described_)) {
    Case c = case_of(0, 2, form);
    c.inv_freq = inv_freq_;
    call_.problem = make_question(c).asked;
    call_.problem.inv_freq = nullptr;
    // All calls get the same bounds on positions, however the positions are divided.
    call_.problem.min_position = plan_.first;
    call_.problem.max_position = plan_.last;
    described_ = form;
  }
  call_.problem.tokens = call_.problem.position_batch_stride = count;
  rope_tensor& q = call_.problem.tensor[0];
  q.in_batch_stride = q.out_batch_stride = count * row_elements();
}

void ChunkRunner::judged(std::int64_t token) {
  std::memcpy(out_ + static_cast<std::uint64_t>(token) * row_bytes(), poison_.data(), row_bytes());
  clean_ = token + 1 == count_;
}

// The buffers end with their worker, and so does the state. What a release breaks is for other
// checks, but it may end the worker.
void ChunkRunner::make_ready(bool with_this_state) {
  subject_.worker.kernels();
  if (prepared_ && !with_this_state && subject_.worker.starts() == starts_) {
    subject_.worker.call(subject_.facts.index, call_, step_release | step_keep_mapped, regions_);
    prepared_ = false;
    subject_.worker.kernels();
  }
  if (memory_ == nullptr || subject_.worker.starts() != starts_) lay_out();
}

CallResult ChunkRunner::ask_supports(std::int64_t count, const ChunkForm& form) {
  make_ready(false);
  describe(count, form);
  return subject_.worker.call(subject_.facts.index, call_, step_supports, regions_);
}

CallResult ChunkRunner::run(std::int64_t first, std::int64_t count, const ChunkForm& form) {
  make_ready(count == count_ && form == described_);
  describe(count, form);
  const std::uint64_t tensor_bytes = static_cast<std::uint64_t>(count) * row_bytes();
  choose_inputs(first, tensor_bytes);
  write_positions(first, count, form);
  Region& out = call_.tensor[0].out;
  out.at = lead_at_end(out, tensor_bytes);
  regions_[3] = {"q.out", out.at, tensor_bytes};
  std::byte* const outputs = memory_ + out.file_offset;
  if (!clean_) fill_poison(outputs, out.mapped_bytes, plan_.dtype, Poison::a);
  clean_ = false;
  out_ = outputs + out.at;
  count_ = count;
  const std::uint32_t begin = prepared_ ? 0 : step_supports | step_prepare;
  const CallResult result = subject_.worker.call(subject_.facts.index, call_,
                                                 begin | step_apply | step_keep_mapped, regions_);
  prepared_ = result.kind == CallResult::Kind::ok;
  return result;
}

}  // namespace ropewalk::harness
