// A correct kernel of the norm before the rotation (rope_norm) and of the append after it
// (rope_append), with a hook at every place where it can go wrong. Without norm and append, every
// mutant is correct.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {

// A call that a mutant may change.
struct FusedCall {
  rope_problem p;
  rope_operands o;
  rope_norm norm{};
  rope_norm_operands weights{};
  rope_append append{};
  rope_append_operands caches{};

  FusedCall(const rope_problem& problem, const rope_operands& operands) : p(problem), o(operands) {
    if (const rope_norm* given = norm_of(p)) norm = *given, weights = *norm_of(o);
    if (const rope_append* given = append_of(p)) append = *given, caches = *append_of(o);
  }
  std::int64_t tokens() const { return p.batch * p.tokens; }
  std::int64_t slot(std::int64_t token) const { return slot_at(append, caches, token); }
};

// A head on its way from the input to where it is stored.
struct FusedHead {
  std::uint32_t tensor;
  std::int64_t b, t, h, window, count;  // the window begins here, and has rotary_dim elements or 0
  float* x;
};

struct RightFused {
  virtual ~RightFused() = default;
  virtual void see(FusedCall&) {}
  virtual std::int64_t slot(const FusedCall& c, std::int64_t token) { return c.slot(token); }
  virtual std::int64_t place(const FusedCall& c, std::uint32_t tensor, std::int64_t slot) {
    return cache_index(c.append, tensor, slot);
  }
  virtual std::int64_t input_row(const FusedCall&, std::uint32_t, std::int64_t b) { return b; }
  virtual bool rotates(const FusedCall& c, std::uint32_t i) { return c.p.tensor[i].rotate != 0; }
  virtual double sum(const FusedCall&, const FusedHead& head) {
    double sum = 0;
    for (std::int64_t d = 0; d < head.count; ++d) sum += double{head.x[d]} * head.x[d];
    return sum;
  }
  virtual double factor(const FusedCall& c, const FusedHead& head) {
    return 1 / std::sqrt(sum(c, head) / static_cast<double>(head.count) + c.norm.epsilon);
  }
  virtual double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) {
    const void* const weights = c.weights.weight[head.tensor];
    if (weights == nullptr) return 1;
    return with_floating_type(Dtype{c.norm.weight_dtype}, [&]<class W>(std::type_identity<W>) {
      return double{TableOf<W>{static_cast<const W*>(weights)[d]}} +
             (c.norm.weight_plus_one != 0 ? 1 : 0);
    });
  }
  virtual double before_weight(double value) { return value; }
  virtual double after_weight(double value) { return value; }
  virtual void normalize(const FusedCall& c, const FusedHead& head) {
    const double by = factor(c, head);
    for (std::int64_t d = 0; d < head.count; ++d)
      head.x[d] =
          static_cast<float>(after_weight(before_weight(head.x[d] * by) * weight(c, head, d)));
  }
  virtual void rotated(const FusedCall&, const FusedHead&) {}
  virtual bool leaves_out(const FusedCall&, std::int64_t /*token*/) { return false; }
  virtual std::int64_t written_too(const FusedCall&, std::int64_t) { return -1; }
};

inline void turn(const FusedCall& c, const FusedHead& head, std::int64_t position) {
  const std::int64_t half = c.p.rotary_dim / 2;
  const auto scale = static_cast<float>(scale_of(c.p));
  for (std::int64_t i = 0; i < half; ++i) {
    const CosSin r = cos_sin(phase_of(turn_fraction(c.p.inv_freq[i]), position));
    const float cos = static_cast<float>(r.cos), sin = sign_of(c.p) * static_cast<float>(r.sin);
    const PairIndex at = pair_index(c.p.pairing, i, half);
    float &first = head.x[head.window + at.first], &second = head.x[head.window + at.second];
    const float x1 = first, x2 = second;
    first = scale * (x1 * cos - x2 * sin);
    second = scale * (x2 * cos + x1 * sin);
  }
}

// Computes one head and stores it, at `slot` if it is cached.
template <class Data>
void fuse_head(RightFused& hooks, const FusedCall& c, FusedHead head, std::int64_t position,
               std::int64_t slot) {
  const std::uint32_t i = head.tensor;
  const rope_tensor& s = c.p.tensor[i];
  const auto row = [&](std::int64_t b, std::int64_t batch, std::int64_t token, std::int64_t of) {
    return (c.p.batch > 1 ? b * batch : 0) + (c.p.tokens > 1 ? head.t * token : 0) +
           (s.heads > 1 ? head.h * of : 0);
  };
  const Data* const in =
      static_cast<const Data*>(c.o.tensor[i].in) +
      row(hooks.input_row(c, i, head.b), s.in_batch_stride, s.in_token_stride, s.in_head_stride);
  Data* out = static_cast<Data*>(c.o.tensor[i].out);
  if (marks(&c.append, i))
    out = static_cast<Data*>(c.caches.cache[i]) + hooks.place(c, i, slot) +
          head.h * c.append.head_stride[i];
  else
    out += row(head.b, s.out_batch_stride, s.out_token_stride, s.out_head_stride);
  const bool normed = marks(&c.norm, i), rotates = hooks.rotates(c, i);
  head.x = static_cast<float*>(c.o.workspace);
  for (std::int64_t d = 0; d < s.head_dim; ++d) head.x[d] = float{in[d]};
  head.count = s.head_dim;
  head.window = s.rotate != 0 ? s.rotary_offset : 0;
  if (normed) hooks.normalize(c, head);
  if (rotates) turn(c, head, position);
  hooks.rotated(c, head);
  if (in != out) std::copy_n(in, s.head_dim, out);  // of what is copied, NaN payloads too
  const std::int64_t begin = normed ? 0 : head.window;
  const std::int64_t end = normed ? s.head_dim : rotates ? begin + c.p.rotary_dim : begin;
  for (std::int64_t d = begin; d < end; ++d) out[d] = Data(head.x[d]);
}

template <class Data>
void fuse(RightFused& hooks, const FusedCall& c) {
  for_each_token(c.p, c.o, [&](const Token& token) {
    const std::int64_t number = token.batch * c.p.tokens + token.index;
    for (std::uint32_t i = 0; i < c.p.tensor_count; ++i) {
      const bool cached = marks(&c.append, i);
      const std::int64_t slot = cached ? hooks.slot(c, number) : 0;
      if (slot < 0 || (cached && hooks.leaves_out(c, number))) continue;
      for (std::int64_t h = 0; h < c.p.tensor[i].heads; ++h) {
        const FusedHead head{i, token.batch, token.index, h, 0, 0, nullptr};
        if (const std::int64_t more = cached ? hooks.written_too(c, slot) : -1; more >= 0)
          fuse_head<Data>(hooks, c, head, token.position, more);
        fuse_head<Data>(hooks, c, head, token.position, slot);
      }
    }
  });
}

// Of f32 data, or, by the end of its name, of bf16.
template <class Data, class Hooks>
KernelInfo fused_info(const char* name) {
  KernelInfo info = info_of<Correct>(name);
  info.angle_contract = ROPE_CONTRACT_EXACT;
  info.extensions = extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);
  info.flags |= ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT;
  info.workspace_bytes = [](const rope_problem* p) {  // a head, twice
    std::int64_t widest = 0;
    for (std::uint32_t i = 0; i < p->tensor_count; ++i)
      widest = std::max(widest, p->tensor[i].head_dim);
    return 2 * static_cast<std::size_t>(widest) * sizeof(float);
  };
  info.supports = [](const rope_problem* p, const char** reason) {
    return supports_data(*p, ROPE_ANGLES_INV_FREQ, dtype_of<Data>, reason);
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    Hooks hooks;
    FusedCall call(*p, *o);
    hooks.see(call);
    fuse<Data>(hooks, call);
    return ROPE_OK;
  };
  return info;
}
template <class Hooks>
RegisteredKernel fused(const char* name) {
  return RegisteredKernel(fused_info<float, Hooks>(name));
}
// Of bf16 data, with flags that say which values are rounded on the way.
template <class Hooks>
RegisteredKernel rounds(const char* name, std::uint32_t flags) {
  KernelInfo info = fused_info<Bf16, Hooks>(name);
  info.flags |= flags;
  return RegisteredKernel(info);
}
template <class Change>
struct Seen : RightFused {
  void see(FusedCall& c) override { Change{}(c); }
};
template <class Change>
RegisteredKernel fused_mutant(const char* name, Change) {
  return fused<Seen<Change>>(name);
}

}  // namespace ropewalk::mutants
