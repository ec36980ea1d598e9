#include "benchmarks/ceilings/ceilings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

constexpr std::int64_t rows = 5, row_stride = 400, longest_row = 337;
// Whole lines and parts of them, in long and in short rows of each type.
constexpr std::int64_t row_lengths[] = {longest_row, 128, 64, 63, 24, 17, 8, 2, 1};

template <class Real>
std::vector<Real> numbers() {
  std::vector<Real> out(static_cast<std::size_t>(rows * row_stride));
  std::iota(out.begin(), out.end(), Real(1));
  return out;
}

bool inside(std::size_t i, std::int64_t length) {
  return static_cast<std::int64_t>(i) % row_stride < length;
}

/// With the other sign; a 16-bit element is there as its bits.
template <class Real>
Real turned(Real x) {
  if constexpr (std::is_integral_v<Real>)
    return static_cast<Real>(x ^ 0x8000);
  else
    return -x;
}

template <class Real>
CeilingSpan span_of(const std::vector<Real>& in, std::vector<Real>& out, std::uint64_t flips,
                    std::int64_t length = longest_row) {
  constexpr std::int64_t bytes = sizeof(Real);
  return {in.data(), out.data(), rows, length * bytes, row_stride * bytes, flips};
}

template <class Real>
void expect_updates(Dtype dtype) {
  for (const std::int64_t length : row_lengths)
    for (const CeilingLoop& loop : update_loops()) {
      const std::vector<Real> before = numbers<Real>();
      std::vector<Real> x = before;
      loop.pass(span_of(x, x, sign_flips(dtype), length));
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(x[i], inside(i, length) ? turned(before[i]) : before[i])
            << loop.name << " at " << i << " of rows of " << length;
    }
}

template <class Real>
void expect_copies() {
  for (const std::int64_t length : row_lengths)
    for (const CeilingLoop& loop : copy_loops()) {
      const std::vector<Real> in = numbers<Real>();
      std::vector<Real> out(in.size());
      loop.pass(span_of(in, out, 0, length));
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], inside(i, length) ? in[i] : Real(0))
            << loop.name << " at " << i << " of rows of " << length;
    }
}

TEST(Ceilings, UpdatesTouchTheirElementsAndNoOther) {
  expect_updates<float>(Dtype::f32);
  expect_updates<double>(Dtype::f64);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) expect_updates<std::uint16_t>(dtype);
}

TEST(Ceilings, CopiesTouchTheirElementsAndNoOther) {
  expect_copies<float>();
  expect_copies<std::uint16_t>();
  expect_copies<double>();
}

TEST(Ceilings, AMaskedMachineStillHasLoops) {
  mask_cpu_features("");
  EXPECT_GE(update_loops().size(), 2u);
  EXPECT_GE(copy_loops().size(), 3u);
  mask_cpu_features("all");
}

TEST(Ceilings, PicksOneOfTheLoops) {
  std::vector<float> x = numbers<float>();
  const auto loops = update_loops();
  const std::vector<CeilingSpan> spans{span_of(x, x, sign_flips(Dtype::f32))};
  const CeilingLoop& best = pick_fastest(loops, spans);
  EXPECT_GE(&best, &loops.front());
  EXPECT_LE(&best, &loops.back());
}

// ---- what the compiler made of them

struct Instruction {
  std::uint64_t at;
  std::string text;
};

/// The code of the function at this address of the running program.
std::vector<Instruction> disassembled(void (*function)(const CeilingSpan&)) {
  std::vector<Instruction> out;
  std::uint64_t base = 0;  // the program is mapped first
  std::ifstream("/proc/self/maps") >> std::hex >> base;
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(function) - base;
  std::ostringstream command;
  command << "objdump -d --no-show-raw-insn --start-address=" << offset
          << " --stop-address=" << offset + 4096 << " /proc/" << getpid() << "/exe 2>/dev/null";
  FILE* const pipe = popen(command.str().c_str(), "r");
  if (pipe == nullptr) return out;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    char* end = nullptr;
    const std::uint64_t at = std::strtoull(line, &end, 16);
    if (!out.empty() && std::string(line).find(">:") != std::string::npos) break;  // the next one
    if (end != line && *end == ':') out.push_back({at, end + 1});
  }
  pclose(pipe);
  return out;
}

bool is_packed(const std::string& text) {
  return text.find("%xmm") != std::string::npos || text.find("%ymm") != std::string::npos ||
         text.find("%zmm") != std::string::npos;
}

/// The most bytes that a loop of this code stores by vectors in one step, and whether a loop holds
/// arithmetic of single elements of floating point.
struct Loops {
  std::int64_t most_bytes = 0;
  bool is_scalar = false;
};
Loops loops_of(const std::vector<Instruction>& code, std::int64_t width) {
  Loops out;
  for (std::size_t end = 0; end < code.size(); ++end) {
    const std::string& text = code[end].text;
    const std::size_t operand =
        text.find_first_of("0123456789abcdef", text.find_first_of(" \t", 2));
    if (text.size() < 2 || text[1] != 'j' || operand == std::string::npos) continue;
    const std::uint64_t target = std::strtoull(text.c_str() + operand, nullptr, 16);
    std::int64_t stored = 0;
    for (std::size_t i = 0; i < end; ++i) {
      if (code[i].at < target) continue;
      const std::string& each = code[i].text;
      const bool to_memory = is_packed(each) && each.find("),%") == std::string::npos &&
                             each.find(",") != std::string::npos && each.rfind(')') != each.npos &&
                             each.rfind(')') > each.rfind("mm");
      if (to_memory) stored += width;
      for (const char* scalar : {"mulss", "mulsd", "movss", "movsd"})
        out.is_scalar = out.is_scalar || each.find(scalar) != std::string::npos;
    }
    if (target <= code[end].at) out.most_bytes = std::max(out.most_bytes, stored);
  }
  return out;
}

void one_by_one(const CeilingSpan& span) {
  for (std::int64_t i = 0; i < span.row_bytes / 4; ++i)
    static_cast<volatile float*>(span.out)[i] = -static_cast<const volatile float*>(span.in)[i];
}

TEST(Ceilings, TheBulkIsMovedByVectors) {
#if !defined(__x86_64__) || defined(ROPEWALK_SANITIZED)
  GTEST_SKIP() << "reads optimized code of x86-64";
#endif
  if (std::system("objdump --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no objdump here";
  for (const bool copies : {false, true})
    for (const CeilingLoop& loop : copies ? copy_loops() : update_loops()) {
      const std::int64_t width = std::atoi(loop.name);
      if (width == 0) continue;  // memcpy, rep movsb
      const auto code = disassembled(loop.pass);
      ASSERT_GT(code.size(), 20u) << loop.name;
      const Loops found = loops_of(code, width);
      EXPECT_GE(found.most_bytes, 64) << loop.name << (copies ? ", copy" : ", update");
      EXPECT_FALSE(found.is_scalar) << loop.name;
    }
  EXPECT_TRUE(loops_of(disassembled(one_by_one), 16).is_scalar) << "the control";
}

}  // namespace
}  // namespace ropewalk::bench
