// The first case that a kernel takes. All other questions begin with it.
#include "properties/array/asking.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "harness/cases/axes.h"
#include "harness/cases/names.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// ---- the cases that a kernel is asked about first. One that it accepts is the base of all other
// questions.

constexpr HeadWindow sizes[] = {{8, 8},     {64, 64},   {128, 128}, {16, 16}, {32, 32}, {256, 256},
                                {96, 96},   {80, 80},   {128, 64},  {64, 32}, {80, 32}, {256, 64},
                                {96, 24},   {192, 64},  {512, 512}, {40, 40}, {48, 48}, {112, 112},
                                {160, 160}, {192, 192}, {224, 224}};

constexpr Form forms[] = {{.head_major = true},
                          {.fused = true},
                          {.strided_positions = true},
                          {.padded_table = true},
                          {.head_major = true, .padded_table = true},
                          {.fused = true, .padded_table = true}};

Case empty_case(const Subject& subject, Pairing pairing, Dtype dtype) {
  Case c;
  c.kernel = subject.facts.name;
  c.plugin = subject.facts.plugin;
  c.contract = subject.facts.angle_contract;
  c.pairing = pairing;
  c.dtype = dtype;
  return c;
}

// Every kernel promises at least one form, in place or out of place. If a kernel promises both,
// ask_supports() asks a refused case again in the other form.
bool is_first_in_place(const Subject& subject) {
  return (subject.facts.flags & ROPE_OUT_OF_PLACE) == 0;
}

// Calls visit(table rows by, position type) for each combination that the contract allows.
template <class Visit>
void for_each_indexing(const Case& c, Visit&& visit) {
  for (const std::int32_t rows_by : {ROPE_ROW_BY_POSITION, ROPE_ROW_BY_TOKEN})
    for (const Dtype positions : {Dtype::i32, Dtype::i64})
      if (c.contract == ROPE_CONTRACT_TABLE || rows_by == ROPE_ROW_BY_POSITION)
        visit(rows_by, positions);
}

// Adds the case in this form, in each place that the flags promise.
void add_formed(const Subject& subject, const Form& form, Case c, std::vector<Case>& out) {
  for (const bool in_place : {false, true}) {
    if ((subject.facts.flags & (in_place ? ROPE_IN_PLACE : ROPE_OUT_OF_PLACE)) == 0) continue;
    for (TensorCase& t : c.tensors) t.in_place = in_place;
    out.push_back(in_form(c, form));
  }
}

// The numbers of batch rows and tokens with which a shape is asked about, few first.
std::vector<std::pair<std::int64_t, std::int64_t>> calls_of(const ModelShape& shape) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const std::int64_t tokens : {2, 1, 16}) out.emplace_back(1, tokens);
  if (shape.batch > 0 && shape.tokens > 0) out.emplace_back(shape.batch, shape.tokens);
  for (auto& [batch, tokens] : out) {
    if (shape.batch > 0 && shape.tokens == 0) batch = shape.batch;
    if (shape.tokens > 0 && shape.batch == 0) tokens = shape.tokens;
  }
  return out;
}

// The basic shapes, simplest first.
std::vector<Case> basic_cases(const Subject& subject, Pairing pairing, Dtype dtype) {
  std::vector<Case> cases;
  Case c = empty_case(subject, pairing, dtype);
  for (const HeadWindow size : sizes)
    for (const auto tensors : {std::size_t{1}, std::size_t{2}})
      for (const std::int64_t tokens : {2, 1})
        for_each_indexing(c, [&](std::int32_t rows_by, Dtype positions) {
          c.rotary_dim = size.rotary_dim;
          c.tokens = tokens;
          c.rows_by = rows_by;
          c.position_dtype = positions;
          TensorCase t;
          t.heads = 2;
          t.head_dim = size.head_dim;
          t.in_place = is_first_in_place(subject);
          c.tensors.assign(tensors, t);
          cases.push_back(c);
        });
  return cases;
}

// For kernels that take some of these in every call, of Q, of Q and K, or of Q, K and V: axes, a
// norm (1), caches (2), and weights to which 1 is added (4).
void add_fused(const Case& c, std::vector<Case>& cases) {
  const auto add = [&](std::int64_t axes, std::uint32_t kinds, bool has_value) {
    Case& fused = cases.emplace_back(c);
    if (has_value) fused.tensors.resize(3, c.tensors[0]);
    if (has_value) fused.tensors[2].rotate = false;
    for (std::size_t i = 0; i < fused.tensors.size(); ++i) {
      TensorCase& t = fused.tensors[i];
      t.norm = (kinds & 1) != 0 && t.rotate;
      t.append = (kinds & 2) != 0 && (i > 0 || fused.tensors.size() == 1);
    }
    fused.weight_plus_one = (kinds & 4) != 0;
    if (axes == 1) return;
    fused.axes = axes;
    fused.axis_positions = AxisPositions::apart;
    for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i)
      fused.axis_of_pair.push_back(static_cast<std::uint8_t>(i % axes));
  };
  for (const std::int64_t axes : {1, 3, 2, 4})
    for (const std::uint32_t kinds : {1u, 2u, 3u, 5u, 7u, 0u})
      for (const bool has_value : {false, true}) add(axes, kinds, has_value);
}

// For a kernel that refuses all of those. Each case differs from the simplest in one more thing.
std::vector<Case> unusual_cases(const Subject& subject, Pairing pairing, Dtype dtype) {
  const std::string one_type = fmt::format("table_dtype={}", word_of(dtype));  // as in bf16 models
  const std::string_view changes[] = {
      "q=1", "q=8", "tokens=4", "tokens=16", "batch=2", "batch=4", "op=transpose", "scale=1.5",
      "q=4 k=2", "q=8 k=1", "q=8 k=1 tokens=16", "q=1 batch=4 tokens=1", "tokens=16 op=transpose",
      "scale=1.5 op=transpose", "tensors=3 t2.rotate=0", "tensors=4", "q=3", "tokens=32",
      "tokens=64 batch=2", "tokens=128", "tokens=3", "rows_by=token op=transpose", "q=16 batch=16",
      "q=32 k=8", one_type, "rd=72 head_dim=72", "rd=104 head_dim=104",
      // multi-head latent attention: the last 64 of 192 or 576 dims are rotated
      "rd=64 head_dim=192 offset=128", "rd=64 head_dim=576 offset=512 heads=1"};
  std::vector<Case> cases;
  for (const Case& c : basic_cases(subject, pairing, dtype))
    if (subject.facts.extensions != 0 && c.tokens == 2) add_fused(c, cases);
  for (Case c : basic_cases(subject, pairing, dtype)) {
    const bool common =
        c.tensors[0].head_dim == 8 || c.tensors[0].head_dim == 64 || c.tensors[0].head_dim == 128;
    if (!common || c.tokens != 2 || c.position_dtype != Dtype::i32) continue;
    if (c.rows_by != ROPE_ROW_BY_POSITION || c.tensors.size() != 2) continue;
    for (const std::string_view change : changes)
      for (const std::size_t tensors : {std::size_t{1}, std::size_t{2}}) {
        Case changed = patched(c, change);
        if (tensors == 1) changed.tensors.resize(1);
        cases.push_back(changed);
      }
  }
  return cases;
}

// For a kernel that takes one layout alone: the simplest cases in each form, then all others with
// heads before tokens, the layout of attention kernels.
std::vector<Case> formed_cases(const Subject& subject, Pairing pairing, Dtype dtype) {
  std::vector<Case> out;
  for (const Form& form : forms)
    for (const Case& c : basic_cases(subject, pairing, dtype)) {
      const std::int64_t dim = c.tensors[0].head_dim;
      if (dim == 8 || dim == 64 || dim == 128) add_formed(subject, form, c, out);
    }
  for (const Case& c : unusual_cases(subject, pairing, dtype)) out.push_back(in_form(c, forms[0]));
  return out;
}

// Cases of these shapes, first with few tokens and then with those that a shape says. Q and K come
// together, then each alone. The cases of the other forms come last.
std::vector<Case> shaped_cases(const Subject& subject, Pairing pairing, Dtype dtype,
                               const std::vector<ModelShape>& shapes) {
  std::vector<Case> plain, formed;
  Case c = empty_case(subject, pairing, dtype);
  for (const ModelShape& shape : shapes) {
    c.rotary_dim = shape.rotary_dim;
    take_angles(c, shape.angles ? static_cast<const Case&>(shape) : Case{});
    for (const auto& [batch, tokens] : calls_of(shape)) {
      c.batch = batch;
      c.tokens = tokens;
      const TensorCase &q = shape.tensors[0], &k = shape.tensors[1];
      for (const std::vector<TensorCase>& tensors : {{q, k}, {q}, std::vector{k}}) {
        c.tensors = tensors;
        for (TensorCase& t : c.tensors) t.in_place = is_first_in_place(subject);
        for_each_indexing(c, [&](std::int32_t rows_by, Dtype positions) {
          Case indexed = c;
          indexed.rows_by = rows_by;
          indexed.position_dtype = positions;
          plain.push_back(indexed);
        });
        for (const Form& form : forms) add_formed(subject, form, c, formed);
      }
    }
  }
  plain.insert(plain.end(), formed.begin(), formed.end());
  return plain;
}

// ---- the questions

// Sizes that tell "any size" from a list.
constexpr HeadWindow odd_sizes[] = {{2, 2}, {6, 6}, {14, 14}, {7, 4}, {45, 18}};
// Sizes for a kernel that accepts only multiples of 4 or 8. They have 6, 10, 18, 28 pairs and the
// like, so tail loops run.
constexpr HeadWindow stepped_sizes[] = {{12, 12}, {20, 20}, {36, 36}, {56, 56},
                                        {64, 16}, {72, 72}, {88, 88}, {120, 120}};

// The smallest step whose multiples the kernel accepts as the number of tokens, and of heads.
void probe_steps(Questions& questions, Offer& offer) {
  const auto probe = [&](std::int64_t& step, auto&& set) {
    const auto accepts = [&](std::int64_t size) {
      Case c = offer.base;
      set(c, size);
      return questions.accepts(in_form(c, offer.form));
    };
    for (const std::int64_t s : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512})
      if (accepts(3 * s) && accepts(5 * s)) {
        step = s;
        return;
      }
  };
  Form form = offer.form;
  probe(form.token_step, [](Case& c, std::int64_t tokens) { c.tokens = tokens; });
  probe(form.head_step, [](Case& c, std::int64_t heads) {
    for (TensorCase& t : c.tensors) t.heads = heads;
  });
  offer.form = form;
}

void probe_heads(Questions& questions, Offer& offer) {
  const auto accepts = [&](HeadWindow size) {
    return questions.accepts(in_form(resized(offer.base, size), offer.form));
  };
  const auto ask = [&](const auto& some) {
    for (HeadWindow size : some) {
      if (!accepts(size)) continue;
      offer.sizes.push_back(size);
      size.offset = offer.base.tensors[0].rotary_offset;
      Levels l;
      set_window_levels(l, size);
      auto& known =
          offer.accepted.windows[l[Factor::rotary_dim]][l[Factor::room]][l[Factor::window]];
      if (std::ranges::find(known, size) == known.end()) known.push_back(size);
    }
  };
  ask(sizes);
  offer.any_size = std::all_of(std::begin(odd_sizes), std::end(odd_sizes), accepts);
  if (offer.any_size) return;
  ask(stepped_sizes);
  if (offer.sizes.empty())
    offer.sizes.push_back({offer.base.tensors[0].head_dim, offer.base.rotary_dim});
}

// Empty if none is accepted.
std::optional<Case> first_accepted(Questions& questions, const std::vector<Case>& cases) {
  constexpr std::size_t most = 256;  // at once, once a few were refused
  for (std::size_t at = 0; at < cases.size();) {
    const auto some = std::span(cases).subspan(
        at, std::min(cases.size() - at, std::clamp(at, std::size_t{1}, most)));
    if (const auto found = questions.first_accepted(some)) return some[*found];
    at += some.size();
  }
  return {};
}

// The contract has no such data. A kernel that accepts it is told that this cell is skipped. It is
// asked as a kernel of the exact contract, as a case of this one would be refused.
std::optional<Probe> never_judged(const Subject& subject, Pairing pairing, Dtype dtype) {
  if (subject.facts.angle_contract != ROPE_CONTRACT_F32_ANGLE ||
      data_type(dtype).computed_in == Dtype::f32)
    return {};
  Subject exact = subject;
  exact.facts.angle_contract = ROPE_CONTRACT_EXACT;
  Questions questions(exact);
  const auto accepted = first_accepted(questions, basic_cases(exact, pairing, dtype));
  Probe none{questions.heard, {}};
  if (questions.died()) return none;
  none.last_refusal.kind = accepted ? CallResult::Kind::skipped : CallResult::Kind::unsupported;
  none.last_refusal.text =
      fmt::format("{} data is not judged under the f32_angle contract{}", data_type(dtype).word,
                  accepted ? ", but supports accepts it" : "");
  none.asked.pairing = pairing;
  none.asked.dtype = dtype;
  none.reasons = {none.last_refusal.text};
  return none;
}

// All questions about the base beside its levels.
Probe probed(Questions& questions, const std::optional<Case>& base) {
  if (!base) return {questions.heard, {}};
  Offer offer = base_alone(*base);
  offer.form = form_of(*base);
  offer.extensions = questions.facts().extensions;
  offer.on_device = questions.facts().memory == ROPE_CUDA;
  probe_steps(questions, offer);
  probe_heads(questions, offer);
  if (questions.died()) return {questions.heard, {}};
  return {questions.heard, std::move(offer)};
}

}  // namespace

bool Questions::accepts(const Case& c) {
  return first_accepted(std::span(&c, 1)).has_value();
}

std::optional<std::size_t> Questions::first_accepted(std::span<const Case> cases) {
  if (died()) return {};
  std::vector<Problem> problems;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    try {
      problems.push_back(make_question(cases[i]));
      of.push_back(i);
    } catch (const BadCase&) {  // what is asked for makes no sense with this base
    }
  }
  if (problems.empty()) return {};
  std::size_t answered = 0;
  std::vector<std::string> refusals;
  const CallResult answer = ask_supports(subject_, problems, answered, refusals);
  for (const std::string& refusal : refusals) add_reason(heard.reasons, refusal);
  if (answer.kind == CallResult::Kind::ok) return of[answered];
  heard.last_refusal = answer;
  heard.asked = cases[of[answered]];
  if (!died()) add_reason(heard.reasons, answer.text);
  return {};
}

bool Questions::died() const {
  using enum CallResult::Kind;
  const auto kind = heard.last_refusal.kind;
  return kind != ok && kind != unsupported && kind != skipped;
}

void add_reason(std::vector<std::string>& reasons, const std::string& reason) {
  constexpr std::size_t most = 4;
  if (reasons.size() < most && std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
    reasons.push_back(reason);
}

Case resized(Case c, const HeadWindow& size) {
  c.rotary_dim = size.rotary_dim;
  for (auto& t : c.tensors) t.head_dim = size.head_dim;
  if (c.axes > 1) c.axis_of_pair = map_of_pairs(c, c.rotary_dim / 2);
  return c;
}

Case widened(Case c, const Offer& offer) {
  std::int64_t widest = 0;
  for (const HeadWindow size : offer.sizes)
    if (size.head_dim == size.rotary_dim && size.head_dim <= 128)
      widest = std::max(widest, size.head_dim);
  return widest <= c.rotary_dim ? c : resized(c, {widest, widest});
}

Probe probe_base(Subject& subject, Pairing pairing, Dtype dtype) {
  if (subject.shapes != nullptr && subject.shapes->only) {
    Probe probe = probe_shapes(subject, pairing, dtype, {*subject.shapes->only});
    if (probe.offer) probe.offer->one_model = subject.shapes->only->angles;
    if (probe.offer)
      probe.offer->free.axis_of_pair = probe.offer->accepted.axis_of_pair =
          subject.shapes->only->axis_of_pair;
    return probe;
  }
  if (const auto never = never_judged(subject, pairing, dtype)) return *never;
  Questions questions(subject);
  auto base = first_accepted(questions, basic_cases(subject, pairing, dtype));
  if (!base) base = first_accepted(questions, unusual_cases(subject, pairing, dtype));
  if (!base) base = first_accepted(questions, formed_cases(subject, pairing, dtype));
  return probed(questions, base);
}

Probe probe_shapes(Subject& subject, Pairing pairing, Dtype dtype,
                   const std::vector<ModelShape>& shapes) {
  if (const auto never = never_judged(subject, pairing, dtype)) return *never;
  Questions questions(subject);
  const auto base = first_accepted(questions, shaped_cases(subject, pairing, dtype, shapes));
  return probed(questions, base);
}

}  // namespace ropewalk::properties
