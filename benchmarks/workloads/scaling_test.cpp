// A rule that is registered here alone is read from a shape and from a config.json, and the
// frequencies of the timed shape are the rule's.
#include "benchmarks/workloads/workload_shape.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/refusal.h"
#include "benchmarks/testing/config_toys.h"
#include "benchmarks/workloads/model_shape.h"
#include "benchmarks/workloads/workload_layout.h"
#include "reference/frequencies.h"

namespace ropewalk::bench {
namespace {

const RegisteredRule steps({
    .name = "test_steps",
    .config_types = {"test_steps", "test_stairs"},
    .parameters = {{.key = "step_divisor", .config_key = "divisor", .least = 0x1p-30},
                   {.key = "first_pair",
                    .config_key = "from",
                    .meaning = "the first pair",
                    .most = 100,
                    .count = true,
                    .otherwise = 2}},
    .inv_freq =
        [](const RuleInput& in) {
          auto out = inverse_frequencies(in.rope_theta, in.rotary_dim);
          for (auto i = static_cast<std::size_t>(in.number("first_pair")); i < out.size(); ++i)
            out[i] /= in.number("step_divisor");
          return out;
        },
});

Workload from_shape(const std::string& more) {
  return parse_shape("q=4,k=2,d=16,pairing=interleaved,tokens=1" + more).front();
}

ModelConfig from_config(const std::string& members) {
  return parse(and_also("\"rope_scaling\": {" + members + "}"));
}

// rope_theta^(-i / 8) for the pairs below the first one, and a quarter of it for the others.
void expect_steps_from(std::size_t first, const Workload& w) {
  const auto plain = inverse_frequencies(10000, 16), stretched = inv_freq_of(w, false);
  ASSERT_EQ(stretched.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(stretched[i], i < first ? plain[i] : plain[i] / 4) << i;
  for (const double narrow : inv_freq_of(w, true))
    EXPECT_EQ(narrow, static_cast<double>(static_cast<float>(narrow)));
}

TEST(Scaling, ARuleOfOneFileIsReadFromAShape) {
  const Workload w = from_shape(",scaling=test_steps,scaling_values=4,3");
  EXPECT_EQ(w.scaling, "test_steps");
  EXPECT_EQ(w.scaling_values, (std::vector<double>{4, 3}));
  expect_steps_from(3, w);
  expect_steps_from(2, from_shape(",scaling=test_steps,scaling_values=4,2"));
  // Negative control: without the rule nothing is stretched.
  EXPECT_EQ(inv_freq_of(from_shape(""), false), inverse_frequencies(10000, 16));
}

TEST(Scaling, ARuleOfOneFileIsReadFromAConfig) {
  for (const char* type : {"test_steps", "test_stairs"}) {
    const auto config =
        from_config("\"rope_type\": \"" + std::string(type) + "\", \"divisor\": 4, \"from\": 3");
    expect_steps_from(3, config.shape);
    EXPECT_TRUE(config.not_timed.empty());
    EXPECT_NE(config.shape.source.find("rope_scaling.divisor = 4"), std::string::npos);
  }
  const auto assumed = from_config(R"("type": "test_steps", "divisor": 4)");
  expect_steps_from(2, assumed.shape);
  EXPECT_NE(assumed.shape.source.find("first_pair 2, as test_steps takes it"), std::string::npos);
  EXPECT_EQ(inv_freq_of(from_config(R"("type": "default")").shape, false),
            inverse_frequencies(10000, 16));
}

TEST(Scaling, WhatItsDataDoNotAllowIsRefusedInWords) {
  using Rows = std::vector<std::pair<std::string, std::string>>;
  for (const auto& [words, said] :
       Rows{{"test_steps,scaling_values=4", "scaling test_steps needs 2 scaling_values, got 1"},
            {"test_steps,scaling_values=2e9,3",
             "step_divisor is 2000000000; it must be 9.31323e-10 to 1e9"},
            {"test_steps,scaling_values=4,101",
             "the first pair is 101; it must be an integer from 1 to 100"},
            {"spiral,scaling_values=4", "scaling spiral is unknown"}})
    EXPECT_EQ(refusal_by<BadFile>([&] { from_shape(",scaling=" + words); }), "--shape: " + said);
  for (const auto& [members, said] :
       Rows{{R"("type": "test_stairs")", "divisor: is missing, and test_stairs needs it"},
            {R"("type": "test_steps", "divisor": 4, "from": 101)",
             "from: is 101; it must be an integer from 1 to 100"},
            {R"("type": "test_steps", "divisor": 0)",
             "divisor: step_divisor is 0; it must be 9.31323e-10 to 1e9"}})
    EXPECT_EQ(refusal_by<BadFile>([&] { from_config(members); }), "FILE: rope_scaling." + said);
}

}  // namespace
}  // namespace ropewalk::bench
