// Names are right: each planted error gets its own, noise and rounding get none.
#include "properties/diagnosis.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/data.h"
#include "properties/verify.h"

namespace ropewalk {
namespace {

// A correct kernel's outputs of a case with many tokens, heads and pairs, as a scene to spoil.
class Diagnoses : public testing::Test {
 protected:
  Diagnoses() : worker_(options()) {}

  static WorkerOptions options() {
    WorkerOptions o;
    o.executable = ROPEWALK_EXECUTABLE;
    o.plugins = {ROPEWALK_MUTANTS};
    return o;
  }
  Diagnosis of(const std::string& kernel, const std::string& words) {
    for (const KernelFacts& k : worker_.kernels()) {
      if (k.name != kernel) continue;
      Subject subject{worker_, oracle_, k};
      Case c = case_from_text(words);
      c.contract = k.angle_contract;
      return diagnose(subject, c);
    }
    throw std::runtime_error("no kernel " + kernel);
  }
  // The same with every output changed by `spoil`.
  template <class Spoil>
  Diagnosis of_spoiled(Spoil&& spoil) {
    for (const KernelFacts& k : worker_.kernels()) {
      if (k.name != "control_scalar_exact") continue;
      Subject subject{worker_, oracle_, k};
      Case c = case_from_text(usual);
      c.contract = ROPE_CONTRACT_EXACT;
      const Problem problem = make_problem(c, oracle_);
      const Execution execution = execute(subject, problem);
      Scene scene = scene_of(subject, problem, execution);
      for (Seen& s : scene.pairs) {
        spoil(s);
        s.wrong = !(std::abs(s.y - s.truth) <= s.bound);
      }
      return diagnose(scene);
    }
    throw std::runtime_error("no kernel control_scalar_exact");
  }

  static constexpr const char* usual =
      "batch=2 tokens=5 rotary_dim=16 positions=random:100:9000 q.heads=3 q.head_dim=20 "
      "q.offset=2 k.heads=2 k.head_dim=16";
  Worker worker_;
  Oracle oracle_;
};

TEST_F(Diagnoses, NamesPlantedErrors) {
  const std::string small = "batch=2 tokens=5 rotary_dim=16 positions=random:1:900 ";
  const struct {
    const char* kernel;
    std::string words, name;
  } cases[] = {
      {"mutant_wrong_way_table", "", "rotates the other way ("},
      {"mutant_backward_is_forward_exact", "op=transpose", "rotates forward where the transpose"},
      {"mutant_identity_table", "", "copies its input: not rotated at all ("},
      {"mutant_identity_table", "attention_scale=2", "scales, but does not rotate ("},
      {"mutant_zeros_table", "", "writes zeros ("},
      {"mutant_pairing_swapped_exact", "", "pairs elements as interleaved, not as half_split ("},
      {"mutant_not_scaled_table", "attention_scale=2", "does not apply attention_scale ("},
      {"mutant_scaled_twice_exact", "attention_scale=3", "applies attention_scale twice ("},
      {"mutant_scale_without_sign_table", "attention_scale=-2",
       "loses the sign of attention_scale"},
      {"mutant_row_zero_for_all_exact", "", "turns every batch row by the positions of row 0 ("},
      {"mutant_wide_positions_read_narrow_exact", "position_dtype=i64",
       "reads 64-bit positions as 32-bit ones ("},
      {"mutant_table_in_bf16_table", "", "rounds cos and sin to bfloat16 ("},
      {"mutant_frequency_in_bf16_exact", "", "rounds inv_freq to bfloat16 ("},
      {"mutant_exponent_off_by_one_exact", "", "turns pair i by the frequency of pair i - 1 ("},
      {"mutant_row_repeated_for_other_pairing_exact", "", "expands cos and sin for the other"},
      {"mutant_one_table_for_all_table", "own_tables=1", "turns every tensor by the table of the"},
  };
  for (const auto& c : cases) {
    const Diagnosis d = of(c.kernel, small + c.words +
                                         " q.heads=3 q.head_dim=16 k.heads=2 "
                                         "k.head_dim=16");
    EXPECT_TRUE(d.name.starts_with(c.name)) << c.kernel << ": " << to_text(d);
    EXPECT_EQ(d.name.find(", or "), std::string::npos) << d.name;
  }
}

TEST_F(Diagnoses, SaysWhere) {
  EXPECT_EQ(of("mutant_last_of_three_heads_table",
               "tokens=4 rotary_dim=8 positions=from:3:1 "
               "q.heads=3 q.head_dim=8 q.in_place=1")
                .where,
            "only in head 2");
  EXPECT_EQ(of_spoiled([](Seen& s) {
              if (s.at.tensor == 1 && s.pair >= 5) s.y = s.x;
            }).where,
            "only in k, only in pairs from 5 on");
}

TEST_F(Diagnoses, FitsOneNumber) {
  const Diagnosis offset = of("control_scalar_exact", usual);
  EXPECT_TRUE(offset.name.empty() && offset.where.empty()) << "a correct kernel has no error";
  EXPECT_TRUE(of_spoiled([](Seen& s) {
                const double f = std::pow(10000.0, -static_cast<double>(s.pair) / 8);
                s.y = s.truth * std::polar(1.0, 3 * f);
              }).name.starts_with("positions are off by +3 ("));
  EXPECT_TRUE(of_spoiled([](Seen& s) {
                s.y = s.truth * 1.25;
              }).name.starts_with("multiplies by 1.25 too much ("));
  const Diagnosis hair = of_spoiled([](Seen& s) {
    const double f = std::pow(10000.0, -static_cast<double>(s.pair) / 8);
    if (s.pair == 3) s.y = s.truth * std::polar(1.0, 1e-5 * f * static_cast<double>(s.position));
  });
  EXPECT_TRUE(hair.name.starts_with(
      "phase error grows with the position: the frequency of pair 3 is off by +1e-05 relative ("))
      << hair.name;
}

TEST_F(Diagnoses, NoiseHasNoName) {
  for (const double size : {1e-6, 1e-3, 0.5})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Diagnosis d = of_spoiled([&](Seen& s) {
        const std::uint64_t bits =
            hash(seed, s.placement, s.at.tensor, s.at.b, s.at.t, s.at.h, s.pair);
        s.y += std::polar(size, unit_value(bits, 24) * 7);
      });
      EXPECT_EQ(d.name, "") << size << " " << seed;
    }
}

TEST_F(Diagnoses, ThreeWrongPairsAreTooFewForAName) {
  int left = 3;
  const Diagnosis d = of_spoiled([&](Seen& s) {
    if (left-- > 0) s.y = s.x;
  });
  EXPECT_EQ(d.name, "");
}

}  // namespace
}  // namespace ropewalk
