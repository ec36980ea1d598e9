#include "harness/executor.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "harness/guarded_mapping.h"
#include "harness/names.h"
#include "harness/poison.h"

namespace ropewalk {
namespace {

using namespace protocol;

// Where a buffer lies in the shared memory: `lead` bytes behind the first of its pages.
struct Placed {
  std::uint64_t offset = 0, pages_bytes = 0, lead = 0;
};

// At the right the buffer ends with its last page, so that one element more is a fault; a kernel
// that asked for 64-byte alignment gets that instead, with poison in the gap.
std::vector<Placed> place_buffers(const Problem& problem, bool right, bool align_64) {
  std::vector<Placed> places;
  std::uint64_t next = 0;
  for (const Buffer& b : problem.buffers) {
    Placed p;
    p.offset = next;
    p.pages_bytes = whole_pages(b.content.size());
    const std::uint64_t alignment = align_64 ? 64 : static_cast<std::uint64_t>(b.element_bytes);
    if (right) p.lead = (p.pages_bytes - b.content.size()) / alignment * alignment;
    next += p.pages_bytes;
    places.push_back(p);
  }
  return places;
}

void write_buffer(const Buffer& b, const std::vector<std::byte>& content, const Placed& at,
                  std::byte* memory, Poison poison) {
  std::byte* pages = memory + at.offset;
  const Poison around = b.writable ? poison : Poison::read_only;
  fill_poison(pages, at.lead, b.element_bytes, around);
  std::byte* data = pages + at.lead;
  std::memcpy(data, content.data(), content.size());
  const std::size_t after = at.lead + content.size();
  fill_poison(pages + after, at.pages_bytes - after, b.element_bytes, around);
  if (!b.writable || poison == Poison::a) return;  // content was made with poison a
  if (!b.holds_input) return fill_poison(data, b.content.size(), b.element_bytes, poison);
  const auto size = static_cast<std::size_t>(b.element_bytes);
  for (std::size_t i = 0; i < b.owned.size(); ++i)
    if (b.owned[i] == 0) fill_poison(data + i * size, size, b.element_bytes, poison);
}

// Everything around the owned elements must still be poison.
std::string find_stray_write(const Buffer& b, const Placed& at, const std::byte* memory,
                             Poison poison) {
  const auto size = static_cast<std::size_t>(b.element_bytes);
  const std::byte* pages = memory + at.offset;
  const std::size_t end = at.lead + b.content.size();
  for (std::size_t i = at.lead % size; i + size <= at.pages_bytes; i += size) {
    const bool inside = i >= at.lead && i < end;
    if (inside && b.owned[(i - at.lead) / size] != 0) continue;
    if (is_poison(pages + i, b.element_bytes, poison)) continue;
    const auto element =
        (static_cast<std::int64_t>(i) - static_cast<std::int64_t>(at.lead)) / b.element_bytes;
    return fmt::format("wrote outside its rows: {}, element {} (of {}), byte offset {}", b.name,
                       element, b.content.size() / size, element * b.element_bytes);
  }
  return {};
}

void find_unwritten(const Buffer& b, const std::vector<std::byte>& bytes, Poison poison,
                    Execution& out) {
  if (b.holds_input) return;
  for (std::size_t i = 0; i < b.owned.size(); ++i) {
    if (b.owned[i] == 0) continue;
    if (!is_poison(bytes.data() + i * static_cast<std::size_t>(b.element_bytes), b.element_bytes,
                   poison))
      continue;
    if (out.unwritten.empty()) out.unwritten = fmt::format("{}, element {}", b.name, i);
    ++out.unwritten_elements;
  }
}

Region region_of(const Problem& problem, const std::vector<Placed>& places, int buffer,
                 std::int64_t element) {
  if (buffer < 0) return {};
  const Placed& at = places[static_cast<std::size_t>(buffer)];
  const Buffer& b = problem.buffers[static_cast<std::size_t>(buffer)];
  return {buffers_offset + at.offset, at.pages_bytes,
          at.lead + static_cast<std::uint64_t>(element * b.element_bytes), b.writable ? 1u : 0u, 0};
}

// The frequencies travel as a region behind the buffers; the worker takes a copy.
CallDescriptor describe(const Problem& problem, const std::vector<Placed>& places, bool right,
                        std::uint64_t frequencies_at) {
  CallDescriptor call{};
  call.struct_size = sizeof call;
  call.version = version;
  call.workspace_at_end = right ? 1 : 0;
  call.problem = problem.asked;
  call.problem.inv_freq = nullptr;
  call.inv_freq = {buffers_offset + frequencies_at,
                   whole_pages(problem.inv_freq.size() * sizeof(double)), 0, 0, 0};
  call.positions = region_of(problem, places, problem.positions_buffer, 0);
  for (std::uint32_t i = 0; i < problem.asked.tensor_count; ++i) {
    const TensorPlaces& t = problem.tensor[i];
    const bool rotated = problem.asked.tensor[i].rotate != 0;
    call.tensor[i].in = region_of(problem, places, t.in, t.in_at);
    call.tensor[i].out = region_of(problem, places, t.out, t.out_at);
    call.tensor[i].cos = region_of(problem, places, rotated ? t.cos : -1, 0);
    call.tensor[i].sin = region_of(problem, places, rotated ? t.sin : -1, 0);
  }
  return call;
}

std::vector<std::string> region_names(const Problem& problem) {
  const auto name = [&](int buffer) {
    return buffer < 0 ? std::string("nothing")
                      : problem.buffers[static_cast<std::size_t>(buffer)].name;
  };
  std::vector<std::string> names{"inv_freq", name(problem.positions_buffer)};
  for (const TensorPlaces& t : problem.tensor)
    for (const int buffer : {t.in, t.out, t.cos, t.sin}) names.push_back(name(buffer));
  names.emplace_back("workspace");
  return names;
}

struct Room {
  std::byte* memory;
  std::vector<Placed> places;
  CallDescriptor call;
};

Room lay_out(Subject& subject, const Problem& problem, bool right) {
  Room room;
  room.places = place_buffers(problem, right, (subject.facts.flags & ROPE_NEEDS_ALIGN_64) != 0);
  const std::uint64_t data =
      room.places.empty() ? 0 : room.places.back().offset + room.places.back().pages_bytes;
  const std::size_t frequencies = problem.inv_freq.size() * sizeof(double);
  room.memory = subject.worker.reserve_buffers(data + whole_pages(frequencies));
  std::memcpy(room.memory + data, problem.inv_freq.data(), frequencies);
  room.call = describe(problem, room.places, right, data);
  return room;
}

CallResult ask(Subject& subject, const Problem& problem) {
  subject.worker.kernels();
  const Room room = lay_out(subject, problem, true);
  return subject.worker.call(subject.facts.index, room.call, step_supports, region_names(problem));
}

// The same case with every tensor in place, or out of place; nothing where there is no such case,
// or where its strides may be what is refused.
std::optional<Case> in_other_form(Case c) {
  const bool in_place = c.tensors[0].in_place;
  for (TensorCase& t : c.tensors) {
    const bool packed = t.in == Strides{} && t.out == Strides{} && t.in_at == 0 && t.out_at == 0;
    if (t.in_place != in_place || c.fused || !packed) return {};
    t.in_place = !in_place;
  }
  return c;
}

// The flags of a kernel are promises: with both forms declared, it takes packed tensors in one as
// in the other. A refusal that breaks this is a failure and no honest answer.
CallResult hold_to_flags(Subject& subject, const Problem& problem, CallResult refusal) {
  constexpr std::uint32_t both = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE;
  if (refusal.kind != CallResult::Kind::unsupported || (subject.facts.flags & both) != both)
    return refusal;
  const std::optional<Case> other = in_other_form(problem.source);
  if (!other) return refusal;
  const CallResult answer = ask(subject, make_question(*other));
  if (answer.kind != CallResult::Kind::ok) return refusal;
  const bool in_place = problem.source.tensors[0].in_place;
  return {CallResult::Kind::failed,
          fmt::format("flags has {}, yet supports refuses {} what it takes {} ({})",
                      in_place ? "ROPE_IN_PLACE" : "ROPE_OUT_OF_PLACE",
                      in_place ? "in place" : "out of place",
                      in_place ? "out of place" : "in place", refusal.text)};
}

}  // namespace

CallResult ask_supports(Subject& subject, const Problem& problem) {
  return hold_to_flags(subject, problem, ask(subject, problem));
}

Execution execute(Subject& subject, const Problem& problem) {
  subject.worker.kernels();  // a fresh worker before the memory is filled
  const auto names = region_names(problem);
  Execution out;
  for (const bool right : {true, false}) {
    const Poison poison = right ? Poison::a : Poison::b;
    const Room room = lay_out(subject, problem, right);
    Outputs& outputs = out.outputs[right ? 0 : 1];
    outputs.placement = right ? 0 : 1;
    for (std::size_t i = 0; i < problem.buffers.size(); ++i)
      write_buffer(problem.buffers[i], given(problem, outputs, static_cast<int>(i)), room.places[i],
                   room.memory, poison);
    const std::uint32_t steps =
        right ? step_supports | step_prepare | step_apply : step_apply | step_release;
    out.result = subject.worker.call(subject.facts.index, room.call, steps, names);
    out.result = hold_to_flags(subject, problem, out.result);
    if (out.result.kind != CallResult::Kind::ok) return out;
    outputs.resize(problem.buffers.size());
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      const Buffer& b = problem.buffers[i];
      if (!b.writable) continue;
      const std::byte* data = room.memory + room.places[i].offset + room.places[i].lead;
      outputs[i].assign(data, data + b.content.size());
      if (out.stray_write.empty())
        out.stray_write = find_stray_write(b, room.places[i], room.memory, poison);
      find_unwritten(b, outputs[i], poison, out);
    }
  }
  return out;
}

Finding failure_of(const Execution& execution) {
  Finding f;
  f.reason = execution.result.text;
  switch (execution.result.kind) {
    case CallResult::Kind::ok:
      break;
    case CallResult::Kind::unsupported:
      f.kind = Finding::Kind::unsupported;
      return f;
    case CallResult::Kind::skipped:
      f.kind = Finding::Kind::skipped;
      return f;
    case CallResult::Kind::crash:
      f.kind = Finding::Kind::crash;
      return f;
    case CallResult::Kind::hang:
      f.kind = Finding::Kind::hang;
      return f;
    case CallResult::Kind::failed:
      f.kind = Finding::Kind::broken;
      return f;
  }
  if (!execution.stray_write.empty()) {
    f.kind = Finding::Kind::broken;
    f.reason = execution.stray_write;
  }
  return f;
}

std::string place_text(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
  return fmt::format("{}[batch {}, token {}, head {}]", tensor_words[tensor], b, t, h);
}

}  // namespace ropewalk
