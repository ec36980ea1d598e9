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
std::int32_t supports_exact_size(const rope_problem* p, const char** reason) {
  return p->struct_size == sizeof(rope_problem)
             ? supports_table(p, reason)
             : refuse(reason, "rope_problem is of another version");
}
KernelInfo exact_size() {
  KernelInfo info = table_info<Correct>("mutant_exact_size_asked_table");
  info.supports = supports_exact_size;
  return info;
}
const RegisteredKernel exact_size_asked(exact_size());

// Copies as many bytes as the caller says, into a struct with room for those of today. What stands
// behind it there is overwritten.
std::int32_t apply_to_copy(const rope_problem* p, const rope_operands* o, void*) {
  struct {
    rope_problem problem;
    std::int64_t turns[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  } kept;
  std::memcpy(reinterpret_cast<char*>(&kept), p, p->struct_size);
  if (kept.turns[0] != 1) kept.problem.operation ^= 1;
  Correct hooks;
  return run(hooks, kept.problem, *o);
}
KernelInfo whole_struct() {
  KernelInfo info = table_info<Correct>("mutant_copies_whole_struct_table");
  info.apply = apply_to_copy;
  return info;
}
const RegisteredKernel copies_whole_struct(whole_struct());

// Acts on a field that a later version might have.
std::int32_t apply_fields_behind(const rope_problem* p, const rope_operands* o, void*) {
  rope_problem problem = *p;
  std::int32_t later = 0;
  if (p->struct_size > sizeof problem)
    std::memcpy(&later, reinterpret_cast<const char*>(p) + sizeof problem, sizeof later);
  if (later != 0) problem.operation ^= 1;
  Correct hooks;
  return run(hooks, problem, *o);
}
KernelInfo fields_behind() {
  KernelInfo info = table_info<Correct>("mutant_fields_behind_read_table");
  info.apply = apply_fields_behind;
  return info;
}
const RegisteredKernel fields_behind_read(fields_behind());

}  // namespace
}  // namespace ropewalk::mutants
