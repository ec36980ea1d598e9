#include "harness/judge/chunk_runner.h"

#include <algorithm>
#include <cstring>

#include "harness/cases/poison.h"
#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {
namespace {

using namespace protocol;

constexpr std::int64_t bytes_of_float = 4;

std::size_t row_of(std::int64_t position) {
  return static_cast<std::size_t>(position & (ChunkRunner::vectors - 1));
}

}  // namespace

ChunkRunner::ChunkRunner(Subject& subject, const ChunkPlan& plan) : subject_(subject), plan_(plan) {
  // The frequencies are made once. Each case of a chunk gets them as its own.
  inv_freq_ = frequencies_of(case_of(0, 1));
  const auto row_bytes = static_cast<std::size_t>(row_elements() * bytes_of_float);
  rows_.resize(static_cast<std::size_t>(vectors * row_elements()));
  for (std::int64_t at = 0; at < vectors; ++at) {
    Case c = case_of(at, 1);
    c.inv_freq = inv_freq_;
    const Problem problem = make_problem(c, subject_.oracle);
    std::memcpy(rows_.data() + at * row_elements(),
                problem.buffers[static_cast<std::size_t>(problem.tensor[0].in)].content.data(),
                row_bytes);
  }
}

Case ChunkRunner::case_of(std::int64_t first, std::int64_t count) const {
  Case c;
  c.kernel = subject_.facts.name;
  c.plugin = subject_.facts.plugin;
  c.property = "agreement";
  c.contract = subject_.facts.angle_contract;
  c.pairing = plan_.pairing;
  c.rotary_dim = plan_.rotary_dim;
  c.rope_theta = plan_.rope_theta;
  c.tokens = count;
  c.position_from = first;
  c.data = DataPattern::basis;
  c.seed = plan_.seed + row_of(first);
  c.tensors[0].heads = heads;
  c.tensors[0].head_dim = plan_.rotary_dim;
  return c;
}

const float* ChunkRunner::inputs_of(std::int64_t position) const {
  return rows_.data() + static_cast<std::int64_t>(row_of(position)) * row_elements();
}

// A buffer ends at a forbidden page if it is then aligned to 64 bytes.
void ChunkRunner::lay_out(std::int64_t first, std::int64_t count) {
  Case c = case_of(first, count);
  c.inv_freq = inv_freq_;
  const Problem problem = make_problem(c, subject_.oracle);
  call_ = {};
  call_.struct_size = sizeof call_;
  call_.version = version;
  call_.workspace_at_end = 1;
  call_.problem = problem.asked;
  call_.problem.inv_freq = nullptr;
  // All calls get the same bounds on positions, however the positions are divided.
  call_.problem.min_position = plan_.first;
  call_.problem.max_position = plan_.last;
  std::uint64_t next = 0;
  const auto place = [&](std::int64_t bytes, bool writable) {
    const auto used = static_cast<std::size_t>(bytes);
    const std::uint64_t pages = whole_pages(used);
    const std::uint64_t lead = writable || used > page_bytes() ? (pages - used) / 64 * 64 : 0;
    const Region region{buffers_offset + next, pages, lead, writable ? 1u : 0u, 0};
    next += pages;
    return region;
  };
  const std::int64_t tensor_bytes = count * row_elements() * bytes_of_float;
  call_.inv_freq = place(plan_.rotary_dim / 2 * 8, false);
  call_.inv_freq.at = 0;
  call_.positions = place(count * bytes_of_float, false);
  call_.tensor[0].in = place(tensor_bytes, false);
  call_.tensor[0].out = place(tensor_bytes, true);
  std::byte* memory = subject_.worker.reserve_buffers(next) - buffers_offset;
  starts_ = subject_.worker.starts();
  const auto address = [&](const Region& region) {
    return memory + region.file_offset + region.at;
  };
  std::memcpy(address(call_.inv_freq), inv_freq_.data(), inv_freq_.size() * sizeof(double));
  positions_ = reinterpret_cast<std::int32_t*>(address(call_.positions));
  in_ = reinterpret_cast<float*>(address(call_.tensor[0].in));
  out_ = reinterpret_cast<float*>(address(call_.tensor[0].out));
  regions_.assign(region_count, {"nothing"});
  regions_[0] = {"inv_freq"};
  regions_[1] = {"positions", call_.positions.at,
                 static_cast<std::uint64_t>(count * bytes_of_float)};
  regions_[2] = {"q.in", call_.tensor[0].in.at, static_cast<std::uint64_t>(tensor_bytes)};
  regions_[3] = {"q.out", call_.tensor[0].out.at, static_cast<std::uint64_t>(tensor_bytes)};
  regions_[workspace_region] = {"workspace"};
  count_ = count;
  inputs_from_ = -1;
  judged_ = 0;
}

void ChunkRunner::write_inputs(std::int64_t first, std::int64_t count) {
  for (std::int64_t t = 0; t < count; ++t) positions_[t] = static_cast<std::int32_t>(first + t);
  const auto from = static_cast<std::int64_t>(row_of(first));
  if (from == inputs_from_) return;
  for (std::int64_t t = 0; t < count; ++t)
    std::memcpy(in_ + t * row_elements(), inputs_of(first + t),
                static_cast<std::size_t>(row_elements() * bytes_of_float));
  inputs_from_ = from;
}

void ChunkRunner::judged(std::int64_t token) {
  fill_poison(reinterpret_cast<std::byte*>(out_ + token * row_elements()),
              static_cast<std::size_t>(row_elements() * bytes_of_float), Dtype::f32, Poison::a);
  judged_ = token + 1;
}

CallResult ChunkRunner::ask_supports() {
  subject_.worker.kernels();
  lay_out(plan_.first, std::min(tokens_most, plan_.last - plan_.first + 1));
  prepared_ = false;
  return subject_.worker.call(subject_.facts.index, call_, step_supports, regions_);
}

CallResult ChunkRunner::run(std::int64_t first, std::int64_t count) {
  subject_.worker.kernels();
  if (subject_.worker.starts() != starts_) {  // the buffers ended with the worker
    prepared_ = false;
    count_ = 0;
  }
  if (count != count_) {
    if (prepared_) subject_.worker.call(subject_.facts.index, call_, step_release, regions_);
    prepared_ = false;
    lay_out(first, count);
  }
  for (std::int64_t t = judged_; t < count; ++t) judged(t);
  judged_ = 0;
  write_inputs(first, count);
  const std::uint32_t begin = prepared_ ? 0 : step_supports | step_prepare;
  const CallResult result = subject_.worker.call(subject_.facts.index, call_,
                                                 begin | step_apply | step_keep_mapped, regions_);
  prepared_ = result.kind == CallResult::Kind::ok;
  return result;
}

}  // namespace ropewalk::harness
