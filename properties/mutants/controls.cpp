// Controls: correct kernels of unusual style. A suite that rejects one of them is wrong.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// The frame of all mutants without an error, so a mutant fails only for its hook.
const auto scalar = planted<Correct>("control_scalar_table");
const auto scalar_exact = planted<Correct>("control_scalar_exact");

// Fused multiply-adds in the body (2 u instead of sqrt(5) u) and none in the last n % 4 pairs. So
// the last bits of pairs of one head differ.
struct FusedBody : Correct {
  std::int64_t body = 0;
  void see(rope_problem& p, rope_operands&) override { body = p.rotary_dim / 2 / 4 * 4; }
  void rotate(const Pair& x) override {
    if (x.i >= body) return Correct::rotate(x);
    const float x1 = x.in[x.at.first], x2 = x.in[x.at.second];
    x.out[x.at.first] = x.scale * std::fma(x1, x.cos1, -(x2 * x.sin1));
    x.out[x.at.second] = x.scale * std::fma(x2, x.cos2, x1 * x.sin2);
  }
};
const auto fused_table = planted<FusedBody>("control_fma_table");
const auto fused_exact = planted<FusedBody>("control_fma_exact");

// std::complex computes in another order and has rules of its own for values that are not finite.
const auto by_complex = planted<Rotates>("control_complex_table", [](const Pair& x) {
  const std::complex<float> y = std::complex<float>(x.in[x.at.first], x.in[x.at.second]) *
                                std::complex<float>(x.cos1, x.sin1);
  x.out[x.at.first] = x.scale * y.real();
  x.out[x.at.second] = x.scale * y.imag();
});

// Copies everything first and then works in place, so it writes each output twice and reads it.
const auto then_rotate = planted<Sees>("control_copy_then_rotate_table", [](auto& p, auto& o) {
  for_each_out_row(p, o, [&](float* row, auto& s, std::uint32_t tensor, auto& token, auto head) {
    if (s.in_place == 0)
      std::copy_n(in_row(p, o, tensor, token.batch, token.index, head), s.head_dim, row);
  });
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) read_from_output(p, o, i);
});

// Angles in double. The product has two parts, so libm's exact reduction gets all of it.
const auto angles_in_f64 =
    planted<Rotation>("control_f64_angles", [](double frequency, std::int64_t position) -> CosSin {
      const auto m = static_cast<double>(position);
      const double angle = m * frequency;
      const double rest = std::fma(m, frequency, -angle);  // below 2^-20 at position 2^31
      const double c = std::cos(angle), s = std::sin(angle);
      return {c - rest * s, s + rest * c};
    });

// The angle is an f32 product, as in ggml's CPU kernel, Hugging Face and most training code, and
// the kernel declares it. One that claims to be exact is seen by agreement and position_sweep, and
// by relative_position and decay at large positions.
struct AnglesInF32 : Correct {
  CosSin rotation(double frequency, std::int64_t position) override {
    const float angle = static_cast<float>(position) * static_cast<float>(frequency);
    return {std::cos(double{angle}), std::sin(double{angle})};
  }
};
const auto angles_in_f32 = altered<AnglesInF32>(
    "control_f32_angle", [](KernelInfo& info) { info.angle_contract = ROPE_CONTRACT_F32_ANGLE; });
const auto claims_to_be_exact = planted<AnglesInF32>("mutant_angle_in_f32_exact");

// A table cut to 22 bits, so each entry is off by at most 4 u. The declared bound is 8 u, since 4 +
// sqrt(5) < 8.
struct TableIn22Bits : Correct {
  float entry(float value) override {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits + 1u + (bits >> 2 & 1u)) & ~3u);
  }
};
const auto declared_bound = altered<TableIn22Bits>("control_declared_bound_table",
                                                   [](KernelInfo& info) { info.error_bound = 8; });

// Applies the scale in each product, before all else. This rounds differently, also for subnormals.
const auto in_products = planted<Rotates>("control_scale_in_products_table", [](const Pair& x) {
  const float x1 = x.in[x.at.first], x2 = x.in[x.at.second];
  x.out[x.at.first] = x.scale * (x1 * x.cos1) - x.scale * (x2 * x.sin1);
  x.out[x.at.second] = x.scale * (x2 * x.cos2) + x.scale * (x1 * x.sin2);
});
const auto scale_first = planted<Rotates>("control_scale_first_table", [](const Pair& x) {
  const float x1 = x.scale * x.in[x.at.first], x2 = x.scale * x.in[x.at.second];
  x.out[x.at.first] = x1 * x.cos1 - x2 * x.sin1;
  x.out[x.at.second] = x2 * x.cos2 + x1 * x.sin2;
});

// Needs pointers at multiples of 64 bytes, declares it, and gives up without them.
bool aligned(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % 64 == 0;
}
const auto needs_alignment = altered("control_needs_alignment_table", [](KernelInfo& info) {
  info.flags |= ROPE_NEEDS_ALIGN_64;
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    bool all = aligned(o->positions);
    for (std::uint32_t i = 0; i < p->tensor_count; ++i) {
      const auto& t = o->tensor[i];
      all = all && aligned(t.in) && aligned(t.out) && aligned(t.cos) && aligned(t.sin);
    }
    return all ? apply<Correct>(p, o, nullptr) : ROPE_FAILED;
  };
});

// Kernels with declared restrictions. They must not get a false FAIL, and the rest is still judged.
// These do not check what the contract promises never to ask of them.
struct ReadsOutputs : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) read_from_output(p, o, i);
  }
};
const auto in_place_blindly = altered<ReadsOutputs>(
    "control_in_place_blindly_table", [](KernelInfo& info) { info.flags = ROPE_IN_PLACE; });
const auto out_of_place_blindly =
    altered("control_out_of_place_blindly_table", [](KernelInfo& info) {
      info.flags = ROPE_OUT_OF_PLACE;
      info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
        for (std::uint32_t i = 0; i < p->tensor_count; ++i)
          if (o->tensor[i].in == o->tensor[i].out) return ROPE_FAILED;
        return apply<Correct>(p, o, nullptr);
      };
    });

// A typical GPU kernel: one head size, contiguous, Q and K, no scale.
bool fixed_shape(const rope_problem& p) {
  if (p.rotary_dim != 128 || p.tensor_count > 2) return false;
  if (p.attention_scale != 0 && p.attention_scale != 1) return false;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    const std::int64_t row = s.heads * 128;
    const auto dense = [&](std::int64_t batch, std::int64_t token, std::int64_t head) {
      return (p.batch == 1 || batch == p.tokens * row) && (p.tokens == 1 || token == row) &&
             (s.heads == 1 || head == 128);
    };
    if (s.rotate == 0 || s.head_dim != 128 ||
        !dense(s.in_batch_stride, s.in_token_stride, s.in_head_stride) ||
        !dense(s.out_batch_stride, s.out_token_stride, s.out_head_stride))
      return false;
  }
  return true;
}
const auto fixed = limited("control_fixed_shape_table", [](auto& p) { return fixed_shape(p); });

// One token in each call: a decode kernel.
const auto one_token_only =
    limited("control_one_token_only_table", [](auto& p) { return p.tokens == 1; });

// Does everything that is allowed but looks forbidden. prepare allocates, opens files, prints, runs
// a thread to its end and fills tables for all states. apply changes the rounding and restores it,
// needs a deep stack, and uses its thread's variables for the first time. release reads inv_freq,
// which lives as long.
struct Liberty {
  std::vector<double> kept;
  const double* inv_freq;
};
thread_local std::int64_t calls_of_thread = 0;

const std::vector<float>& table_made_once() {
  static const std::vector<float> table(1000, 1.0f);
  return table;
}

std::int32_t prepare_at_liberty(const rope_problem* p, void** state) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file >= 0) close(file);
  std::printf("ready\n");
  auto* liberty = new Liberty{{p->inv_freq, p->inv_freq + p->rotary_dim / 2}, p->inv_freq};
  std::thread helper([&] { liberty->kept.push_back(table_made_once()[0]); });
  helper.join();
  *state = liberty;
  return ROPE_OK;
}
std::int32_t apply_at_liberty(const rope_problem* p, const rope_operands* o, void* state) {
  const int rounding = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  volatile char deep[300'000];
  for (std::size_t i = 0; i < sizeof deep; i += 4096) deep[i] = 1;
  ++calls_of_thread;
  std::fesetround(rounding);
  return static_cast<const Liberty*>(state)->kept.back() == 1 ? apply<Correct>(p, o, nullptr)
                                                              : ROPE_FAILED;
}
void release_at_liberty(void* state) {
  const auto* liberty = static_cast<const Liberty*>(state);
  if (!std::equal(liberty->kept.begin(), liberty->kept.end() - 1, liberty->inv_freq)) std::abort();
  delete liberty;
}

const auto at_liberty = altered("control_at_liberty_table", [](KernelInfo& info) {
  info.prepare = prepare_at_liberty;
  info.apply = apply_at_liberty;
  info.release = release_at_liberty;
});

}  // namespace
}  // namespace ropewalk::mutants
