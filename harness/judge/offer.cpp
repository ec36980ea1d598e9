#include "harness/judge/offer.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/offer_cases.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {
namespace {

// Sizes that tell "any size" from a list.
constexpr HeadSize odd_sizes[] = {{2, 2}, {6, 6}, {14, 14}, {7, 4}, {45, 18}};
// Sizes for a kernel that accepts only multiples of 4 or 8. They have 6, 10, 18, 28 pairs and the
// like, so tail loops run.
constexpr HeadSize stepped_sizes[] = {{12, 12}, {20, 20}, {36, 36}, {56, 56},
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
  const auto accepts = [&](HeadSize size) {
    return questions.accepts(in_form(resized(offer.base, size), offer.form));
  };
  for (const HeadSize size : usual_sizes())
    if (accepts(size)) offer.sizes.push_back(size);
  offer.any_size = std::all_of(std::begin(odd_sizes), std::end(odd_sizes), accepts);
  if (offer.any_size) return;
  for (const HeadSize size : stepped_sizes)
    if (accepts(size)) offer.sizes.push_back(size);
  if (offer.sizes.empty())
    offer.sizes.push_back({offer.base.tensors[0].head_dim, offer.base.rotary_dim});
}

}  // namespace

bool Questions::accepts(const Case& c) {
  if (died()) return false;
  try {
    const CallResult answer = ask_supports(subject_, make_question(c));
    if (answer.kind == CallResult::Kind::ok) return true;
    heard.last_refusal = answer;
    heard.asked = c;
    if (!died()) add_reason(heard.reasons, answer.text);
  } catch (const BadCase&) {  // what is asked for makes no sense with this base
  }
  return false;
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

Case widened(Case c, const Offer& offer) {
  std::int64_t widest = 0;
  for (const HeadSize size : offer.sizes)
    if (size.head_dim == size.rotary_dim && size.head_dim <= 128)
      widest = std::max(widest, size.head_dim);
  return widest <= c.rotary_dim ? c : resized(c, {widest, widest});
}

namespace {

std::optional<Offer> first_accepted(Questions& questions,
                                    const std::vector<std::pair<Form, Case>>& cases) {
  for (const auto& [form, c] : cases)
    if (questions.accepts(c)) return Offer{c, form};
  return {};
}

std::vector<std::pair<Form, Case>> packed(const std::vector<Case>& cases) {
  std::vector<std::pair<Form, Case>> out;
  for (const Case& c : cases) out.emplace_back(Form{}, c);
  return out;
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
  const auto accepted = first_accepted(questions, packed(basic_cases(exact, pairing, dtype)));
  Probe none = questions.heard;
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

// All questions beyond the base.
Probe probed(Questions& questions, std::optional<Offer> offer) {
  if (!offer) return questions.heard;
  probe_steps(questions, *offer);
  offer->each_alone = !offer->base.fused;
  for (const TensorCase& alone : offer->base.tensors) {
    Case c = offer->base;
    c.tensors = {alone};
    offer->each_alone = offer->each_alone && questions.accepts(c);
  }
  offer->thread_safe = (questions.facts().flags & ROPE_THREAD_SAFE) != 0;
  offer->any_alignment = (questions.facts().flags & ROPE_NEEDS_ALIGN_64) == 0;
  probe_heads(questions, *offer);
  if (!questions.died()) questions.heard.offer = offer;
  return questions.heard;
}

}  // namespace

Probe probe_base(Subject& subject, Pairing pairing, Dtype dtype) {
  if (subject.shapes != nullptr && subject.shapes->only) {
    Probe probe = probe_shapes(subject, pairing, dtype, {*subject.shapes->only});
    if (probe.offer) probe.offer->one_model = subject.shapes->only->angles.has_value();
    return probe;
  }
  if (const auto never = never_judged(subject, pairing, dtype)) return *never;
  Questions questions(subject);
  auto base = first_accepted(questions, packed(basic_cases(subject, pairing, dtype)));
  if (!base) base = first_accepted(questions, packed(unusual_cases(subject, pairing, dtype)));
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

}  // namespace ropewalk::harness
