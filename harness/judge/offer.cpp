#include "harness/judge/offer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "harness/cases/layouts.h"
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

// The sizes with which a feature is asked for, try by try. A kernel may accept only even numbers,
// or only powers of two.
// Each try also has its place among the types beside the usual one.
struct Try {
  std::int64_t batch, tokens, heads, gap;
  std::size_t type;
};
constexpr Try tries[] = {{3, 5, 3, 3, 0}, {2, 4, 4, 16, 1}, {4, 8, 8, 64, 2}};

// A feature: its name, its flag, and the change that makes a basic case need it.
struct Feature {
  const char* name;
  bool Offer::*flag;
  void (*ask)(Case&, const Try&);
};

constexpr Feature features[] = {
    {"transpose", &Offer::transpose,
     [](Case& c, const Try&) { c.operation = Operation::transpose; }},
    {"in_place", &Offer::in_place,
     [](Case& c, const Try&) {
       for (auto& t : c.tensors) t.in_place = true;
     }},
    {"out_of_place", &Offer::out_of_place,
     [](Case& c, const Try&) {
       for (auto& t : c.tensors) t.in_place = false;
     }},
    {"batch", &Offer::batch, [](Case& c, const Try& n) { c.batch = n.batch; }},
    {"tokens", &Offer::tokens, [](Case& c, const Try& n) { c.tokens = n.tokens; }},
    {"many_heads", &Offer::many_heads,
     [](Case& c, const Try& n) {
       for (auto& t : c.tensors) t.heads = n.heads;
     }},
    {"window_offset", &Offer::window_offset,
     [](Case& c, const Try& n) {
       for (auto& t : c.tensors) {
         t.head_dim = c.rotary_dim + n.gap;
         t.rotary_offset = n.gap == 3 ? 2 : n.gap / 2;
       }
     }},
    {"two_tensors", &Offer::two_tensors,
     [](Case& c, const Try&) { c.tensors.resize(2, c.tensors[0]); }},
    {"three_tensors", &Offer::three_tensors,
     [](Case& c, const Try&) {
       c.tensors.resize(3, c.tensors[0]);
       c.tensors[2].rotate = false;
     }},
    {"different_shapes", &Offer::different_shapes,
     [](Case& c, const Try&) {
       c.tensors.resize(2, c.tensors[0]);
       c.tensors[0].heads = 3;
       c.tensors[1].head_dim = c.rotary_dim;
     }},
    {"unrotated_tensor", &Offer::unrotated_tensor,
     [](Case& c, const Try&) {
       c.tensors.resize(2, c.tensors[0]);
       c.tensors[1].rotate = false;
     }},
    {"attention_scale", &Offer::scale, [](Case& c, const Try&) { c.attention_scale = 1.5; }},
    {"i64_positions", &Offer::i64_positions,
     [](Case& c, const Try&) { c.position_dtype = Dtype::i64; }},
    {"rows_by_token", &Offer::rows_by_token,
     [](Case& c, const Try&) { c.rows_by = ROPE_ROW_BY_TOKEN; }},
    {"null_positions", &Offer::null_positions,
     [](Case& c, const Try&) {
       c.rows_by = ROPE_ROW_BY_TOKEN;
       c.positions_null = true;
     }},
    {"negative_positions", &Offer::negative_positions,
     [](Case& c, const Try&) { c.position_from = -3; }},
    {"own_tables", &Offer::own_tables,
     [](Case& c, const Try&) {
       c.tensors.resize(2, c.tensors[0]);
       c.own_tables = true;
     }},
    {"spare_rows", &Offer::spare_rows, [](Case& c, const Try&) { c.table_spare_rows = 3; }},
    {"padded_table", &Offer::padded_table,
     [](Case& c, const Try&) {
       c.tokens = std::max<std::int64_t>(c.tokens, 2);
       c.table_row_stride = c.rotary_dim / 2 + 3;
     }},
    {"padded", &Offer::padded,
     [](Case& c, const Try& n) {
       for (auto& t : c.tensors) t.in = t.out = padded_strides(c, t, n.gap);
     }},
    {"head_major", &Offer::head_major,
     [](Case& c, const Try&) {
       for (auto& t : c.tensors) t.in = t.out = head_major_strides(c, t);
     }},
    {"roomy_head_major", &Offer::roomy_head_major,
     [](Case& c, const Try& n) {
       for (auto& t : c.tensors) t.in = t.out = head_major_strides(c, t, n.gap);
     }},
    {"fused", &Offer::fused,
     [](Case& c, const Try&) {
       c.tensors.resize(2, c.tensors[0]);
       for (auto& t : c.tensors) t.in_place = false;
       fuse(c);
     }},
    {"fused_in_place", &Offer::fused_in_place,
     [](Case& c, const Try&) {
       c.tensors.resize(2, c.tensors[0]);
       for (auto& t : c.tensors) t.in_place = true;
       fuse(c);
     }},
    {"shared_input", &Offer::shared_input, [](Case& c, const Try&) { share_input(c); }},
    {"broadcast_heads", &Offer::broadcast_heads,
     [](Case& c, const Try& n) {
       for (auto& t : c.tensors) t.heads = n.heads;
       broadcast_input(c, &Strides::head);
     }},
    {"broadcast_tokens", &Offer::broadcast_tokens,
     [](Case& c, const Try& n) {
       c.tokens = n.tokens;
       broadcast_input(c, &Strides::token);
     }},
    {"broadcast_batch", &Offer::broadcast_batch,
     [](Case& c, const Try& n) {
       c.batch = n.batch;
       broadcast_input(c, &Strides::batch);
     }},
    {"broadcast_positions", &Offer::broadcast_positions,
     [](Case& c, const Try&) {
       c.batch = 2;
       c.position_batch_stride = 0;
     }},
    {"strided_positions", &Offer::strided_positions,
     [](Case& c, const Try&) {
       c.tokens = std::max<std::int64_t>(c.tokens, 2);
       c.position_token_stride = 2;
       c.position_batch_stride = 2 * c.tokens + 1;
     }},
    {"shifted_start", &Offer::shifted_start,
     [](Case& c, const Try&) {
       for (auto& t : c.tensors) t.in_at = t.out_at = 1;
     }},
    {"mixed_types", &Offer::mixed_types,
     [](Case& c, const Try& n) {
       c.tensors.resize(2, c.tensors[0]);
       c.tensors[1].dtype = types_beside(c.dtype)[n.type];
     }},
    {"table_types", &Offer::table_types,
     [](Case& c, const Try& n) { c.table_dtype = types_beside(table_dtype(c))[n.type]; }},
};

bool have_one_layout(const Case& a, const Case& b) {
  return a.fused == b.fused && a.tensors[0].in == b.tensors[0].in &&
         a.tensors[0].out == b.tensors[0].out &&
         a.position_token_stride == b.position_token_stride &&
         a.table_row_stride == b.table_row_stride;
}

class Prober {
 public:
  explicit Prober(Subject& subject) : subject_(subject) {}

  bool accepts(const Case& c) {
    return accepts(c, [&] { return make_problem(c, subject_.oracle); });
  }
  /// For a basic case. Hundreds of these are asked about if nothing is offered.
  bool accepts_basic(const Case& c) {
    return accepts(c, [&] { return make_question(c); });
  }
  bool died() const {
    return refusal.kind != CallResult::Kind::ok && refusal.kind != CallResult::Kind::unsupported;
  }

  CallResult refusal;
  Case asked;
  std::vector<std::string> reasons;

 private:
  template <class Make>
  bool accepts(const Case& c, Make&& make) {
    if (died()) return false;
    CallResult answer;
    try {
      answer = ask_supports(subject_, make());
    } catch (const BadCase&) {
      return false;  // the feature makes no sense with this base
    }
    if (answer.kind == CallResult::Kind::ok) return true;
    refusal = answer;
    asked = c;
    if (!died()) add_reason(reasons, refusal.text);
    return false;
  }

  Subject& subject_;
};

// The smallest step whose multiples the kernel accepts as the number of tokens, and of heads.
void probe_steps(Prober& prober, Offer& offer) {
  const auto probe = [&](std::int64_t& step, auto&& set) {
    const auto accepts = [&](std::int64_t size) {
      Case c = offer.base;
      set(c, size);
      return prober.accepts(in_form(c, offer.form));
    };
    for (const std::int64_t s : {1, 2, 4, 8, 16, 32, 64, 128})
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

void probe_features(Prober& prober, const Subject& subject, Offer& offer) {
  for (const Feature& f : features)
    for (const Try& n : tries) {
      Case c = offer.base;
      f.ask(c, n);
      if (have_one_layout(c, offer.base)) c = in_form(c, offer.form);
      offer.*f.flag = offer.*f.flag || prober.accepts(c);
    }
  offer.each_alone = std::all_of(offer.base.tensors.begin(), offer.base.tensors.end(),
                                 [&](const TensorCase& alone) {
                                   Case c = offer.base;
                                   c.tensors = {alone};
                                   return !c.fused && prober.accepts(c);
                                 });
  const auto promised = [&](std::uint32_t flag) { return (subject.facts.flags & flag) != 0; };
  offer.in_place = offer.in_place && promised(ROPE_IN_PLACE);
  offer.out_of_place = offer.out_of_place && promised(ROPE_OUT_OF_PLACE);
  offer.table_types = offer.table_types && subject.facts.angle_contract == ROPE_CONTRACT_TABLE;
  offer.thread_safe = promised(ROPE_THREAD_SAFE);
  offer.any_alignment = !promised(ROPE_NEEDS_ALIGN_64);
  // Both features would put a tensor's first element at an unaligned address.
  offer.shifted_start = offer.shifted_start && !promised(ROPE_NEEDS_ALIGN_64);
  const bool unaligned = !promised(ROPE_NEEDS_ALIGN_64);
  offer.fused = offer.fused && unaligned;
  offer.shared_input = offer.shared_input && unaligned && promised(ROPE_OUT_OF_PLACE);
  offer.fused_in_place = offer.fused_in_place && unaligned && promised(ROPE_IN_PLACE);
  for (bool Offer::*const broadcast :
       {&Offer::broadcast_heads, &Offer::broadcast_tokens, &Offer::broadcast_batch})
    offer.*broadcast = offer.*broadcast && promised(ROPE_OUT_OF_PLACE);
  for (const HeadSize size : usual_sizes())
    if (prober.accepts(in_form(resized(offer.base, size), offer.form))) offer.sizes.push_back(size);
  offer.any_size = std::all_of(std::begin(odd_sizes), std::end(odd_sizes), [&](HeadSize size) {
    return prober.accepts(in_form(resized(offer.base, size), offer.form));
  });
  if (offer.any_size) return;
  for (const HeadSize size : stepped_sizes)
    if (prober.accepts(in_form(resized(offer.base, size), offer.form))) offer.sizes.push_back(size);
  if (offer.sizes.empty())
    offer.sizes.push_back({offer.base.tensors[0].head_dim, offer.base.rotary_dim});
}

}  // namespace

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

struct Base {
  Case c;
  Form form;
};

std::optional<Base> first_accepted(Prober& prober,
                                   const std::vector<std::pair<Form, Case>>& cases) {
  for (const auto& [form, c] : cases)
    if (prober.accepts_basic(c)) return Base{c, form};
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
  Prober prober(exact);
  Probe none;
  const auto accepted = first_accepted(prober, packed(basic_cases(exact, pairing, dtype)));
  none.last_refusal = prober.refusal;
  none.asked = prober.asked;
  if (prober.died()) return none;
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
Probe probed(Prober& prober, const Subject& subject, const std::optional<Base>& base) {
  Probe probe;
  if (base) {
    Offer offer;
    offer.base = base->c;
    offer.form = base->form;
    probe_steps(prober, offer);
    probe_features(prober, subject, offer);
    if (!prober.died()) probe.offer = offer;
  }
  probe.last_refusal = prober.refusal;
  probe.asked = prober.asked;
  probe.reasons = prober.reasons;
  return probe;
}

}  // namespace

Probe probe_offer(Subject& subject, Pairing pairing, Dtype dtype) {
  if (subject.shapes != nullptr && subject.shapes->only) {
    Probe probe = probe_shapes(subject, pairing, dtype, {*subject.shapes->only});
    if (probe.offer) probe.offer->one_model = subject.shapes->only->angles.has_value();
    return probe;
  }
  if (const auto never = never_judged(subject, pairing, dtype)) return *never;
  Prober prober(subject);
  auto base = first_accepted(prober, packed(basic_cases(subject, pairing, dtype)));
  if (!base) base = first_accepted(prober, packed(unusual_cases(subject, pairing, dtype)));
  if (!base) base = first_accepted(prober, formed_cases(subject, pairing, dtype));
  return probed(prober, subject, base);
}

Probe probe_shapes(Subject& subject, Pairing pairing, Dtype dtype,
                   const std::vector<ModelShape>& shapes) {
  if (const auto never = never_judged(subject, pairing, dtype)) return *never;
  Prober prober(subject);
  const auto base = first_accepted(prober, shaped_cases(subject, pairing, dtype, shapes));
  return probed(prober, subject, base);
}

std::optional<Offer> first_offer(Subject& subject) {
  for (const Dtype dtype : tensor_dtypes)
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved})
      if (auto offer = probe_offer(subject, pairing, dtype).offer) return offer;
  return std::nullopt;
}

std::vector<std::string> feature_names(const Offer& offer) {
  std::vector<std::string> names;
  for (const Feature& f : features)
    if (offer.*f.flag) names.emplace_back(f.name);
  if (offer.any_size) {
    names.emplace_back("any_size");
  } else {
    for (const HeadSize size : offer.sizes)
      names.push_back(fmt::format("size_{}_{}", size.head_dim, size.rotary_dim));
  }
  return names;
}

std::vector<std::string> feature_names() {
  Offer all;
  for (const Feature& f : features) all.*f.flag = true;
  all.any_size = true;
  return feature_names(all);
}

}  // namespace ropewalk::harness
