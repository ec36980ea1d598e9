// Kernels for the transcript causes, and for sentences_test: for each sentence of an explanation
// one of which it is true, and one that looks alike. Positions are packed int32.
#include <limits>
#include <vector>

#include "harness/testing/right_rotation.h"

namespace ropewalk {
namespace {

using I = std::int64_t;
using Rows = I (*)(const rope_problem&, const rope_operands&, const Token&);
using Rotate = void (*)(const rope_problem&, const Head<float>&);

KernelInfo with(const char* name, decltype(rope_kernel::apply) apply) {
  KernelInfo k = f32_table_kernel<nullptr>(name);
  k.apply = apply;
  return k;
}
template <Rotate rotate>
RegisteredKernel rotating(const char* name) {
  return RegisteredKernel(f32_table_kernel<rotate>(name));
}
template <void (*then)(const rope_problem&, const Head<float>&)>
void right_then(const rope_problem& p, const Head<float>& head) {
  right_head(p, head);
  then(p, head);
}

// ---- what outputs hold, and what is read beside the window

const auto adds = rotating<[](const rope_problem& p, const Head<float>& head) {
  const float held = head.out[0];
  right_head(p, head);
  head.out[0] += 0 * held;
}>("s_reads_output");
const auto nan = rotating<right_then<[](const rope_problem&, const Head<float>& head) {
  head.out[0] = std::numeric_limits<float>::quiet_NaN();
}>>("s_makes_nan");
const auto beside = rotating<right_then<[](const rope_problem& p, const Head<float>& head) {
  head.out[0] += 0 * head.in[p.rotary_dim + 3];
}>>("s_zero_times_beside");
const auto gap = rotating<
    right_then<[](const rope_problem&, const Head<float>& head) { head.out[0] = head.in[-1]; }>>(
    "s_reads_gap");
const auto partner = rotating<[](const rope_problem& p, const Head<float>& head) {
  const I half = p.rotary_dim / 2, far = p.tensor[0].head_dim / 2;
  for (I i = 0; i < 2 * half; ++i) head.out[i] = head.in[i];
  for (I i = 0; i < half; ++i) {
    const float a = head.out[i], b = head.out[far + i];
    head.out[i] = a * head.cos[i] - b * head.sin[i];
    head.out[far + i] = a * head.sin[i] + b * head.cos[i];
  }
}>("s_far_partner");
const RegisteredKernel head_0{with("s_head_0", [](auto* p, auto* o, void* state) {
  rope_problem seen = *p;
  seen.tensor[0].in_head_stride = 0;
  return right(&seen, o, state);
})};
const auto twice = rotating<right_then<[](const rope_problem&, const Head<float>& head) {
  head.out[1] = head.out[0];  // half_split: first elements
}>>("s_first_twice");
const auto louder = rotating<right_then<[](const rope_problem& p, const Head<float>& head) {
  for (I e = 0; e < p.rotary_dim; ++e) head.out[e] *= 1 + 0x1p-20F;
}>>("s_louder");

// ---- pairings

template <Pairing read, Pairing written>
void arranged(const rope_problem& p, const Head<float>& head) {
  const I half = p.rotary_dim / 2;
  std::vector<float> y(static_cast<std::size_t>(p.rotary_dim));
  for (I i = 0; i < half; ++i) {
    const PairIndex from = pair_index(read, i, half), to = pair_index(written, i, half);
    const float a = head.in[from.first], b = head.in[from.second];
    y[static_cast<std::size_t>(to.first)] = a * head.cos[i] - b * head.sin[i];
    y[static_cast<std::size_t>(to.second)] = a * head.sin[i] + b * head.cos[i];
  }
  for (I e = 0; e < p.rotary_dim; ++e) head.out[e] = y[static_cast<std::size_t>(e)];
}
const auto permuted =
    rotating<arranged<Pairing::interleaved, Pairing::half_split>>("s_writes_other");
const auto given = rotating<arranged<Pairing::half_split, Pairing::interleaved>>("s_reads_other");

// ---- rows of the table

std::int32_t at(const rope_problem& p, const rope_operands& o, I b, I t) {
  return static_cast<const std::int32_t*>(o.positions)[b * p.tokens + t];
}
template <Rows rows>
std::int32_t by_rows(const rope_problem* p, const rope_operands* o, void*) {
  for_each_token(*p, *o, [&](Token token) {
    token.table_row = std::min(std::max<I>(rows(*p, *o, token), 0), p->table_rows - 1);
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) { right_head(*p, head); });
  });
  return ROPE_OK;
}
template <Rows rows>
RegisteredKernel with_rows(const char* name) {
  return RegisteredKernel(with(name, by_rows<rows>));
}
I row_before(const rope_problem&, const rope_operands&, const Token& t) {
  return t.position - 1;
}
I row_behind(const rope_problem&, const rope_operands&, const Token& t) {
  return t.position + 1;
}
I calls = 0, first_position = 0;
I row_of_first(const rope_problem&, const rope_operands&, const Token&) {
  return first_position;
}
const auto before = with_rows<row_before>("s_row_before");
const auto behind = with_rows<row_behind>("s_row_behind");
const auto block = with_rows<[](const rope_problem& p, const rope_operands& o, const Token& t) {
  const I first = t.index / 8 * 8, from = first + 8 <= p.tokens ? at(p, o, t.batch, first) : 0;
  const bool taken = first + 8 <= p.tokens && at(p, o, t.batch, first + 7) - from == 7;
  return taken ? from + t.index - first : t.position;
}>("s_block_of_8");
const auto run = with_rows<[](const rope_problem& p, const rope_operands& o, const Token& t) {
  return at(p, o, t.batch, 0) + t.index;
}>("s_consecutive");
const auto index = with_rows<[](auto&, auto&, const Token& t) { return t.index; }>("s_index");
KernelInfo counting(const char* name, decltype(rope_kernel::apply) apply) {
  KernelInfo k = with(name, apply);
  k.prepare = [](const rope_problem*, void**) -> std::int32_t {
    calls = 0;
    return ROPE_OK;
  };
  return k;
}
template <I wrong>
std::int32_t wrong_in_call(const rope_problem* p, const rope_operands* o, void* state) {
  return calls++ == wrong ? by_rows<row_behind>(p, o, state) : right(p, o, state);
}
const RegisteredKernel first_call{counting("s_first_call", wrong_in_call<0>)};
const RegisteredKernel second_call{counting("s_second_call", wrong_in_call<1>)};
std::int32_t every_other(const rope_problem* p, const rope_operands* o, void* state) {
  static I all = 0;
  return all++ % 2 == 0 ? by_rows<row_behind>(p, o, state) : right(p, o, state);
}
const RegisteredKernel other_call{with("s_every_other", every_other)};
std::int32_t stale(const rope_problem* p, const rope_operands* o, void* state) {
  if (calls++ == 0) first_position = at(*p, *o, 0, 0);
  return by_rows<row_of_first>(p, o, state);
}
const RegisteredKernel kept{counting("s_stale_position", stale)};
const auto ascending = with_rows<[](const rope_problem& p, const rope_operands& o, const Token& t) {
  return t.position + (at(p, o, 0, 0) < at(p, o, 0, p.tokens - 1) ? 1 : 0);
}>("s_wrong_if_ascending");
KernelInfo f16_table(const char* name, decltype(rope_kernel::apply) apply) {
  KernelInfo k = with(name, apply);
  k.supports = [](const rope_problem* p, const char** reason) -> std::int32_t {
    const bool table = p->angle_source == ROPE_ANGLES_TABLE && p->table_dtype == ROPE_F16;
    return table ? ROPE_OK : refuse(reason, "needs a table of f16");
  };
  return k;
}
template <class Table, bool rounds>
std::int32_t from_f16(const rope_problem* p, const rope_operands* o, void*) {
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float, Table>(*p, *o, token, [&](const Head<float, Table>& head) {
      std::vector<float> c, s;
      for (I i = 0; i < p->rotary_dim / 2; ++i) {
        c.push_back(rounds ? float{Bf16(float{head.cos[i]})} : float{head.cos[i]});
        s.push_back(rounds ? float{Bf16(float{head.sin[i]})} : float{head.sin[i]});
      }
      right_head(*p, {head.in, head.out, c.data(), s.data()});
    });
  });
  return ROPE_OK;
}
const RegisteredKernel as_bf16{f16_table("s_f16_as_bf16", from_f16<Bf16, false>)};
const RegisteredKernel to_bf16{f16_table("s_f16_to_bf16", from_f16<F16, true>)};

// ---- a rounding of bf16 data

void rounding(const rope_problem& p, const Head<Bf16>& head) {
  const I half = p.rotary_dim / 2;
  const auto in_bf16 = [](float v) { return float{Bf16(v)}; };
  for (I i = 0; i < half; ++i) {
    const PairIndex e = pair_index(p.pairing, i, half);
    const float a{head.in[e.first]}, b{head.in[e.second]};
    const float c = in_bf16(head.cos[i]), s = in_bf16(head.sin[i]);
    head.out[e.first] = Bf16(in_bf16(a * c) - in_bf16(b * s));
    head.out[e.second] = Bf16(in_bf16(a * s) + in_bf16(b * c));
  }
}
const RegisteredKernel in_both{table_kernel<Bf16, rounding>("s_table_and_products")};

// ---- rows that are left out

template <I (*row)(const rope_problem&, const Token&, I)>
std::int32_t leaves_out(const rope_problem* p, const rope_operands* o, void*) {
  for_each_token(*p, *o, [&](const Token& token) {
    I h = 0;
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      if (row(*p, token, h++) < 40) right_head(*p, head);
    });
  });
  return ROPE_OK;
}
const RegisteredKernel batch_heads{
    with("s_batch_heads", leaves_out<[](const rope_problem& p, const Token& t, I h) {
           return t.batch * p.tensor[0].heads + h;
         }>)};
const RegisteredKernel tokens_heads{
    with("s_tokens_heads", leaves_out<[](const rope_problem& p, const Token& t, I h) {
           return t.index * p.tensor[0].heads + h;
         }>)};
const RegisteredKernel batch_tokens{
    with("s_batch_tokens", leaves_out<[](const rope_problem& p, const Token& t, I) {
           return t.batch * p.tokens + t.index;
         }>)};

// ---- caches, weights, a state

KernelInfo fused(const char* name, std::uint32_t kind, decltype(rope_kernel::apply) apply) {
  KernelInfo k = with(name, apply);
  k.extensions = extension_bit(kind);
  return k;
}
// Of one head.
std::int32_t all_but_slot_0(const rope_problem* p, const rope_operands* o, void*) {
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      if (head.out != append_of(*o)->cache[0]) right_head(*p, head);
    });
  });
  return ROPE_OK;
}
std::int32_t exchanged_weights(const rope_problem* p, const rope_operands* o, void* state) {
  rope_norm_operands other = *norm_of(*o);
  std::swap(other.weight[0], other.weight[1]);
  rope_operands seen = *o;
  seen.next = &other.ext;  // the norm is the only extension
  return right(p, &seen, state);
}
const RegisteredKernel not_slot_0{fused("s_not_slot_0", ROPE_EXT_APPEND, all_but_slot_0)};
const RegisteredKernel exchanged{fused("s_exchanged_weights", ROPE_EXT_NORM, exchanged_weights)};
const auto scale_kept = rotating<[](const rope_problem& p, const Head<float>& head) {
  static const double first_scale = p.attention_scale;
  rope_problem seen = p;
  seen.attention_scale = first_scale;
  right_head(seen, head);
}>("causes_scale_kept");

// ---- for the transcript causes: a sign error that many properties find, and another error beside
// it

void wrong_sign(const rope_problem& p, const Head<float>& head) {
  const I half = p.rotary_dim / 2;
  const auto scale = static_cast<float>(scale_of(p)), sign = static_cast<float>(sign_of(p));
  for (I i = 0; i < half; ++i) {
    const PairIndex at = pair_index(p.pairing, i, half);
    const float a = head.in[at.first], b = head.in[at.second], sin = sign * head.sin[i];
    head.out[at.first] = scale * (a * head.cos[i] - b * sin);
    head.out[at.second] = scale * (b * head.cos[i] - a * sin);
  }
}

// Sets the last element of a head to 0 where it is not rotated.
std::int32_t two_errors(const rope_problem* p, const rope_operands* o, void*) {
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) { wrong_sign(*p, head); });
    for (std::uint32_t i = 0; i < p->tensor_count; ++i) {
      const rope_tensor& s = p->tensor[i];
      if (s.rotate == 0 || s.rotary_offset + p->rotary_dim == s.head_dim) continue;
      for (std::int64_t h = 0; h < s.heads; ++h)
        static_cast<float*>(
            o->tensor[i].out)[token.batch * s.out_batch_stride + token.index * s.out_token_stride +
                              h * s.out_head_stride + s.head_dim - 1] = 0;
    }
  });
  return ROPE_OK;
}

// Writes zeros in the first call of a process.
std::int32_t zeros_at_first(const rope_problem* p, const rope_operands* o, void* state) {
  static bool called = false;
  if (called) return right(p, o, state);
  called = true;
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      for (std::int64_t i = 0; i < p->rotary_dim; ++i) head.out[i] = 0;
    });
  });
  return ROPE_OK;
}

const auto sign = rotating<wrong_sign>("causes_sign");
const RegisteredKernel both{with("causes_two_errors", two_errors)};
const RegisteredKernel first{with("causes_first_call", zeros_at_first)};

}  // namespace
}  // namespace ropewalk
ROPEWALK_PLUGIN();
