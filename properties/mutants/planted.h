// One correct scalar f32 kernel, with a hook at every place where a kernel can go wrong. A mutant
// is a function in place of one hook, or a struct that overrides several. The name's end says what
// the kernel turns by: _exact, _angle or _angles, by angles of its own, else by a table.
//
//   const auto not_scaled = planted<Sees>("mutant_not_scaled_table", [](auto& p, auto&) {
//     p.attention_scale = 0;
//   });
//   const auto other = planted<ErrorOfManyHooks>("mutant_other_exact");
//
// Mutants are kernels. They include kernels/api and kernels/common, and nothing of the suite.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>
#include <type_traits>

#include "kernels/api/half.h"
#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"
#include "kernels/common/own_angles.h"

namespace ropewalk::mutants {

/// One pair of one head during the computation. cos1 and sin1 make the first output, cos2 and sin2
/// the second. They are equal in a correct kernel. `in` and `out` point to the rotated window.
struct Pair {
  const float* in;
  float* out;
  PairIndex at;
  float cos1, sin1, cos2, sin2, scale;
  std::int64_t i;  ///< index of the pair in the window
};

/// The hooks, each with the correct behaviour. One object lives for one call of apply.
class Correct {
 public:
  virtual ~Correct() = default;

  /// Changes the call before the kernel reads it, as most errors misread the problem.
  virtual void see(rope_problem&, rope_operands&) {}
  virtual void locate(const rope_problem&, Token&) {}
  virtual double frequency(const rope_problem& p, std::int64_t i) { return p.inv_freq[i]; }
  virtual CosSin rotation(double frequency, std::int64_t position) {
    return cos_sin(phase_of(turn_fraction(frequency), position));
  }
  virtual float entry(float value) { return value; }  ///< of a table, given or made
  virtual float sin_sign(const rope_problem& p) {
    return p.operation == ROPE_TRANSPOSE ? -1.0f : 1.0f;
  }
  /// Which entries of its row turn the two elements of pair i.
  virtual PairIndex entries(const rope_problem&, std::int64_t i) { return {i, i}; }
  virtual bool leaves_out(const rope_problem&, std::int64_t) { return false; }
  virtual void rotate(const Pair& x) {
    const float x1 = x.in[x.at.first], x2 = x.in[x.at.second];
    x.out[x.at.first] = x.scale * (x1 * x.cos1 - x2 * x.sin1);
    x.out[x.at.second] = x.scale * (x2 * x.cos2 + x1 * x.sin2);
  }
  virtual void finish(const rope_problem&, const rope_operands&) {}
};

/// Runs the kernel with its hooks.
std::int32_t run(Correct& hooks, const rope_problem& p, const rope_operands& o);

std::int32_t supports_table(const rope_problem* p, const char** reason);
constexpr auto supports_angles = supports_own_angles;
constexpr auto row_bytes = own_angles_workspace_bytes;

template <class Hooks>
std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  Hooks hooks;
  return run(hooks, *p, *o);
}

/// The description of a kernel with these hooks.
template <class Hooks>
KernelInfo info_of(const char* name) {
  KernelInfo info;
  info.name = name;
  info.supports = supports_table;
  info.apply = apply<Hooks>;
  const std::string_view words = name;
  if (words.ends_with("_exact") || words.ends_with("_angle") || words.ends_with("_angles")) {
    info.angle_contract = ROPE_CONTRACT_EXACT;
    info.supports = supports_angles;
    info.workspace_bytes = row_bytes;
  }
  return info;
}
/// The same for a kernel with a state of this type for each problem, made from it if it can be.
template <class State>
std::int32_t make_state(const rope_problem* p, void** state) {
  if constexpr (std::is_constructible_v<State, const rope_problem&>)
    *state = new (std::nothrow) State(*p);
  else
    *state = new (std::nothrow) State();
  return *state != nullptr ? ROPE_OK : ROPE_FAILED;
}
template <class State>
void drop_state(void* state) {
  delete static_cast<State*>(state);
}
template <class State>
KernelInfo with_state(KernelInfo info) {
  info.prepare = make_state<State>;
  info.release = drop_state<State>;
  return info;
}

/// A kernel with these hooks.
template <class Hooks>
RegisteredKernel planted(const char* name) {
  return RegisteredKernel(info_of<Hooks>(name));
}
/// The same, with `change` made to its description.
template <class Hooks = Correct, class Change>
RegisteredKernel altered(const char* name, Change change) {
  KernelInfo info = info_of<Hooks>(name);
  change(info);
  return RegisteredKernel(info);
}
/// A kernel whose apply is this.
template <class Apply>
RegisteredKernel with_apply(const char* name, Apply) {
  return altered(name, [](KernelInfo& info) {
    info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
      return Apply{}(*p, *o);
    };
  });
}
/// Makes a kernel refuse what `accepts(problem)` does not take.
template <class Accepts, decltype(supports_table) otherwise>
std::int32_t supports_limited(const rope_problem* p, const char** reason) {
  return Accepts{}(*p) ? otherwise(p, reason) : refuse(reason, "outside this kernel's limits");
}
template <class Accepts>
void limit(KernelInfo& info, Accepts) {
  info.supports = info.angle_contract == ROPE_CONTRACT_TABLE
                      ? supports_limited<Accepts, supports_table>
                      : supports_limited<Accepts, supports_angles>;
}
template <class Hooks = Correct, class Accepts>
RegisteredKernel limited(const char* name, Accepts accepts) {
  return altered<Hooks>(name, [&](KernelInfo& info) { limit(info, accepts); });
}
/// A kernel that makes `misread(problem, operands, state)` of each call, and is correct otherwise.
template <class State, class Misread>
KernelInfo remembering(const char* name, Misread) {
  KernelInfo info = with_state<State>(info_of<Correct>(name));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    rope_problem seen = *p;
    rope_operands given = *o;
    Misread{}(seen, given, *static_cast<State*>(state));
    return apply<Correct>(&seen, &given, nullptr);
  };
  return info;
}

// One hook each, replaced by a function without captures.
template <class F>
struct Sees : Correct {
  void see(rope_problem& p, rope_operands& o) override { F{}(p, o); }
};
template <class F>
struct SeesEach : Correct {  ///< each tensor
  void see(rope_problem& p, rope_operands&) override {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) F{}(p, p.tensor[i]);
  }
};
template <class F>
struct WrongWhen : Correct {  ///< turns in the opposite direction under a condition
  void see(rope_problem& p, rope_operands&) override {
    if (F{}(p)) p.operation = ROPE_TRANSPOSE - p.operation;
  }
};
template <class F>
struct Locates : Correct {
  void locate(const rope_problem& p, Token& token) override { F{}(p, token); }
};
template <class F>
struct Frequency : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override { return F{}(p, i); }
};
template <class F>
struct Rotation : Correct {
  CosSin rotation(double frequency, std::int64_t position) override {
    return F{}(frequency, position);
  }
};
template <class F>
struct Rotates : Correct {
  void rotate(const Pair& x) override { F{}(x); }
};
template <class F>
struct Entries : Correct {
  PairIndex entries(const rope_problem& p, std::int64_t i) override { return F{}(p, i); }
};
template <class F>
struct Finishes : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override { F{}(p, o); }
};

/// A kernel with one hook replaced by a function.
template <template <class> class Hook, class F>
RegisteredKernel planted(const char* name, F) {
  return planted<Hook<F>>(name);
}

/// A row of an output or an input, in the contract's layout.
float* out_row(const rope_problem& p, const rope_operands& o, std::uint32_t tensor,
               std::int64_t batch, std::int64_t token, std::int64_t head);
const float* in_row(const rope_problem& p, const rope_operands& o, std::uint32_t tensor,
                    std::int64_t batch, std::int64_t token, std::int64_t head);

/// The nearest bfloat16 of a finite value, ties to even.
inline float to_bf16(float value) {
  return Bf16{value};
}

inline void allocate() {
  void* volatile memory = std::malloc(100);
  std::free(memory);
}

/// Gives a call other positions: [batch, tokens], packed.
inline void read_positions_from(rope_problem& p, rope_operands& o, const std::int64_t* positions) {
  p.position_dtype = ROPE_I64;
  p.position_token_stride = 1;
  p.position_batch_stride = p.tokens;
  o.positions = positions;
}

/// Makes a tensor read its input from where its output lies.
inline void read_from_output(rope_problem& p, rope_operands& o, std::uint32_t tensor) {
  rope_tensor& s = p.tensor[tensor];
  o.tensor[tensor].in = o.tensor[tensor].out;
  s.in_batch_stride = s.out_batch_stride;
  s.in_token_stride = s.out_token_stride;
  s.in_head_stride = s.out_head_stride;
}

/// Calls visit(row, tensor, index of the tensor, token) for every row of an output.
template <class Visit>
void for_each_out_row(const rope_problem& p, const rope_operands& o, Visit&& visit) {
  for_each_token(p, o, [&](const Token& token) {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i)
      for (std::int64_t h = 0; h < p.tensor[i].heads; ++h)
        visit(out_row(p, o, i, token.batch, token.index, h), p.tensor[i], i, token, h);
  });
}

}  // namespace ropewalk::mutants
