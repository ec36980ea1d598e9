// The baselines: the loops of `plain` and `complex` as a compiler makes them for users of this
// machine. The processor that loads the plugin may lack what -march=native takes, so nothing here
// runs before a kernel is called: there is only constant data (docs/decisions/0050).
#include "kernels/complex/complex_loop.h"
#include "kernels/plain/plain_loop.h"

extern const rope_kernel_list ropewalk_baselines;  // for entry.cpp

namespace ropewalk {
namespace {

std::int32_t supports_plain(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, p->tensor[0].in_dtype, reason);
}

std::int32_t apply_plain(const rope_problem* p, const rope_operands* o, void*) {
  with_data_type(*p, [&](auto data) { rotate_plainly<decltype(data)>(*p, *o); });
  return ROPE_OK;
}

#define TEXT_OF(words) #words
#define TEXT(macro) TEXT_OF(macro)  // of an unknown macro: its name, which begins with _
#ifdef __clang__
#define BASELINE_VERSION \
  TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__)
#else
#define BASELINE_VERSION TEXT(__GNUC__) "." TEXT(__GNUC_MINOR__) "." TEXT(__GNUC_PATCHLEVEL__)
#endif
#define BASELINE_BUILT "built by " BASELINE_COMMAND " " BASELINE_VERSION " -O3 -march=native"

struct Word {
  const char *name, *macro;
};
// The words of kernels/api/cpu_features.cpp.
constexpr Word cpu_words[] = {{"sse4_2", TEXT(__SSE4_2__)},
                              {"avx", TEXT(__AVX__)},
                              {"avx2", TEXT(__AVX2__)},
                              {"fma", TEXT(__FMA__)},
                              {"f16c", TEXT(__F16C__)},
                              {"bmi2", TEXT(__BMI2__)},
                              {"avx512f", TEXT(__AVX512F__)},
                              {"avx512dq", TEXT(__AVX512DQ__)},
                              {"avx512bw", TEXT(__AVX512BW__)},
                              {"avx512vl", TEXT(__AVX512VL__)},
                              {"avx512cd", TEXT(__AVX512CD__)},
                              {"avx512vbmi", TEXT(__AVX512VBMI__)},
                              {"avx512bf16", TEXT(__AVX512BF16__)},
                              {"avx512fp16", TEXT(__AVX512FP16__)}};
struct Words {
  char text[sizeof cpu_words] = {};  // room for words of 15 letters
};
// Those that the compiler takes for granted, with commas between.
constexpr Words needed = [] {
  Words out;
  char* end = out.text;
  for (const Word& word : cpu_words) {
    if (word.macro[0] == '_') continue;
    if (end != out.text) *end++ = ',';
    for (const char* from = word.name; *from != 0;) *end++ = *from++;
  }
  return out;
}();

// The macros come from kernels/CMakeLists.txt. Two forms of a loop may fuse another of the products
// into the sum, so no kernel promises equal bits.
constexpr rope_kernel baseline(const char* name, const char* summary, const char* source,
                               decltype(rope_kernel::supports) supports,
                               decltype(rope_kernel::apply) apply) {
  rope_kernel k{};
  k.struct_size = sizeof k;
  k.abi_version = ROPE_ABI_VERSION;
  k.name = name;
  k.summary = summary;
  k.source = source;
  k.cpu_features = needed.text;
  k.flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE;
  k.supports = supports;
  k.apply = apply;
  return k;
}

constexpr rope_kernel plain =
    baseline(BASELINE_COMPILER "_plain", "the five-line loop, " BASELINE_BUILT,
             "RoFormer, arXiv:2104.09864, section 3.4.2", supports_plain, apply_plain);
constexpr rope_kernel complex_product =
    baseline(BASELINE_COMPILER "_complex",
             "std::complex multiplication, " BASELINE_BUILT " " BASELINE_COMPLEX,
             "RoFormer, arXiv:2104.09864, eq. 12 and 13", supports_table,
             apply_to_floats<rotate_as_complex<float>, rotate_as_complex<double>>);
constexpr const rope_kernel* kernels[] = {&plain, &complex_product};

}  // namespace
}  // namespace ropewalk

// Without a flag for it, the complex product is that of the kernel `complex`, and is left out.
constinit const rope_kernel_list ropewalk_baselines = {sizeof(rope_kernel_list), ROPE_ABI_VERSION,
                                                       sizeof BASELINE_COMPLEX > 1 ? 2 : 1,
                                                       ropewalk::kernels};
