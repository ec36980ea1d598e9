// One correct scalar f32 kernel, with a hook at every place where a kernel can go wrong. A mutant
// is a struct that overrides a hook, for tables, for angles of its own, or for both:
//
//   struct WrongWay : Correct {
//     float sin_sign(const rope_problem& p) override { return -Correct::sin_sign(p); }
//   };
//   const RegisteredKernel table = on_table<WrongWay>("mutant_wrong_way_table");
//   const RegisteredKernel exact = on_angles<WrongWay>("mutant_wrong_way_exact");
//
// Mutants are kernels. They include kernels/api and kernels/common, and nothing of the suite.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "kernels/api/half.h"
#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"

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
  /// The elements of pair i in the window. Below: which entries of its row turn its two elements.
  virtual PairIndex elements(const rope_problem& p, std::int64_t i) {
    return pair_index(p.pairing, i, p.rotary_dim / 2);
  }
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
std::int32_t supports_angles(const rope_problem* p, const char** reason);
/// The size in bytes of the row of cos and sin for own angles.
std::size_t row_bytes(const rope_problem* p);

template <class Hooks>
std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  Hooks hooks;
  return run(hooks, *p, *o);
}

/// The description of a kernel with these hooks, for mutants that change more of it.
template <class Hooks>
KernelInfo table_info(const char* name) {
  KernelInfo info;
  info.name = name;
  info.supports = supports_table;
  info.apply = apply<Hooks>;
  return info;
}
template <class Hooks>
KernelInfo angles_info(const char* name) {
  KernelInfo info = table_info<Hooks>(name);
  info.angle_contract = ROPE_CONTRACT_EXACT;
  info.supports = supports_angles;
  info.workspace_bytes = row_bytes;
  return info;
}
/// The same for a kernel with a state of this type for each problem.
template <class State>
std::int32_t make_state(const rope_problem*, void** state) {
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
template <class Hooks>
RegisteredKernel on_table(const char* name) {
  return RegisteredKernel(table_info<Hooks>(name));
}
template <class Hooks>
RegisteredKernel on_angles(const char* name) {
  return RegisteredKernel(angles_info<Hooks>(name));
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

/// Calls visit(rope_tensor&) for every tensor.
template <class Visit>
void for_each_tensor(rope_problem& p, Visit&& visit) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) visit(p.tensor[i]);
}

}  // namespace ropewalk::mutants
