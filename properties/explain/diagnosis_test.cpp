// Tests the names: each planted error gets its own name, noise and rounding get none, and no error
// gets the name of another.
#include "properties/explain/diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "harness/cases/data.h"
#include "harness/testing/own_worker.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// A correct kernel's outputs of a case with many tokens, heads and pairs, which a test spoils.
class Diagnoses : public testing::Test {
 protected:
  static Case case_of(const std::string& text) {
    Case c = case_from_text(text);
    c.contract = ROPE_CONTRACT_EXACT;
    return c;
  }
  // Changes every output of a correct kernel by `spoil`. Returns the diagnosis of a case together
  // with a smaller case.
  Diagnosis of_spoiled(const std::function<void(Seen&)>& spoil, const std::string& words = usual,
                       const std::string& smaller = "") {
    Subject subject = subject_of(worker_, oracle_, "phase");
    const Look look = [&, right = look_at(subject)](const Case& c, Calls calls) {
      std::optional<Scene> scene = right(c, calls);
      if (!scene) return scene;
      for (Seen& s : scene->pairs) {
        spoil(s);
        s.wrong = !(std::abs(s.y - s.truth) <= s.bound);
      }
      return scene;
    };
    return diagnose(look, case_of(smaller.empty() ? words : smaller), case_of(words));
  }

  static constexpr const char* usual =
      "batch=2 tokens=5 rotary_dim=16 positions=random:100:9000 q.heads=3 q.head_dim=20 "
      "q.offset=2 k.heads=2 k.head_dim=16";
  Worker worker_{options()};
  Oracle oracle_;
};

TEST_F(Diagnoses, SaysWhere) {
  EXPECT_EQ(of_spoiled([](Seen& s) { s.y = s.at.h == 2 ? s.x : s.y; },
                       "tokens=4 rotary_dim=8 positions=from:3:1 q.heads=3 q.head_dim=8")
                .where,
            "only in head 2");
  EXPECT_EQ(of_spoiled([](Seen& s) { s.y = s.at.tensor == 1 && s.pair >= 5 ? s.x : s.y; }).where,
            "only in k, only in pairs from 5 on");
}

TEST_F(Diagnoses, FitsOneNumber) {
  EXPECT_TRUE(of_spoiled([](Seen& s) {
                const double f = std::pow(10000.0, -static_cast<double>(s.pair) / 8);
                s.y = s.truth * std::polar(1.0, 3 * f);
              }).cause.words.starts_with("turns by position m + 3, not m ("));
  EXPECT_TRUE(of_spoiled([](Seen& s) {
                s.y = s.truth * 1.25;
              }).cause.words.starts_with("multiplies by 1.25 too much ("));
  const Diagnosis hair = of_spoiled([](Seen& s) {
    const double f = std::pow(10000.0, -static_cast<double>(s.pair) / 8);
    if (s.pair == 3) s.y = s.truth * std::polar(1.0, 1e-5 * f * static_cast<double>(s.position));
  });
  EXPECT_TRUE(hair.cause.words.starts_with(
      "phase error grows with the position: frequencies are too high by 1e-05 of their value ("))
      << hair.cause.words;
  EXPECT_EQ(hair.where, "only in pair 3");
}

TEST_F(Diagnoses, NoiseHasNoName) {
  for (const double size : {1e-6, 1e-3, 0.5})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Diagnosis d = of_spoiled([&](Seen& s) {
        const std::uint64_t bits =
            hash(seed, s.placement, s.at.tensor, s.at.b, s.at.t, s.at.h, s.pair);
        s.y += std::polar(size, unit_value(bits, 24) * 7);
      });
      EXPECT_EQ(d.cause.words, "") << size << " " << seed;
    }
}

TEST_F(Diagnoses, ThreeWrongPairsAreTooFewForAName) {
  int left = 3;
  const Diagnosis d = of_spoiled([&](Seen& s) { s.y = left-- > 0 ? s.x : s.y; });
  EXPECT_EQ(d.cause.words, "");
}

TEST_F(Diagnoses, TwoNaNsDifferInTheirBits) {
  Scene scene{make_problem(case_of(usual), oracle_), oracle_, {}, {}};
  scene.copies.push_back({{0, 0, 0, 0}, 0, 5, 0, NAN, NAN, true, false, 0x7fc00001, 0x7fa00000});
  EXPECT_NE(first_wrong(scene).find("got nan (0x7fc00001), expected nan (0x7fa00000);"),
            std::string::npos);
}

// ---- no error gets the name of another

using C = std::complex<double>;

struct PlantedCause {
  const char* what;
  void (*spoil)(Seen&);
  /// names that are correct too; an empty diagnosis always is
  std::vector<std::string> true_names = {};
};

C turned_by(const C& x, double angle) {
  return x * std::polar(1.0, angle);
}
double frequency_of(const Seen& s) {  // rotary_dim 16 in every case below
  return std::pow(10000.0, -static_cast<double>(s.pair) / 8);
}
C at_position(const Seen& s, std::int64_t position) {
  return turned_by(s.x, static_cast<double>(position) * frequency_of(s));
}
float cut(double value) {  // to bfloat16, towards 0
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) &
                              0xffff0000u);
}

const PlantedCause planted[] = {
    {"rotates the other way",
     [](Seen& s) { s.y = s.x * std::conj(s.r); },
     {"rotates the other way (", "rotates the other way, or loses the sign of negative"}},
    {"the sign of sin in second elements alone",
     [](Seen& s) { s.y = C(s.truth.real(), (s.x * std::conj(s.r)).imag()); },
     {"subtracts in second elements where it should add ("}},
    {"the sign of sin in first elements alone",
     [](Seen& s) { s.y = C((s.x * std::conj(s.r)).real(), s.truth.imag()); },
     {"adds in first elements where it should subtract ("}},
    {"zeros in second elements", [](Seen& s) { s.y = s.truth.real(); }},
    {"second elements are copies", [](Seen& s) { s.y = C(s.truth.real(), s.x.imag()); }},
    {"second elements from first outputs",
     [](Seen& s) { s.y = C(s.truth.real(), (C(s.truth.real(), s.x.imag()) * s.r).imag()); },
     {"computes second elements from first outputs, not from first inputs ("}},
    {"first elements from second outputs",
     [](Seen& s) { s.y = C((C(s.x.real(), s.truth.imag()) * s.r).real(), s.truth.imag()); }},
    {"no sin at all", [](Seen& s) { s.y = s.x * s.r.real(); }},
    {"half a sin", [](Seen& s) { s.y = s.x * C(s.r.real(), s.r.imag() / 2); }},
    {"cos and sin exchanged",
     [](Seen& s) { s.y = s.x * C(s.r.imag(), s.r.real()); },
     {"has cos and sin exchanged ("}},
    {"|sin|", [](Seen& s) { s.y = s.x * C(s.r.real(), std::abs(s.r.imag())); }},
    {"the negative result", [](Seen& s) { s.y = -s.truth; }},
    {"the conjugate result", [](Seen& s) { s.y = std::conj(s.truth); }},
    {"elements of the result exchanged", [](Seen& s) { s.y = C(s.truth.imag(), s.truth.real()); }},
    {"turned twice",
     [](Seen& s) { s.y = s.truth * s.r; },
     {"turns twice (",
      "phase error grows with the position: frequencies are 2 times what they should be ("}},
    {"a tenth of a radian more", [](Seen& s) { s.y = turned_by(s.truth, 0.1); }},
    {"positions divided by the frequency",
     [](Seen& s) { s.y = turned_by(s.x, static_cast<double>(s.position) / frequency_of(s)); },
     {"divides positions by the frequency, where it should multiply ("}},
    {"half the angle",
     [](Seen& s) { s.y = turned_by(s.x, static_cast<double>(s.position) * frequency_of(s) / 2); },
     {"phase error grows with the position: frequencies are 0.5 times what they should be ("}},
    {"a gain that grows with the pair",
     [](Seen& s) { s.y = s.truth * (1 + 0.1 * static_cast<double>(s.pair + 1)); }},
    {"a gain that grows with the position",
     [](Seen& s) { s.y = s.truth * (1 + 1e-3 * static_cast<double>(s.position)); }},
    {"a constant more", [](Seen& s) { s.y = s.truth + 0.25; }},
    {"its length instead", [](Seen& s) { s.y = std::abs(s.x); }},
    {"odd positions the other way",
     [](Seen& s) { s.y = s.position % 2 == 0 ? s.truth : s.x * std::conj(s.r); }},
    {"position 70001 as 70000",
     [](Seen& s) { s.y = s.position == 70001 ? at_position(s, 70000) : s.truth; }},
    {"position 7 as 8", [](Seen& s) { s.y = s.position == 7 ? at_position(s, 8) : s.truth; }},
    {"positions above 1000 as 1000",
     [](Seen& s) { s.y = s.position > 1000 ? at_position(s, 1000) : s.truth; }},
    {"positions modulo 1000", [](Seen& s) { s.y = at_position(s, s.position % 1000); }},
    {"positions in steps of four", [](Seen& s) { s.y = at_position(s, s.position / 4 * 4); }},
    {"twice the position",
     [](Seen& s) { s.y = at_position(s, 2 * s.position); },
     {"turns twice (",
      "phase error grows with the position: frequencies are 2 times what they should be ("}},
    {"the last token's position plus one",
     [](Seen& s) { s.y = at_position(s, s.position + 1); },
     {"turns by position m + 1, not m ("}},
    {"cut to bfloat16, not rounded",
     [](Seen& s) { s.y = C(cut(s.truth.real()), cut(s.truth.imag())); }},
    {"inputs cut to bfloat16", [](Seen& s) { s.y = C(cut(s.x.real()), cut(s.x.imag())) * s.r; }},
    {"cos and sin cut to bfloat16",
     [](Seen& s) { s.y = s.x * C(cut(s.r.real()), cut(s.r.imag())); }},
    {"the upper half of the pairs left as they are",
     [](Seen& s) { s.y = s.pair >= 4 ? s.x : s.truth; },
     {"copies its input: not rotated at all"}},
    {"the second head is zeros",
     [](Seen& s) { s.y = s.at.h == 1 ? 0 : s.truth; },
     {"writes zeros ("}},
    {"a tenth too large in the first call alone",
     [](Seen& s) { s.y = s.placement == 0 ? 1.1 * s.truth : s.truth; },
     {"multiplies by 1.1 too much ("}},
};

const char* const forms[] = {
    "",  // the default
    "tokens=3 rotary_dim=16 positions=5,9,12 data=decay q.heads=13 q.head_dim=16",
    "tokens=4 rotary_dim=16 positions=from:3:1 data=basis q.heads=6 q.head_dim=16",
    "rotary_dim=16 positions=70001 q.heads=2 q.head_dim=16",
    "rotary_dim=16 positions=65536 q.heads=8 q.head_dim=16",
    "tokens=2 rotary_dim=16 positions=from:0:1 q.heads=2 q.head_dim=16",
    "tokens=8 rotary_dim=16 positions=from:0:1 q.heads=2 q.head_dim=16",
    "tokens=2 rotary_dim=16 positions=7,65536 q.heads=4 q.head_dim=16",
    "tokens=6 rotary_dim=16 positions=random:-900:-1 q.heads=2 q.head_dim=16",
    "batch=3 rotary_dim=16 positions=70001,65536,7 q.heads=2 q.head_dim=18 q.offset=1",
    "tokens=3 rotary_dim=16 positions=from:9:1 data=special q.heads=3 q.head_dim=16",
    ("tokens=3 rotary_dim=16 positions=from:9:1 data=tiny pairing=interleaved q.heads=3 "
     "q.head_dim=16"),
    "tokens=6 rotary_dim=16 dtype=bf16 positions=random:1:900 q.heads=4 q.head_dim=16",
};

TEST_F(Diagnoses, ErrorsHaveTheirNamesAndNoErrorThatOfAnother) {
  std::size_t named = 0;
  for (const PlantedCause& error : planted)
    for (const std::string form : forms) {
      const std::string words = form.empty() ? usual : form;
      for (const char* smaller : {"", "rotary_dim=16 positions=7 q.heads=1 q.head_dim=16"}) {
        const Diagnosis d = of_spoiled(error.spoil, words, smaller);
        if (form.empty() && *smaller == '\0' && !error.true_names.empty()) {
          EXPECT_TRUE(d.cause.words.starts_with(error.true_names.front()))
              << error.what << to_text(d);
        }
        if (d.cause.empty()) continue;
        ++named;
        const bool is_true =
            std::any_of(error.true_names.begin(), error.true_names.end(),
                        [&](const std::string& name) { return d.cause.words.starts_with(name); });
        EXPECT_TRUE(is_true) << error.what << " is named: " << to_text(d) << "\n" << words;
      }
    }
  EXPECT_GT(named, 100u);
}

TEST_F(Diagnoses, SaysWhichElementsOfPairsAreWrong) {
  const auto second = [](Seen& s) { s.y = {s.truth.real(), (s.x * std::conj(s.r)).imag()}; };
  const auto more = [](Seen& s) { s.y = {s.truth.real(), s.truth.imag() + 0.25}; };
  EXPECT_EQ(to_text(of_spoiled(more)), "second elements alone");
  // For the input (1, 0), only the second element is wrong here as well. Turning the other way
  // would look the same.
  const std::string one = "rotary_dim=2 positions=1 q.heads=1 q.head_dim=2 q.values=1,0";
  EXPECT_EQ(to_text(of_spoiled(second, one)), "second elements alone");
  const auto other_way = [](Seen& s) { s.y = s.x * std::conj(s.r); };
  EXPECT_EQ(to_text(of_spoiled(other_way, one)), "right at position -1 instead of 1");
}

// One pair has no evidence for a cause. Where its output belongs can be seen all the same.
TEST_F(Diagnoses, SaysWhereAWrongOutputIsRight) {
  const std::string one = "rotary_dim=2 positions=5 q.heads=1 q.head_dim=2";
  EXPECT_EQ(of_spoiled([](Seen& s) { s.y = at_position(s, s.position + 2); }, one).where,
            "right at position 7 instead of 5");
  EXPECT_EQ(of_spoiled([](Seen& s) { s.y = turned_by(s.truth, 0.3); }, one).where, "");
}

TEST_F(Diagnoses, SpeaksOfTheSmallerCaseAlone) {
  const auto spoil = [](Seen& s) { s.y = s.pair == 7 || s.pair == 3 ? s.x : s.y; };
  const std::string small = "rotary_dim=8 positions=5 q.heads=1 q.head_dim=8";
  const Diagnosis d = of_spoiled(spoil, usual, small);
  EXPECT_TRUE(d.cause.empty() || d.cause.words.starts_with("copies its input")) << d.cause.words;
  EXPECT_EQ(d.where, "only in pair 3, right at position 0 instead of 5");
}

}  // namespace
}  // namespace ropewalk::properties
