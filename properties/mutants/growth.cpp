// Kernels that take the size of their own structs for that of the caller's (rope_kernel.h,
// "Growth").
#include <cstdint>
#include <cstring>

#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A check of versions as for a struct that never grows. Vulkan's and the kernel's openat2 let such
// structs grow instead.
const auto exact_size_asked = altered("mutant_exact_size_asked_table", [](KernelInfo& info) {
  info.supports = [](const rope_problem* p, const char** reason) {
    return p->struct_size == sizeof(rope_problem)
               ? supports_table(p, reason)
               : refuse(reason, "rope_problem is of another version");
  };
});

// Copies as many bytes as the caller says, into a struct with room for those of today. What stands
// behind it there is overwritten.
const auto copies_whole_struct =
    with_apply("mutant_copies_whole_struct_table", [](auto& p, auto& o) {
      struct {
        rope_problem problem;
        std::int64_t turns[8] = {1, 1, 1, 1, 1, 1, 1, 1};
      } kept;
      std::memcpy(reinterpret_cast<char*>(&kept), &p, p.struct_size);
      if (kept.turns[0] != 1) kept.problem.operation ^= 1;
      return apply<Correct>(&kept.problem, &o, nullptr);
    });

// Acts on a field that a later version might have.
const auto fields_behind_read = with_apply("mutant_fields_behind_read_table", [](auto& p, auto& o) {
  rope_problem problem = p;
  std::int32_t later = 0;
  if (p.struct_size > sizeof problem)
    std::memcpy(&later, reinterpret_cast<const char*>(&p) + sizeof problem, sizeof later);
  if (later != 0) problem.operation ^= 1;
  return apply<Correct>(&problem, &o, nullptr);
});

}  // namespace
}  // namespace ropewalk::mutants
