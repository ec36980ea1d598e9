// A plugin that CMake builds twice: with TWICE it turns each short head twice, first into a scratch
// place, and so takes twice as long.
#include "harness/testing/right_rotation.h"

namespace ropewalk {
namespace {

void rotate(const rope_problem& p, const Head<float>& head) {
#ifdef TWICE
  constexpr std::int64_t room = 512;
  float scratch[room];
  if (p.rotary_dim <= room) rotate_to(p, head, scratch);
  asm volatile("" : : "r"(scratch) : "memory");  // so that the compiler keeps the first turn
#endif
  right_head(p, head);
}

const RegisteredKernel kernel{f32_table_kernel<rotate>("turn")};

}  // namespace
}  // namespace ropewalk
ROPEWALK_PLUGIN();
