// Providers of angles: right ones of several styles hold, and each planted error dies by its own
// law.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tools/tests/python/with_numpy.h"

namespace {

class Providers : public WithNumpy {};

/// The lines of standard output that hold both texts.
std::vector<std::string> lines_with(const Result& r, const std::string& a, const std::string& b) {
  std::vector<std::string> out;
  std::istringstream text(r.out);
  for (std::string line; std::getline(text, line);)
    if (contains(line, a) && contains(line, b)) out.push_back(line);
  return out;
}

TEST_F(Providers, RightOnesOfSevenStylesHold) {
  const Result r = with_numpy("verify " + planted + "angles_right.py");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  for (const std::string name : {"real_product", "factor_elsewhere", "other_factor", "Cache",
                                 "yarn", "Stretched", "Timescale", "Interleaved"})
    EXPECT_EQ(lines_with(r, name + " ", " PASS ").size(), 1) << name << r.out;
}

TEST_F(Providers, EachPlantedErrorDiesByItsLaw) {
  const Result r = with_numpy("verify --json " + planted + "angles_wrong.py");
  EXPECT_EQ(r.code, 1) << r.err;
  std::map<std::string, std::set<std::string>> failed;
  std::map<std::string, std::string> severity;
  std::set<std::string> laws, seen;
  for (const std::string& row : lines_with(r, R"("row":"verdict")", "")) {
    const std::string name = field(row, "kernel"), law = field(row, "property");
    laws.insert(law);
    if (field(row, "verdict") != "FAIL") continue;
    if (law != "exact_angles") failed[name].insert(law);
    EXPECT_FALSE(law == "exact_angles" && contains(field(row, "reason"), "e+0")) << row;
    if (name.starts_with(law + "__")) severity[name] = field(row, "severity"), seen.insert(law);
    EXPECT_EQ(field(row, "known").empty(),
              field(row, "severity") != "contract" && field(row, "severity") != "precision");
  }
  EXPECT_EQ(severity.size(), 34) << "planted errors that die by their law";
  EXPECT_EQ(seen, laws) << "a law without a planted error";
  EXPECT_FALSE(failed["tables__a_third"].contains("pairs")) << "its pairs turn, by too little";
  EXPECT_TRUE(contains(r.out, "cos and sin, 1.04447, is missing: scale_elsewhere=True"));
  // What only one law sees.
  for (const std::string name :
       {"batch_rows__first_for_all", "decode__from_zero", "second_config__one_for_all",
        "second_dtype__stays_narrow", "cast__narrows_frequencies", "rotation__other_pairs",
        "shorter_after_longer__stays_stretched", "negative_positions__without_sign"})
    EXPECT_EQ(failed[name].size(), 1) << name;
  for (const auto& [name, word] :
       std::map<std::string, std::string>{{"inv_freq__theta_lost", "wrong"},
                                          {"inv_freq__in_bf16", "wrong"},
                                          {"inv_freq__16_bits", "precision"},
                                          {"beyond_context__wraps", "edge"},
                                          {"exact_angles__in_f32", "contract"},
                                          {"cast__narrows_frequencies", "edge"},
                                          {"rotation__other_pairs", "wrong"},
                                          {"context_edges__a_token_early", "wrong"}})
    EXPECT_EQ(severity[name], word) << name;
  EXPECT_TRUE(contains(r.out, "these are the frequencies of theta 500000"));
  EXPECT_TRUE(contains(r.out, "of this model without the rule yarn"));
}

TEST_F(Providers, LighterFailuresCountIfStrictAndAReplayShowsOne) {
  for (const std::string name : {"inv_freq__16_bits", "exact_angles__in_f32"}) {
    const std::string words = "verify " + planted + "angles_wrong.py::" + name +
                              " --property inv_freq --property exact_angles";
    EXPECT_EQ(with_numpy(words).code, 0) << name;
    const Result strict = with_numpy(words + " --strict");
    EXPECT_EQ(strict.code, 1) << strict.out;
  }
  const Result r = ropewalk("replay --python " + python_with("numpy") + " 'provider=" + planted +
                            "angles_wrong.py::tables__off_by_one property=tables position=3'");
  expect(r, 1, {"these are the angles of position +1", "position 3, pair 0"});
}

TEST_F(Providers, WhatOneDoesAmissIsALineAndTheOthersGoOn) {
  const Result r = with_numpy("verify " + planted + "bad/provider.py --all");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const std::string words :
       {"with_kernel PASS", "seeds PASS", "raises FAIL",
        "entry raises because provider.py line 16: ZeroDivisionError",
        "model_type: 'bert' rotates nothing", "note: importing it prints \"hello from a library\"",
        "note: seeds changes NumPy's random state"})
    EXPECT_TRUE(contains(on_one_line(r.out), words)) << words << "\n" << r.out;
}

TEST_F(Providers, ALibraryThatIsMissingIsTold) {
  const std::string python = python_with("numpy");
  if (shell(python + " -c 'import transformers'").code == 0) GTEST_SKIP() << "it is installed here";
  for (const auto& [words, line] :
       {std::pair{std::string("verify transformers"), "has no transformers: pip install"},
        {"verify " + planted + "angles_right.py::nobody", "nothing of it is called nobody: it has"},
        {"verify transformers avx2", "cannot be combined with other targets"}})
    expect_one_line(with_numpy(words), {line});
  const Result list = with_numpy("list --libraries");
  expect(list, 0, {"transformers            not installed"});
}

// A proof shares nothing with the suite, and the page has it.
TEST(Findings, EachHasAProofOfItsOwn) {
  const std::string docs = std::string(ROPEWALK_SOURCE_DIR) + "/docs/",
                    page = slurp(docs + "findings.md");
  int proofs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(docs + "findings")) {
    if (entry.path().extension() != ".py") continue;
    const std::string name = entry.path().filename(), text = slurp(entry.path());
    ++proofs;
    EXPECT_TRUE(contains(page, "](findings/" + name + ")")) << name;
    EXPECT_FALSE(contains(text, "import ropewalk") || contains(text, "from ropewalk")) << name;
    EXPECT_LE(lines_in(text), 30) << name;
    for (const char* needed : {"severity  ", "from      ", "size      ", "matters   ", "replay    ",
                               "upstream  ", "mpmath", "print("})
      EXPECT_TRUE(contains(text, needed)) << name << needed;
  }
  EXPECT_GT(proofs, 10);
}

}  // namespace
