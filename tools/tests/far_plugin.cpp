// A plugin for exhaustive_test with angles of its own. It is right except for the fault that
// FAR_FAULT in the environment asks for, at one pair of one far position.
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"
#include "kernels/common/own_angles.h"

namespace ropewalk {
namespace {

constexpr std::int64_t far_position = 1'234'567'890;
constexpr std::int64_t far_pair = 17;

bool fault(const char* name) {
  const char* asked = std::getenv("FAR_FAULT");
  return asked != nullptr && std::strcmp(asked, name) == 0;
}

Turn spoilt(Turn turn) {
  if (fault("crash")) std::raise(SIGSEGV);
  while (fault("hang")) pause();
  if (fault("wrong")) turn.sin += 2e-7F;  // 3.4 u: too much for a block, not for a full vector
  if (fault("nan")) turn.cos = std::nanf("");
  return turn;
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  rotate_by_own_angles<float>(*p, *o, [&](std::int64_t i, std::int64_t position) {
    const CosSin r = cos_sin(phase_of(turn_fraction(p->inv_freq[i]), position));
    const Turn turn{static_cast<float>(r.cos), static_cast<float>(r.sin)};
    return position == far_position && i == far_pair ? spoilt(turn) : turn;
  });
  return ROPE_OK;
}

const RegisteredKernel registered{{.name = "test_far",
                                   .angle_contract = ROPE_CONTRACT_EXACT,
                                   .supports = supports_own_angles,
                                   .workspace_bytes = own_angles_workspace_bytes,
                                   .apply = apply}};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
