// A plugin for the transcript exhaustive with angles of its own. It is right except for the fault
// that FAR_FAULT in the environment asks for: at one pair of one far position, or in calls of one
// kind.
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
  while (fault("hang")) continue;         // a second of work is a hang, ten of sleep
  if (fault("wrong")) turn.sin += 2e-7F;  // 3.4 u: too much for a block, not for a full vector
  if (fault("nan")) turn.cos = std::nanf("");
  return turn;
}

// Wrong in calls of one kind, and right in all others. Real kernels fail so that step from position
// to position and refill a row of a table at multiples of its length, that read wide positions as
// narrow ones, or that have another body for the way back, for long calls or for large outputs.
class CallKind {
 public:
  explicit CallKind(const rope_problem& p) : p_(p) {}
  bool is_wrong_at(std::int64_t position) {
    constexpr std::int64_t multiple = 4096, late = 1'234'500'000;
    if (position != now_) before_ = now_, now_ = position;
    if (crossing_) return position % multiple == 0 && before_ == position - 1;
    if (long_) return p_.tokens > 4096;
    if (large_) return p_.tokens * p_.tensor[0].heads * p_.tensor[0].head_dim * 4 > 8 << 20;
    if (int64_) return p_.position_dtype == ROPE_I64 && position > late;
    return backward_ && p_.operation == ROPE_TRANSPOSE && position > late;
  }

 private:
  const rope_problem& p_;
  std::int64_t before_ = INT64_MIN, now_ = INT64_MIN;
  bool long_ = fault("long"), large_ = fault("large");
  bool crossing_ = fault("crossing"), int64_ = fault("int64"), backward_ = fault("backward");
};

std::int32_t supports(const rope_problem* p, const char** reason) {
  const std::int32_t dtype = p->tensor[0].in_dtype;
  const bool narrow = dtype == ROPE_BF16 || dtype == ROPE_F16;
  return supports_data(*p, ROPE_ANGLES_INV_FREQ, narrow ? dtype : ROPE_F32, reason);
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  CallKind kind(*p);
  const std::int32_t dtype = p->tensor[0].in_dtype;
  // Stored as the neighbour of what is right, at a pair where that is little more than is allowed.
  const bool next = fault("next"), bf16 = dtype == ROPE_BF16;
  const std::int64_t next_pair = bf16 ? 0 : 6;
  const auto turn_of = [&](std::int64_t i, std::int64_t position) {
    const CosSin r = cos_sin(phase_of(turn_fraction(p->inv_freq[i]), position));
    Turn turn{static_cast<float>(r.cos), static_cast<float>(r.sin)};
    if (kind.is_wrong_at(position) && i == far_pair) turn.sin += 2e-7F;
    if (next && position == far_position && i == next_pair) turn.sin -= bf16 ? 0x1p-8F : 0x1p-11F;
    return position == far_position && i == far_pair ? spoilt(turn) : turn;
  };
  if (bf16)
    rotate_by_own_angles<Bf16>(*p, *o, turn_of);
  else if (dtype == ROPE_F16)
    rotate_by_own_angles<F16>(*p, *o, turn_of);
  else
    rotate_by_own_angles<float>(*p, *o, turn_of);
  return ROPE_OK;
}

const RegisteredKernel registered{{.name = "test_far",
                                   .angle_contract = ROPE_CONTRACT_EXACT,
                                   .supports = supports,
                                   .workspace_bytes = own_angles_workspace_bytes,
                                   .apply = apply}};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
