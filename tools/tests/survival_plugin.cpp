// Kernels for the transcript survival: what must neither end a run nor be called what it is not.
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "harness/testing/right_rotation.h"
#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

// Own angles in f32 data: the product has 64 bits, and cosl reduces it exactly. `zero_at`: the
// position that is taken for 0.
std::int32_t turn_by_own_angles(const rope_problem& p, const rope_operands& o,
                                std::int64_t zero_at) {
  for_each_token(p, o, [&](const Token& token) {
    const std::int64_t position = token.position == zero_at ? 0 : token.position;
    for_each_head<float>(p, o, token, [&](const Head<float>& head) {
      const std::int64_t half = p.rotary_dim / 2;
      const auto scale = static_cast<float>(scale_of(p));
      for (std::int64_t i = 0; i < half; ++i) {
        const long double angle = static_cast<long double>(position) * p.inv_freq[i];
        const auto [a, b] = pair_index(p.pairing, i, half);
        const auto cos = static_cast<float>(cosl(angle)), sin = static_cast<float>(sinl(angle));
        const float x1 = head.in[a], x2 = head.in[b], turned = static_cast<float>(sign_of(p)) * sin;
        head.out[a] = scale * (x1 * cos - x2 * turned);
        head.out[b] = scale * (x1 * turned + x2 * cos);
      }
    });
  });
  return ROPE_OK;
}
template <std::int64_t zero_at>
std::int32_t own_angles(const rope_problem* p, const rope_operands* o, void*) {
  return turn_by_own_angles(*p, *o, zero_at);
}
std::int32_t supports_own(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_INV_FREQ, ROPE_F32, reason);
}
std::int32_t supports_256(const rope_problem* p, const char** reason) {
  return p->tokens % 256 == 0 ? supports_own(p, reason) : refuse(reason, "multiples of 256 tokens");
}
std::int32_t supports_tables(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason);
}

// Right, and each row of 512 dims takes 25 ms.
std::int32_t takes_long(const rope_problem* p, const rope_operands* o, void* state) {
  const double rows = static_cast<double>(p->batch * p->tokens * p->tensor[0].heads);
  const std::clock_t begin = std::clock();
  while (p->rotary_dim == 512 && static_cast<double>(std::clock() - begin) <
                                     rows * 0.025 * static_cast<double>(CLOCKS_PER_SEC)) {
  }
  return right(p, o, state);
}

// As the system does when memory runs out: always, or where SURVIVAL_MARK names no file yet.
std::int32_t is_killed(const rope_problem* p, const rope_operands* o, void* state) {
  const char* mark = std::getenv("SURVIVAL_MARK");
  if (mark == nullptr || access(mark, F_OK) != 0) {
    // NOLINTNEXTLINE(cert-env33-c)
    if (mark != nullptr) (void)!std::system((std::string(": >") + mark).c_str());
    kill(getpid(), SIGKILL);
  }
  return right(p, o, state);
}

// Declares the thread that it keeps, which never rests.
std::int32_t begin_polling(const rope_problem*, void**) {
  static const bool begun = [] {
    std::thread([] {
      for (;;) std::clock();
    }).detach();
    return true;
  }();
  return begun ? ROPE_OK : ROPE_FAILED;
}

const RegisteredKernel kernels[] = {
    RegisteredKernel{{.name = "s_last_position",
                      .angle_contract = ROPE_CONTRACT_EXACT,
                      .supports = supports_own,
                      .apply = own_angles<2147483647>}},
    RegisteredKernel{{.name = "s_tokens_of_256",
                      .angle_contract = ROPE_CONTRACT_EXACT,
                      .supports = supports_256,
                      .apply = own_angles<1LL << 40>}},
    RegisteredKernel{{.name = "s_takes_long", .supports = supports_tables, .apply = takes_long}},
    RegisteredKernel{{.name = "s_killed", .supports = supports_tables, .apply = is_killed}},
    RegisteredKernel{{.name = "s_polls",
                      .supports = supports_tables,
                      .prepare = begin_polling,
                      .apply = right,
                      .exceptions = ROPE_KEEPS_THREADS}},
    RegisteredKernel{{.name = "s_right", .supports = supports_tables, .apply = right}},
};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
