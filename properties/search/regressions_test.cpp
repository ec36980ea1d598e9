// Every line of the corpus refutes the mutant that it names, and no correct kernel.
#include "properties/search/regressions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "properties/search/judges.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

struct CorpusLine {
  std::string mutant, text;
};

std::vector<CorpusLine> lines() {
  std::vector<CorpusLine> out;
  std::ifstream file(ROPEWALK_CORPUS);
  std::string mutant;
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find("(mutant_");
    if (line.starts_with('#') && at != std::string::npos)
      mutant = line.substr(at + 1, line.find(')', at) - at - 1);
    if (!line.empty() && !line.starts_with('#')) out.push_back({mutant, line});
  }
  return out;
}

class Corpus : public testing::Test {
 protected:
  Corpus() : worker_(options()) {}

  static WorkerOptions options() {
    WorkerOptions o;
    o.executable = ROPEWALK_EXECUTABLE;
    o.plugins = {ROPEWALK_MUTANTS};
    return o;
  }

  // The findings of a line on a kernel, in both pairings.
  std::vector<Finding> run(const std::string& kernel, const std::string& text) {
    std::vector<Finding> out;
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
      Case c = case_from_text(text);
      c.kernel = kernel;
      c.pairing = pairing;
      for (const KernelFacts& k : worker_.kernels())
        if (k.name == kernel) c.contract = k.angle_contract;
      try {
        out.push_back(replay(worker_, oracle_, c).finding);
      } catch (const BadCase&) {  // the contract has no such case
      }
    }
    return out;
  }

  Worker worker_;
  Oracle oracle_;
};

TEST_F(Corpus, IsTheFileAsItStands) {
  const auto in_file = lines();
  const auto built_in = regression_corpus();
  ASSERT_GT(in_file.size(), 30u);
  ASSERT_EQ(built_in.size(), in_file.size());
  for (std::size_t i = 0; i < in_file.size(); ++i)
    EXPECT_EQ(built_in[i], case_from_text(in_file[i].text)) << in_file[i].text;
}

TEST_F(Corpus, EachLineRefutesItsMutant) {
  for (const CorpusLine& line : lines()) {
    const auto findings = run(line.mutant, line.text);
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                            [](const Finding& f) { return f.ran() && !f.holds(); }))
        << line.mutant << ": " << line.text;
  }
}

TEST_F(Corpus, EachLineComparesSomethingAndCorrectKernelsHold) {
  for (const CorpusLine& line : lines()) {
    bool ran = false;
    for (const char* kernel : {"control_scalar_table", "control_scalar_exact"})
      for (const Finding& f : run(kernel, line.text)) {
        if (!f.ran()) continue;
        ran = true;
        EXPECT_TRUE(f.holds()) << kernel << " " << line.text << ": " << f.reason;
      }
    EXPECT_TRUE(ran) << line.text;
  }
}

TEST_F(Corpus, IsRunFirstAndCounted) {
  VerifyPlan plan;
  plan.kernels = {"plain"};
  plan.properties = {"power_of_two"};
  plan.dtypes = {Dtype::f32};
  plan.cases = 1;
  verify_with_judges(
      options(), plan, 1,
      [](const VerdictRow& row) {
        EXPECT_EQ(row.planned, 2) << "one generated case, one of the corpus";
        EXPECT_EQ(row.executed, 2);
        EXPECT_EQ(row.verdict, Verdict::pass) << row.reason;
      },
      [](const std::string&) {});
}

}  // namespace
}  // namespace ropewalk::properties
