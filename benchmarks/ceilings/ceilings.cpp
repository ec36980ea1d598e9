#include "benchmarks/ceilings/ceilings.h"

#include <cstring>

#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

void copy_by_memcpy(const CeilingSpan& s) {
  for (std::int64_t r = 0; r < s.rows; ++r)
    std::memcpy(static_cast<char*>(s.out) + r * s.stride,
                static_cast<const char*>(s.in) + r * s.stride,
                static_cast<std::size_t>(s.row_bytes));
}

#if defined(__x86_64__)
void copy_by_rep_movsb(const CeilingSpan& s) {
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const void* in = static_cast<const char*>(s.in) + r * s.stride;
    void* out = static_cast<char*>(s.out) + r * s.stride;
    auto bytes = static_cast<std::size_t>(s.row_bytes);
    __asm__ volatile("rep movsb" : "+S"(in), "+D"(out), "+c"(bytes) : : "memory");
  }
}
#endif

void add(const CeilingLoop* each, std::vector<CeilingLoop>& out) {
  for (; each->name != nullptr; ++each) out.push_back(*each);
}

void add_all(bool copies, std::vector<CeilingLoop>& out) {
  add(loops_of_16(copies), out);
#if defined(__x86_64__)
  if (missing_cpu_feature("avx2").empty()) add(loops_of_32(copies), out);
  if (missing_cpu_feature("avx512f").empty()) add(loops_of_64(copies), out);
#endif
}

}  // namespace

std::vector<CeilingLoop> update_loops() {
  std::vector<CeilingLoop> out;
  add_all(false, out);
  return out;
}

std::vector<CeilingLoop> copy_loops() {
  std::vector<CeilingLoop> out{{"memcpy", copy_by_memcpy}};
#if defined(__x86_64__)
  out.push_back({"rep movsb", copy_by_rep_movsb});
#endif
  add_all(true, out);
  return out;
}

std::uint64_t sign_flips(Dtype dtype) {
  const std::int64_t bits = 8 * data_type(dtype).bytes;
  std::uint64_t out = 0;
  for (std::int64_t bit = bits - 1; bit < 64; bit += bits) out |= std::uint64_t{1} << bit;
  return out;
}

}  // namespace ropewalk::bench
