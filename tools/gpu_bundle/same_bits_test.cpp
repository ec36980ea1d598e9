// Does a kernel of a device give the bits that the same body gives under the host launcher? On a
// device: 1,000 cases for each kernel, and every conversion between f32 and the 16-bit types. With
// the stand-in driver: fewer of both, so that this program itself is tried on every machine. Any
// two NaNs are equal here.
//
// All that it needs lies beside it: the command, the plugins and the stand-in.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/worker/own_executable.h"
#include "harness/worker/own_workers.h"
#include "properties/array/offered_features.h"
#include "properties/property.h"
#include "properties/search/draw.h"

namespace ropewalk::tools {
namespace {

using namespace harness;

std::string beside(const std::string& file) {
  return (std::filesystem::path(own_executable()).parent_path() / file).string();
}

// A kernel with the worker that runs it. `cannot_run` says why there is none.
struct Opened {
  Opened(const std::string& plugin, const std::string& name) : worker(options(plugin)) {
    try {
      for (const KernelFacts& kernel : worker.kernels())
        if (kernel.name == name) subject.facts = kernel;
      cannot_run = subject.facts.name.empty() ? "no kernel " + name : subject.facts.cannot_run;
    } catch (const WorkerError& e) {
      cannot_run = e.what();
    }
  }
  static WorkerOptions options(const std::string& plugin) {
    WorkerOptions made;
    made.executable = beside("ropewalk");
    made.with_device = !plugin.empty();
    if (!plugin.empty()) made.plugins = {beside(plugin)};
    return made;
  }

  Worker worker;
  Oracle oracle;
  Subject subject{worker, oracle, {}};
  std::string cannot_run;
};

// Where the kernels of a device come from, and how much is compared.
struct Source {
  const char *title, *plugin, *driver;
  const char* names[3];
  int cases;           // of each kernel
  std::uint64_t step;  // from one f32 pattern to the next; odd
};
void PrintTo(const Source& source, std::ostream* out) {
  *out << source.title;
}
const Source on_gpu{"Gpu", "ropewalk_cuda.so", "", {"cuda", "cuda_phase", "cuda_naive"}, 1000, 1};
const Source on_standin{"StandIn",
                        "ropewalk_device_mutants.so",
                        "ropewalk_standin_driver.so",
                        {"control_device_cuda_table", "control_device_cuda_phase_exact",
                         "control_device_cuda_naive_table"},
                        120,
                        16'381};
// The same bodies on the host, and the plugins that have them; empty: the tree.
const struct {
  const char *plugin, *name;
} on_host[] = {{"", "cuda_host"},
               {"", "cuda_phase_host"},
               {"ropewalk_mutants.so", "control_cuda_naive_table"}};

class SameBits : public testing::TestWithParam<Source> {
 protected:
  void SetUp() override {
    if (*source.driver != '\0') setenv("ROPEWALK_CUDA_DRIVER", beside(source.driver).c_str(), 1);
  }
  void TearDown() override {
    if (*source.driver != '\0') unsetenv("ROPEWALK_CUDA_DRIVER");
  }
  // True if the kernel runs here. Otherwise the test is skipped, or fails if a GPU is required.
  bool runs(const Opened& kernel) {
    if (kernel.cannot_run.empty()) return true;
    const char* required = std::getenv("ROPEWALK_REQUIRE_GPU");
    if (required != nullptr && std::string(required) == "1") ADD_FAILURE() << kernel.cannot_run;
    return false;
  }

  const Source& source = GetParam();
};

bool is_nan(Dtype dtype, const std::byte* at) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(data_type(dtype).bytes));
  if (dtype == Dtype::f32) return (bits & 0x7fffffffU) > 0x7f800000U;
  return (bits & 0x7fffU) > (dtype == Dtype::f16 ? 0x7c00U : 0x7f80U);
}

// Whether two outputs have the same bits.
bool are_same(const Buffer& buffer, const std::vector<std::byte>& a,
              const std::vector<std::byte>& b) {
  if (a == b) return true;
  if (a.size() != b.size()) return false;
  const auto bytes = static_cast<std::size_t>(buffer.element_bytes());
  for (std::size_t at = 0; at < a.size(); at += bytes)
    if (std::memcmp(&a[at], &b[at], bytes) != 0 &&
        !(is_nan(buffer.dtype, &a[at]) && is_nan(buffer.dtype, &b[at])))
      return false;
  return true;
}

// What differs on a case, in words; empty: nothing. `ran`: both kernels took the case.
std::string difference(Opened& device, Opened& host, const Case& c, bool& ran) {
  const Problem problem = make_problem(c, host.oracle);
  const Execution a = execute(device.subject, problem), b = execute(host.subject, problem);
  const auto unsupported = CallResult::Kind::unsupported, ok = CallResult::Kind::ok;
  ran = a.result.kind != unsupported || b.result.kind != unsupported;
  if (!ran) return {};
  if (a.result.kind != ok || b.result.kind != ok)
    return "on the device: " + a.result.text + ", on the host: " + b.result.text;
  for (std::size_t placement = 0; placement < 2; ++placement)
    for (std::size_t i = 0; i < problem.buffers.size(); ++i)
      if (!are_same(problem.buffers[i], a.outputs[placement][i], b.outputs[placement][i]))
        return "other bits in " + problem.buffers[i].name;
  return {};
}

// The first difference in `wanted` generated cases, in words. `count`: the cases that ran.
std::string compare_cases(Opened& device, Opened& host, int wanted, int& count) {
  const Pairing pairings[] = {Pairing::half_split, Pairing::interleaved};
  const Dtype types[] = {Dtype::f32, Dtype::f16, Dtype::bf16};
  const int each = (wanted + 5) / 6;
  std::mt19937_64 random(20210420);
  for (const Pairing pairing : pairings)
    for (const Dtype dtype : types) {
      const auto offer =
          properties::with_features(device.subject, probe_base(device.subject, pairing, dtype))
              .offer;
      if (!offer) continue;
      properties::Answers answers(device.subject, *offer);
      properties::CaseDraws draws(answers, *offer);
      draws.begin(properties::property_named("agreement"));
      for (int made = 0, ran_here = 0; ran_here < each && made < 2 * each; ++made) {
        const std::optional<Case> c = draws.next(properties::any_levels(random()));
        if (!c) break;
        bool ran = false;
        const std::string text = difference(device, host, *c, ran);
        if (!text.empty()) return text + ": " + to_text(*c);
        ran_here += ran ? 1 : 0;
        count += ran ? 1 : 0;
      }
    }
  return {};
}

TEST_P(SameBits, OnGeneratedCases) {
  for (int i = 0; i < 3; ++i) {
    Opened device(source.plugin, source.names[i]), host(on_host[i].plugin, on_host[i].name);
    if (!runs(device)) GTEST_SKIP() << source.names[i] << ": " << device.cannot_run;
    int count = 0;
    EXPECT_EQ(compare_cases(device, host, source.cases, count), "") << source.names[i];
    EXPECT_GE(count, source.cases) << source.names[i];
    if (HasFailure()) continue;
    std::cout << source.names[i] << " and " << on_host[i].name << ": the same bits on " << count
              << " cases (" << judged_on(device.subject.facts) << ")\n";
  }
}

// ---- conversions

// The bits of a value in a 16-bit type.
std::uint16_t narrowed(Dtype dtype, float value) {
  return dtype == Dtype::f16 ? F16(value).bits : Bf16(value).bits;
}
float widened_value(Dtype dtype, std::uint16_t bits) {
  return dtype == Dtype::f16 ? float{std::bit_cast<F16>(bits)} : float{std::bit_cast<Bf16>(bits)};
}

// A call of half_split pairs (x, 0) with sin = 0, which gives the rounded x * cos. It shows each
// conversion: x to f32, and a product to 16 bits.
class Conversions {
 public:
  Conversions(Opened& kernel, Dtype dtype, std::int64_t tokens)
      : kernel_(kernel), dtype_(dtype), tokens_(tokens) {
    Case c;
    c.kernel = kernel.subject.facts.name;
    c.dtype = dtype;
    c.tokens = tokens;
    c.rotary_dim = 2 * pairs;
    c.tensors[0].head_dim = 2 * pairs;
    c.inv_freq.assign(pairs, 0.0);
    problem_ = make_problem(c, kernel.oracle);
    auto& sin = content(problem_.tensor[0].sin);
    std::fill(sin.begin(), sin.end(), std::byte{0});
  }

  std::uint64_t values() const { return static_cast<std::uint64_t>(tokens_ * pairs); }

  /// x_of and cos_of give the element and the table entry of value i. Returns the first i with
  /// other bits than the rounded product, in words.
  template <class XOf, class CosOf>
  std::string wrong(XOf&& x_of, CosOf&& cos_of) {
    auto *x = content(problem_.tensor[0].in).data(), *cos = content(problem_.tensor[0].cos).data();
    for (std::int64_t i = 0; i < tokens_ * pairs; ++i) {
      const std::int64_t token = i / pairs, pair = i % pairs;
      const std::uint16_t at[2] = {x_of(i), 0};
      std::memcpy(x + 2 * (token * 2 * pairs + pair), &at[0], 2);
      std::memcpy(x + 2 * (token * 2 * pairs + pairs + pair), &at[1], 2);
      const float entry = cos_of(i);
      std::memcpy(cos + 4 * i, &entry, 4);
    }
    Execution execution;
    const Call call{protocol::step_supports | protocol::step_prepare | protocol::step_apply |
                    protocol::step_release};
    perform(kernel_.subject, problem_, call, execution, execution.outputs[0]);
    if (execution.result.kind != CallResult::Kind::ok) return execution.result.text;
    const auto& out = execution.outputs[0][static_cast<std::size_t>(problem_.tensor[0].out)];
    for (std::int64_t i = 0; i < tokens_ * pairs; ++i) {
      const float value = widened_value(dtype_, x_of(i)), entry = cos_of(i);
      const std::uint16_t expected = narrowed(dtype_, value * entry - 0.0F);
      std::byte expected_bytes[2];
      std::memcpy(expected_bytes, &expected, 2);
      const std::byte* got =
          &out[static_cast<std::size_t>(2 * (i / pairs * 2 * pairs + i % pairs))];
      if (std::memcmp(got, expected_bytes, 2) != 0 &&
          !(is_nan(dtype_, got) && is_nan(dtype_, expected_bytes)))
        return "value " + std::to_string(value) + " times entry " + std::to_string(entry);
    }
    return {};
  }

 private:
  static constexpr std::int64_t pairs = 4096;
  std::vector<std::byte>& content(int buffer) {
    return problem_.buffers[static_cast<std::size_t>(buffer)].content;
  }

  Opened& kernel_;
  Dtype dtype_;
  std::int64_t tokens_;
  Problem problem_;
};

// The first of the f32 patterns 0, step, 2 step, ... below 2^32 that is rounded otherwise.
std::string wrongly_rounded(Opened& kernel, Dtype dtype, std::uint64_t step) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32;
  const std::uint64_t count = (all + step - 1) / step;
  Conversions conversions(kernel, dtype, count < (1U << 20) ? 64 : 1024);
  const std::uint16_t one = narrowed(dtype, 1);
  for (std::uint64_t first = 0; first < count; first += conversions.values()) {
    const auto pattern = [&](std::int64_t i) {
      return std::bit_cast<float>(
          static_cast<std::uint32_t>((first + static_cast<std::uint64_t>(i)) * step % all));
    };
    const std::string text = conversions.wrong([&](std::int64_t) { return one; }, pattern);
    if (!text.empty()) return text;
  }
  return {};
}

// The first of all 65,536 patterns of 16 bits that is read otherwise: each times three factors.
std::string wrongly_read(Opened& kernel, Dtype dtype) {
  Conversions conversions(kernel, dtype, 48);
  return conversions.wrong([](std::int64_t i) { return static_cast<std::uint16_t>(i); },
                           [](std::int64_t i) {
                             const float factors[] = {1.0F, 1.5F, 0.1423F};
                             return factors[i >> 16];
                           });
}

TEST_P(SameBits, InConversions) {
  Opened kernel(source.plugin, source.names[0]);
  if (!runs(kernel)) GTEST_SKIP() << source.names[0] << ": " << kernel.cannot_run;
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    EXPECT_EQ(wrongly_read(kernel, dtype), "");
    EXPECT_EQ(wrongly_rounded(kernel, dtype, source.step), "");
    if (HasFailure()) continue;
    std::cout << source.names[0] << " " << data_type(dtype).word << ": "
              << (source.step == 1 ? "all" : "some of the")
              << " 2^32 values of f32 rounded, and all "
              << "65536 patterns read, as on the host (" << judged_on(kernel.subject.facts)
              << ")\n";
  }
}

INSTANTIATE_TEST_SUITE_P(Source, SameBits, testing::Values(on_standin, on_gpu),
                         [](const auto& source) { return std::string(source.param.title); });

// ---- controls: what this program must find

TEST(DifferentBits, AreFoundInCases) {
  Opened wrong("ropewalk_mutants.so", "mutant_half_truncated_bf16_table"), host("", "cuda_host");
  ASSERT_EQ(wrong.cannot_run, "");
  int count = 0;
  EXPECT_NE(compare_cases(wrong, host, 60, count).find("other bits in q.out"), std::string::npos);
}

TEST(DifferentBits, AreFoundInConversions) {
  Opened wrong("ropewalk_mutants.so", "mutant_half_truncated_bf16_table");
  ASSERT_EQ(wrong.cannot_run, "");
  EXPECT_EQ(wrongly_read(wrong, Dtype::bf16).find("value "), 0u);
  EXPECT_EQ(wrongly_rounded(wrong, Dtype::bf16, 16'381).find("value "), 0u);
}

}  // namespace
}  // namespace ropewalk::tools
