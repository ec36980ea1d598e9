#include "harness/judge/executor.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <optional>

#include "base/printable.h"
#include "harness/cases/checked.h"
#include "harness/cases/names.h"
#include "harness/judge/placed_buffers.h"
#include "harness/judge/second_try.h"
#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {
namespace {
using namespace protocol;

Region region_of(const Problem& problem, const std::vector<Placed>& places, int buffer,
                 std::int64_t element) {
  if (buffer < 0) return {};
  const Placed& at = places[static_cast<std::size_t>(buffer)];
  const Buffer& b = problem.buffers[static_cast<std::size_t>(buffer)];
  return {buffers_offset + at.offset, at.pages_bytes,
          at.lead + static_cast<std::uint64_t>(element * b.element_bytes()), b.writable ? 1u : 0u,
          0};
}

// What a problem points to lies in regions behind the buffers, at the end of each.
std::uint64_t pages_of_problem(const Problem& problem) {
  std::uint64_t pages = 0;
  for (const OperandLayout& o : operands_of(problem.asked, problem))
    if (is_of_problem(o.role)) pages += whole_pages(o.bytes());
  return pages;
}

// Describes a call whose buffers have these places, and writes what its problem points to into
// memory from byte `at` on. A question needs nothing else.
CallDescriptor describe(const Problem& problem, const std::vector<Placed>& places, const Call& made,
                        std::byte* memory, std::uint64_t at) {
  CallDescriptor call{};
  call.workspace_at_end = made.at_end ? 1 : 0;
  call.state = made.state;
  call.growth = made.growth;
  call.heap_at_end = problem.source.heap_at_end ? 1 : 0;
  call.nodes_reversed = problem.source.nodes_reversed ? 1 : 0;
  call.graph_first = problem.source.graph_first ? 1 : 0;
  call.problem = problem.asked;
  call.nodes = problem;
  for (const OperandLayout& o : operands_of(problem.asked, problem)) {
    const std::uint64_t bytes = o.bytes();
    Region region{};
    if (is_of_problem(o.role)) {
      const std::uint64_t pages = whole_pages(bytes);
      region = {buffers_offset + at, pages, pages - bytes, 0, 0};
      const void* const from = o.role == Operand::inv_freq
                                   ? static_cast<const void*>(problem.inv_freq.data())
                                   : problem.source.axis_of_pair.data();
      std::memcpy(memory + at + pages - bytes, from, bytes);
      at += pages;
    } else if (made.steps != step_supports) {
      const Place& place = problem.place(o.role, o.tensor);
      region = region_of(problem, places, place.buffer, place.at);
    }
    if (region.mapped_bytes > 0) call.operands[call.count++] = {o.role, o.tensor, bytes, region};
  }
  return call;
}

struct Room {
  std::byte* memory;
  std::vector<Placed> places;
  CallDescriptor call;
  std::uint64_t end;
};

// Lays out from byte `begin` of the shared memory. Content before it stays, but may move to another
// address.
Room lay_out(Subject& subject, const Problem& problem, const Call& call, std::uint64_t begin = 0) {
  Room room;
  room.places = place_buffers(problem, call, subject.facts, begin);
  const std::uint64_t data =
      room.places.empty() ? begin : room.places.back().offset + room.places.back().pages_bytes;
  room.end = data + pages_of_problem(problem);
  room.memory = subject.worker.reserve_buffers(room.end);
  room.call = describe(problem, room.places, call, room.memory, data);
  return room;
}

void write_buffers(const Problem& problem, int placement, const Room& room) {
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& b = problem.buffers[i];
    write_buffer(b, given(problem, placement, static_cast<int>(i)), room.places[i], room.memory,
                 poison_of(placement), gap_bits(problem, b, placement));
  }
}

// Notes what a call did besides its answer.
CallResult with_side_effects(Subject& subject, const Problem& problem, CallResult result) {
  const Conduct& conduct = result.conduct;
  const bool is_clean = conduct.rules == 0;
  subject.side_effects->add({static_cast<std::int64_t>(conduct.applies),
                             static_cast<std::int64_t>(conduct.heap_calls), conduct.mapped_bytes,
                             conduct.waits != 0, is_clean ? "" : printable(text_of(conduct.text)),
                             conduct.rules, is_clean ? Case() : problem.source});
  return result;
}

// The answer about one of several problems: those before it were refused as the last answer was.
struct Answered {
  std::size_t of;
  CallResult result;
};

Answered ask(Subject& subject, std::span<const Problem> problems) {
  Answered answer{};
  for (int tries = 0; tries == 0 || (answer.result.killed && tries < 2); ++tries) {
    subject.worker.kernels();
    std::vector<CallDescriptor> calls;
    std::uint64_t begin = 0, end = 0;
    for (const Problem& problem : problems) {
      const Problem& before = calls.empty() ? problem : (&problem)[-1];
      if (problem.inv_freq != before.inv_freq ||
          problem.source.axis_of_pair != before.source.axis_of_pair)
        begin = end;
      const Room room = lay_out(subject, problem, {step_supports}, begin);
      end = room.end;
      calls.push_back(room.call);
    }
    calls.front().callers = static_cast<std::uint32_t>(calls.size());
    answer.result = subject.worker.calls(subject.facts.index, calls, step_supports);
    answer.of = std::min<std::size_t>(answer.result.repeated, problems.size() - 1);
    answer.result = with_side_effects(subject, problems[answer.of], answer.result);
  }
  if (answer.result.killed)
    answer.result = {CallResult::Kind::skipped, killed_twice(answer.result)};
  return answer;
}

// The same case with every tensor in place, or out of place. Empty if there is no such case, or if
// the kernel may refuse its strides.
std::optional<Case> in_other_form(Case c) {
  const bool in_place = c.tensors[0].in_place;
  for (TensorCase& t : c.tensors) {
    const bool packed = t.in == Strides{} && t.out == Strides{} && t.in_at == 0 && t.out_at == 0;
    if (t.in_place != in_place || c.fused || !packed) return {};
    t.in_place = !in_place;
  }
  return c;
}

// The flags of a kernel are promises. A kernel that declares both forms accepts packed tensors in
// either form or in neither. A refusal that breaks this is a failure, not an honest answer. The
// result is the question about the other form; empty if there is none.
std::optional<Problem> question_of_other_form(const Subject& subject, const Problem& problem) {
  constexpr std::uint32_t both = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE;
  if ((subject.facts.flags & both) != both) return {};
  const std::optional<Case> other = in_other_form(problem.source);
  if (!other) return {};
  try {
    Problem question = make_question(*other);  // about the calls that this problem is for
    question.asked.min_position = problem.asked.min_position;
    question.asked.max_position = problem.asked.max_position;
    question.asked.table_rows = problem.asked.table_rows;
    return question;
  } catch (const BadCase&) {
    return {};
  }
}

CallResult breach(const Problem& problem, const std::string& refusal) {
  const bool in_place = problem.source.tensors[0].in_place;
  return {CallResult::Kind::failed,
          fmt::format("flags has {}, yet supports refuses {} a problem that it accepts {} ({})",
                      in_place ? "ROPE_IN_PLACE" : "ROPE_OUT_OF_PLACE",
                      in_place ? "in place" : "out of place",
                      in_place ? "out of place" : "in place", refusal)};
}

// Neither answer says that the form is accepted.
bool is_no(const CallResult& answer) {
  return answer.kind == CallResult::Kind::unsupported || answer.kind == CallResult::Kind::skipped;
}

CallResult hold_to_flags(Subject& subject, const Problem& problem, CallResult refusal) {
  if (refusal.kind != CallResult::Kind::unsupported) return refusal;
  const std::optional<Problem> question = question_of_other_form(subject, problem);
  if (!question) return refusal;
  const CallResult answer = ask(subject, {&*question, 1}).result;
  if (is_no(answer)) return refusal;
  return answer.kind == CallResult::Kind::ok ? breach(problem, refusal.text) : answer;
}

// A run that is held to one model takes a case of another shape, or with other angles, for one that
// the kernel refuses.
bool is_outside(const Subject& subject, const Problem& problem) {
  return subject.shapes != nullptr && subject.shapes->only &&
         !has_shape(problem.source, *subject.shapes->only);
}
CallResult outside() {
  return {CallResult::Kind::unsupported,
          "not of the shape, frequencies or scale that was asked for"};
}

constexpr std::uint32_t their_state = 1;  // 0 is the state that is judged

// Prepares a state of another problem and calls it where the judged call will be made. A kernel
// that refuses the problem has nothing before.
bool call_other_state(Subject& subject, const Problem& problem, Execution& out) {
  const auto call = [&](const Problem& other, int placement) {
    Outputs none;
    constexpr std::uint32_t steps = step_supports | step_prepare | step_apply;
    perform(subject, other, {steps, placement, true, their_state}, out, none);
  };
  // A table has the frequencies, so other positions are enough.
  if (problem.source.contract == ROPE_CONTRACT_TABLE) {
    call(problem, 1);
  } else {
    Case c = problem.source;
    c.inv_freq = frequencies_of(c);
    for (double& f : c.inv_freq) f *= 0.5;
    call(make_problem(c, subject.oracle, SecondPositions::none), 0);
  }
  const bool refused = out.result.kind == CallResult::Kind::unsupported;
  if (refused) out.result = {};
  return !refused && out.result.kind == CallResult::Kind::ok;
}

// A row of a tensor, a row of a table or a position: where it begins in its buffer, in elements.
struct Piece {
  int buffer;
  std::int64_t far, near;
  std::uint64_t bytes;
};

// Where the row of an operand begins that a call uses for a token: the row of a head, or of an
// axis. What is used as a whole begins at 0. -1: the token has no row. Throws BadCase on overflow.
std::int64_t row_at(const Problem& p, const OperandLayout& o, int placement, std::int64_t b,
                    std::int64_t t, std::int64_t head_or_axis) {
  const std::int64_t token = b * p.asked.tokens + t;
  const HeadPlace head{o.tensor, b, t, head_or_axis};
  if (o.role == Operand::in) return in_row(p, head);
  if (is_output(o.role)) return out_row(p, placement, head);
  if (o.role == Operand::positions) return position_index(p, head_or_axis, b, t);
  if (o.role != Operand::cos && o.role != Operand::sin) return 0;
  const std::size_t i =
      static_cast<std::size_t>(head_or_axis * p.asked.batch * p.asked.tokens + token);
  const std::int64_t position = (placement == 1 ? p.other_positions : p.positions)[i];
  return table_row(p, head_or_axis, token, position);
}

// Calls visit(piece) for all that the call of a placement uses. `near` is laid out as `near.asked`
// says; `far` has the same sizes. Throws BadCase if an index overflows.
void for_each_piece(const Problem& near, const Problem& far, int placement,
                    const std::function<void(const Piece&)>& visit) {
  for (const OperandLayout& o : operands_of(near.asked, near)) {
    const int buffer = near.place(o.role, o.tensor).buffer;
    if (buffer < 0) continue;
    const bool of_heads = o.role == Operand::in || is_output(o.role);
    const bool is_whole = o.role == Operand::weight || o.role == Operand::slot;
    const std::int64_t rows = of_heads   ? near.asked.tensor[o.tensor].heads
                              : is_whole ? 1
                                         : near.source.axes;
    for (std::int64_t b = 0; b < (is_whole ? 1 : near.asked.batch); ++b)
      for (std::int64_t t = 0; t < (is_whole ? 1 : near.asked.tokens); ++t)
        for (std::int64_t i = 0; i < rows; ++i)
          if (const std::int64_t to = row_at(near, o, placement, b, t, i); to >= 0)
            visit({buffer, row_at(far, o, placement, b, t, i), to,
                   static_cast<std::uint64_t>(o.extent.row * o.element_bytes)});
  }
}

// True if the parent and its worker can map this many bytes, below 2^63, touched or not.
bool addresses_for(std::uint64_t bytes) {
  for (const auto which : {RLIMIT_AS, RLIMIT_FSIZE}) {
    rlimit limit{};
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur < 2 * bytes) return false;
  }
  void* all =
      mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return false;
  munmap(all, 2 * bytes);
  return true;
}

}  // namespace

void SideEffects::add(const SideEffects& more) {
  applies += more.applies;
  heap_calls += more.heap_calls;
  mapped_bytes += more.mapped_bytes;
  waits = waits || more.waits;
  if (more.rules == 0 || (rules != 0 && (!is_of_strides() || more.is_of_strides()))) return;
  unclean = more.unclean;
  rules = more.rules;
  at = more.at;
}

CallResult ask_supports(Subject& subject, const Problem& problem) {
  if (is_outside(subject, problem)) return outside();
  return hold_to_flags(subject, problem, ask(subject, {&problem, 1}).result);
}

CallResult ask_supports(Subject& subject, std::span<const Problem> problems, std::size_t& of,
                        std::vector<std::string>& refusals) {
  std::vector<Problem> questions;  // each, and its other form
  std::vector<std::size_t> about;
  for (of = 0; of < problems.size(); ++of) {
    if (is_outside(subject, problems[of])) continue;
    questions.push_back(problems[of]);
    about.push_back(of);
    if (auto other = question_of_other_form(subject, problems[of])) {
      questions.push_back(std::move(*other));
      about.push_back(of);
    }
  }
  CallResult last = outside();
  for (std::size_t at = 0; at < questions.size(); ++at) {
    const std::size_t many = std::min<std::size_t>(questions.size() - at, most_questions);
    const auto [next, answer] = ask(subject, std::span(questions).subspan(at, many));
    at += next;
    of = about[at];
    if (!is_no(answer)) {
      const bool is_other_form = at > 0 && about[at - 1] == of;
      if (!is_other_form || answer.kind != CallResult::Kind::ok) return answer;
      return breach(problems[of], ask(subject, {&questions[at - 1], 1}).result.text);
    }
    last = answer;
    refusals.push_back(answer.text);
  }
  of = problems.size() - 1;
  return last;
}

void perform(Subject& subject, const Problem& problem, const Call& call, Execution& execution,
             Outputs& outputs) {
  execution.result = is_outside(subject, problem) ? outside() : CallResult{};
  if (execution.result.kind != CallResult::Kind::ok) return;
  subject.worker.kernels();  // starts a fresh worker before the memory is filled
  const Poison poison = poison_of(call.placement);
  const Room room = lay_out(subject, problem, call);
  outputs.placement = call.placement;
  write_buffers(problem, call.placement, room);
  const CallResult result = with_side_effects(
      subject, problem, subject.worker.call(subject.facts.index, room.call, call.steps));
  execution.result = hold_to_flags(subject, problem, result);
  if (execution.result.kind != CallResult::Kind::ok || (call.steps & step_apply) == 0) return;
  outputs.resize(problem.buffers.size());
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& b = problem.buffers[i];
    if (!b.writable) continue;
    const std::byte* data = room.memory + room.places[i].offset + room.places[i].lead;
    outputs[i].assign(data, data + b.content.size());
    if (execution.stray_write.empty())
      execution.stray_write =
          find_stray_write(b, given(problem, call.placement, static_cast<int>(i)), room.places[i],
                           room.memory, gap_bits(problem, b, call.placement));
  }
  if (subject.change) subject.change(problem, outputs);
  for (std::size_t i = 0; i < problem.buffers.size(); ++i)
    find_unwritten(problem.buffers[i], outputs[i], poison, execution);
}

void perform_far(Subject& subject, const Problem& problem, const Problem& far, const Call& call,
                 Execution& execution, Outputs& outputs) {
  subject.worker.kernels();
  std::vector<Placed> places(problem.buffers.size());
  const auto at = [&](auto& of, const Piece& piece) -> auto& {
    return of[static_cast<std::size_t>(piece.buffer)];
  };
  const auto byte_of = [&](const Piece& piece, std::int64_t element) {
    return static_cast<std::uint64_t>(times(element, at(problem.buffers, piece).element_bytes()));
  };
  const auto for_each = [&](auto&& visit) { for_each_piece(problem, far, call.placement, visit); };
  for_each([&](const Piece& piece) {
    std::uint64_t& pages = at(places, piece).pages_bytes;
    pages = std::max<std::uint64_t>(
        pages, whole_pages(byte_of(piece, piece.far) + piece.bytes + subject.facts.reads_past));
    require(pages >> 63 == 0, "the case's sizes overflow 64 bits");
  });
  auto end = static_cast<std::int64_t>(pages_of_problem(problem));
  for (Placed& p : places) {
    p.offset = static_cast<std::uint64_t>(end);
    end = plus(end, static_cast<std::int64_t>(p.pages_bytes));
  }
  if (!addresses_for(static_cast<std::uint64_t>(end))) {
    execution.result = {CallResult::Kind::skipped,
                        "this machine has no addresses for rows that are far apart"};
    return;
  }
  std::byte* const memory = subject.worker.reserve_buffers(static_cast<std::uint64_t>(end));
  const CallDescriptor described = describe(far, places, call, memory, 0);
  outputs.placement = call.placement;
  outputs.resize(problem.buffers.size());
  for (std::size_t i = 0; i < problem.buffers.size(); ++i)
    if (problem.buffers[i].writable)  // poison, or the input if in place
      outputs[i] = given(problem, call.placement, static_cast<int>(i));
  const auto far_bytes = [&](const Piece& piece) {
    return memory + at(places, piece).offset + byte_of(piece, piece.far);
  };
  for_each([&](const Piece& piece) {
    const auto& content = given(far, call.placement, piece.buffer);  // slots are numbered anew
    std::memcpy(far_bytes(piece), content.data() + byte_of(piece, piece.near), piece.bytes);
  });
  for_each([&](const Piece& piece) {
    const auto& content = given(far, call.placement, piece.buffer);
    const auto* const near = content.data() + byte_of(piece, piece.near);
    require(std::memcmp(far_bytes(piece), near, piece.bytes) == 0,
            "the strides put two positions or rows in the same place");
  });
  execution.result = with_side_effects(
      subject, problem, subject.worker.call(subject.facts.index, described, call.steps));
  if (execution.result.kind != CallResult::Kind::ok) return;
  for_each([&](const Piece& piece) {
    if (at(problem.buffers, piece).writable)
      std::memcpy(at(outputs, piece).data() + byte_of(piece, piece.near), far_bytes(piece),
                  piece.bytes);
  });
  if (subject.change) subject.change(problem, outputs);
}

Execution execute(Subject& subject, const Problem& problem) {
  Execution out;
  const auto goes_on = [&] { return out.result.kind == CallResult::Kind::ok; };
  const Before before = problem.source.before;
  const bool theirs = before == Before::other_state && call_other_state(subject, problem, out);
  const auto release_theirs = [&] {
    Outputs none;
    perform(subject, problem, {step_release, 0, true, their_state}, out, none);
  };
  // Their state may be gone when ours is made, or outlive it.
  const bool gone = !problem.source.other_state_stays;
  if (theirs && gone) release_theirs();
  if (goes_on())
    perform(subject, problem, {step_supports | step_prepare | step_apply, 0, true}, out,
            out.outputs[0]);
  const bool at_end = before == Before::other_contents;
  if (goes_on())
    perform(subject, problem, {step_apply | step_release, 1, at_end}, out, out.outputs[1]);
  if (theirs && !gone && goes_on()) release_theirs();
  return out;
}

Execution execute_once(Subject& subject, const Problem& problem, bool at_end) {
  Execution out;
  out.outputs.resize(1);
  constexpr std::uint32_t all = step_supports | step_prepare | step_apply | step_release;
  perform(subject, problem, {all, 0, at_end}, out, out.outputs[0]);
  return out;
}

CallResult perform_again(Subject& subject, const std::vector<PreparedState>& callers,
                         std::uint32_t rounds, bool shared) {
  subject.worker.kernels();
  std::vector<CallDescriptor> calls;
  std::uint64_t end = 0;
  for (std::size_t caller = 0; caller < callers.size(); ++caller) {
    const int placement = static_cast<int>(caller % 2);
    const PreparedState& state = callers[caller];
    const Problem& problem = *state.problem;
    const Room room = lay_out(subject, problem, {step_repeat, placement, true, state.number}, end);
    end = room.end;
    write_buffers(problem, placement, room);
    calls.push_back(room.call);
    calls.back().callers = static_cast<std::uint32_t>(callers.size());
    calls.back().rounds = rounds;
    for (std::uint32_t i = 0; shared && i < calls.back().count; ++i) {
      OperandPlace& mine = calls.back().operands[i];  // of one shape, so of one list
      const bool is_input = mine.role == Operand::positions || mine.role == Operand::in ||
                            mine.role == Operand::cos || mine.role == Operand::sin;
      if (mine.role == Operand::cache)
        mine = calls[0].operands[i];
      else if (caller >= 2 && is_input && mine.region.writable == 0)
        mine = calls[caller - 2].operands[i];
    }
  }
  return with_side_effects(subject, *callers[0].problem,
                           subject.worker.calls(subject.facts.index, calls, step_repeat));
}

Finding failure_of(const Execution& execution) {
  if (execution.result.killed) throw Killed(killed_twice(execution.result));
  Finding f;
  f.reason = execution.result.text;
  using enum Finding::Kind;
  // In the order of CallResult::Kind.
  constexpr Finding::Kind kinds[] = {measured, unsupported, broken, skipped, crash, hang};
  f.kind = kinds[static_cast<std::size_t>(execution.result.kind)];
  if (!execution.result.id.empty()) f.cause_ids = {execution.result.id};
  if (f.kind == broken) f.raised = execution.result.id;
  if (f.kind != measured) return f;
  if (!execution.stray_write.empty()) {
    f.kind = Finding::Kind::broken;
    f.reason = execution.stray_write;
  }
  return f;
}

std::string place_text(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
  return fmt::format("{}[batch {}, token {}, head {}]", tensor_words[tensor], b, t, h);
}

}  // namespace ropewalk::harness
