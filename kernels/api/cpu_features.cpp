#include "kernels/api/cpu_features.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ropewalk {
namespace {

// The place of a word in cpuid. `state` is the part of XCR0 that the operating system must save for
// it.
struct Word {
  const char* name;
  unsigned leaf, subleaf;
  int reg;  // eax, ebx, ecx, edx
  int bit;
  std::uint64_t state;
};
constexpr std::uint64_t no_state = 0, avx_state = 0x6, avx512_state = 0xe6;
constexpr std::array words = {
    Word{"sse4_2", 1, 0, 2, 20, no_state},        Word{"avx", 1, 0, 2, 28, avx_state},
    Word{"avx2", 7, 0, 1, 5, avx_state},          Word{"fma", 1, 0, 2, 12, avx_state},
    Word{"f16c", 1, 0, 2, 29, avx_state},         Word{"bmi2", 7, 0, 1, 8, no_state},
    Word{"avx512f", 7, 0, 1, 16, avx512_state},   Word{"avx512dq", 7, 0, 1, 17, avx512_state},
    Word{"avx512bw", 7, 0, 1, 30, avx512_state},  Word{"avx512vl", 7, 0, 1, 31, avx512_state},
    Word{"avx512cd", 7, 0, 1, 28, avx512_state},  Word{"avx512vbmi", 7, 0, 2, 1, avx512_state},
    Word{"avx512bf16", 7, 1, 0, 5, avx512_state}, Word{"avx512fp16", 7, 0, 3, 23, avx512_state},
};

#if defined(__x86_64__)
// XCR0 says which registers the operating system saves. It is readable only if OSXSAVE is set.
std::uint64_t saved_state() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1u << 27)) == 0) return 0;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

bool present(const Word& word, std::uint64_t state) {
  std::array<unsigned, 4> regs{};
  if (__get_cpuid_count(word.leaf, word.subleaf, &regs[0], &regs[1], &regs[2], &regs[3]) == 0)
    return false;
  const bool has_bit = ((regs[static_cast<std::size_t>(word.reg)] >> word.bit) & 1u) != 0;
  return has_bit && (state & word.state) == word.state;
}
#else
std::uint64_t saved_state() {
  return 0;
}
bool present(const Word&, std::uint64_t) {
  return false;
}
#endif

std::optional<std::vector<std::string>>& mask() {
  static std::optional<std::vector<std::string>> allowed;
  return allowed;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const auto comma = list.find(',');
    out.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return out;
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

[[noreturn]] void refuse(const std::string& name) {
  std::string known;
  for (const Word& w : words) known.append(known.empty() ? "" : ", ").append(w.name);
  throw std::invalid_argument("unknown CPU feature '" + name + "'; known: " + known);
}

}  // namespace

std::vector<std::string> cpu_features() {
  std::vector<std::string> out;
  const std::uint64_t state = saved_state();
  for (const Word& word : words)
    if (present(word, state) && (!mask() || contains(*mask(), word.name))) out.push_back(word.name);
  return out;
}

void mask_cpu_features(std::string_view list) {
  if (list == "all") {
    mask().reset();
    return;
  }
  std::vector<std::string> allowed = split(list);
  for (const std::string& name : allowed)
    if (std::none_of(words.begin(), words.end(), [&](const Word& w) { return w.name == name; }))
      refuse(name);
  mask() = std::move(allowed);
}

std::string missing_cpu_feature(const char* required) {
  if (required == nullptr) return {};
  const std::vector<std::string> have = cpu_features();
  for (const std::string& word : split(required))
    if (!contains(have, word)) return word.empty() ? "''" : word;
  return {};
}

}  // namespace ropewalk
