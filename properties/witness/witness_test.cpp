// Each composed mutant is wrong on its witness, where a correct kernel is right. Without any one of
// its conditions the mutant is right too. So each planted error is an error, and an interaction.
#include "properties/witness/witness.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "properties/search/verify.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
using namespace mutants;
namespace {

// The kernels of the plugin.
class Plugin {
 public:
  Plugin() : worker_(options()) {}

  /// "holds", "fails" or "refused".
  std::string judge(const std::string& kernel, const Witness& witness) {
    Subject subject{worker_, oracle_, facts_of(kernel)};
    for (const Case& c : witness.before) check_whole_output(subject, c);
    const Finding f = witness.property.empty()
                          ? check_whole_output(subject, witness.c)
                          : property_named(witness.property).check(subject, witness.c);
    if (f.kind == Finding::Kind::unsupported) return "refused";
    return f.holds() ? "holds" : "fails";
  }

  /// Some errors need a history, so a mutant's cases run in processes of their own.
  std::string judge_afresh(const std::string& kernel, const Witness& witness) {
    worker_.restart();
    return judge(kernel, witness);
  }

 private:
  const KernelFacts& facts_of(const std::string& kernel) {
    for (const KernelFacts& k : worker_.kernels())
      if (k.name == kernel) return k;
    throw std::runtime_error("no kernel " + kernel);
  }

  static WorkerOptions options() {
    WorkerOptions o;
    o.executable = ROPEWALK_EXECUTABLE;
    o.plugins = {ROPEWALK_COMPOSED_MUTANTS};
    return o;
  }

  Worker worker_;
  Oracle oracle_;
};

// What is wrong with a planted error, in words.
std::vector<std::string> faults_in(Plugin& plugin, const Composed& kernel, const Member& member,
                                   const std::string& correct) {
  std::vector<std::string> out;
  const auto expect = [&](const std::string& name, const Witness& w, std::string_view wanted,
                          const std::string& where) {
    const std::string got = plugin.judge_afresh(name, w);
    if (got == wanted || (got == "refused" && wanted == "holds" && !kernel.refusal.empty())) return;
    out.push_back(name + " " + got + " " + where + "\n" + to_text(w.c));
  };
  const std::string what = std::string(member.fault);
  const Witness witness = witness_of(kernel, member);
  expect(kernel.name, witness, "fails", "on the witness of " + what);
  expect(correct, witness, "holds", "on the witness of " + what);
  const auto words = conditions_of(member);
  for (std::size_t i = 0; i < words.size(); ++i)
    expect(kernel.name, witness_of(kernel, member, i), "holds",
           "on the witness of " + what + " without " + std::string(words[i]));
  return out;
}

std::vector<std::string> faults_in(Plugin& plugin, const Composed& kernel) {
  std::vector<std::string> out;
  for (const Member& member : kernel.members)
    for (const std::string& fault : faults_in(plugin, kernel, member, control_of(kernel.form)))
      out.push_back(fault);
  const Witness plain = plain_witness_of(kernel);
  if (const std::string got = plugin.judge(kernel.name, plain); got != "holds")
    out.push_back(kernel.name + " " + got + " on the plain case\n" + to_text(plain.c));
  return out;
}

class ComposedMutant : public testing::TestWithParam<std::string> {};

TEST_P(ComposedMutant, IsWrongOnlyWhereItsConditionsMeet) {
  Plugin plugin;
  const Composed* kernel = composed_named(GetParam());
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(faults_in(plugin, *kernel), std::vector<std::string>{});
}

std::vector<std::string> names_of(bool (*wanted)(const Composed&)) {
  std::vector<std::string> out;
  for (const Composed& kernel : composed_kernels())
    if (wanted(kernel)) out.push_back(kernel.name);
  return out;
}
bool is_control(const Composed& kernel) {
  return kernel.members.empty();
}

INSTANTIATE_TEST_SUITE_P(All, ComposedMutant,
                         testing::ValuesIn(names_of([](const Composed& kernel) {
                           return !is_control(kernel);
                         })),
                         [](const auto& kernel) { return kernel.param; });

// The test above sees a mutant without an error, one whose error needs less than is said, and a
// correct kernel that is none.
TEST(Witnesses, AMutantThatIsNoneIsSeen) {
  Plugin plugin;
  const std::string correct = "control_composed_table";
  const Composed mutant = *composed_named("mutant_window_at_start_from_64_tokens_table");
  Composed other = mutant;
  other.name = correct;
  const Member& member = mutant.members[0];
  EXPECT_EQ(faults_in(plugin, mutant, member, correct).size(), 0u);
  EXPECT_EQ(faults_in(plugin, other, member, correct).size(), 1u);
  EXPECT_EQ(faults_in(plugin, mutant, member, mutant.name).size(), 1u);
  const auto less =
      faults_in(plugin, mutant, {member.fault, {"from_64_tokens", "scaled"}}, correct);
  ASSERT_EQ(less.size(), 1u);
  EXPECT_NE(less[0].find("fails on the witness of window_at_start without scaled"),
            std::string::npos)
      << less[0];
}

// ---- correct kernels

bool is_of_types(const Condition& condition) {
  return condition.factor == Factor::types || condition.factor == Factor::table_type;
}

class ComposedControl : public testing::TestWithParam<std::string> {};

// Some conditions exclude what a kernel accepts only.
bool is_possible(const Case& c) {
  try {
    validate(c);
    return true;
  } catch (const BadCase&) {
    return false;
  }
}

// A case for each condition alone. A correct kernel holds or refuses, and a refusal is met.
TEST_P(ComposedControl, HoldsWhereItDoesNotRefuse) {
  Plugin plugin;
  const Composed kernel = *composed_named(GetParam());
  EXPECT_EQ(plugin.judge(kernel.name, plain_witness_of(kernel)), "holds");
  Composed free = kernel;
  free.refusal = "";  // so that the cases are not made to be accepted
  const bool table = kernel.form.contract == ROPE_CONTRACT_TABLE;
  int held = 0, refused = 0;
  for (const Condition& condition : conditions()) {
    if (condition.least > 2 || condition.word == "at_once") continue;
    const bool by_position = condition.factor == Factor::position_range;
    const bool of_table = condition.factor == Factor::rows_by ||
                          condition.factor == Factor::own_tables ||
                          condition.factor == Factor::table_stride;
    if ((table && by_position) || (!table && of_table)) continue;
    if (is_of_types(condition) && !kernel.form.any_types) continue;
    for (const Composed& cases : {kernel, free}) {
      const Witness w = witness_of(cases, condition.word);
      if (!is_possible(w.c)) continue;
      const std::string got = plugin.judge(kernel.name, w);
      EXPECT_NE(got, "fails") << to_text(w.c);
      ++(got == "holds" ? held : refused);
    }
  }
  EXPECT_GT(held, 20);
  EXPECT_EQ(refused > 0, !kernel.refusal.empty());
}

INSTANTIATE_TEST_SUITE_P(All, ComposedControl, testing::ValuesIn(names_of(is_control)),
                         [](const auto& kernel) { return kernel.param; });

// A kernel for one data type says so. None may misread another.
TEST(ComposedControls, OfOneTypeRefuseOthers) {
  Plugin plugin;
  int refused = 0;
  for (const Composed& kernel : composed_kernels())
    for (const Condition& condition : conditions()) {
      const bool table = kernel.form.contract == ROPE_CONTRACT_TABLE;
      if (!is_control(kernel) || kernel.form.any_types || !kernel.refusal.empty()) continue;
      if (!is_of_types(condition) || (!table && condition.factor == Factor::table_type)) continue;
      const Witness w = witness_of(kernel, condition.word);
      const bool same = tensor_dtype(w.c, w.c.tensors.size() - 1) == w.c.dtype &&
                        table_dtype(w.c) == data_type(w.c.dtype).computed_in;
      EXPECT_EQ(plugin.judge(kernel.name, w), same ? "holds" : "refused") << to_text(w.c);
      refused += same ? 0 : 1;
    }
  EXPECT_GE(refused, 10);
}

// ---- the table

// The faults of a row of the table, in words.
std::vector<std::string> faults_in(const Composed& kernel) {
  std::vector<std::string> out;
  const auto need = [&](bool holds, const std::string& what) {
    if (!holds) out.push_back(kernel.name + ": " + what);
  };
  need(kernel.name.starts_with(is_control(kernel) ? "control_" : "mutant_"), "a wrong name");
  need(kernel.name.ends_with("_" + std::string(kernel.form.suffix)), "a wrong suffix");
  need(summary_of(kernel).size() > 10 && summary_of(kernel).size() < 160, "no summary");
  std::set<std::string_view> words;
  for (const Member& member : kernel.members) {
    const std::string what(member.fault);
    std::set<Factor> factors;
    for (const std::string_view word : conditions_of(member))
      need(factors.insert(condition_named(word).factor).second, what + " needs one factor twice");
    need(!member.regions.empty(), what + " has no region");
    need(level_of(member) >= static_cast<Level>(factors.size()) && factors.size() >= 2,
         what + " has a wrong level");
    need(words.insert(member.fault).second, what + " is there twice");
  }
  return out;
}

TEST(ComposedTable, EachRowIsWhole) {
  std::set<std::string> names;
  std::set<std::string_view> used;
  for (const Composed& kernel : composed_kernels()) {
    EXPECT_EQ(faults_in(kernel), std::vector<std::string>{});
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    for (const Member& member : kernel.members) {
      used.insert(member.fault);
      for (const std::string_view word : conditions_of(member)) used.insert(word);
    }
  }
  for (const FaultWords& fault : faults()) EXPECT_TRUE(used.contains(fault.word)) << fault.word;
  for (const Condition& each : conditions()) EXPECT_TRUE(used.contains(each.word)) << each.word;
  EXPECT_EQ(composed_named("plain"), nullptr);
  EXPECT_THROW(condition_named("nothing"), std::logic_error);
}

TEST(ComposedTable, ABadRowIsSeen) {
  Composed kernel = *composed_named("mutant_window_at_start_from_64_tokens_table");
  EXPECT_EQ(faults_in(kernel).size(), 0u);
  kernel.members[0].regions = {"partial"};  // the window is a condition of the fault too
  EXPECT_EQ(faults_in(kernel).size(), 2u);
  kernel.members[0].regions = {};
  EXPECT_EQ(faults_in(kernel).size(), 2u);
  kernel.members = {};
  EXPECT_EQ(faults_in(kernel).size(), 1u);
}

TEST(ComposedTable, HasManyOfEachKind) {
  int singles = 0, unions = 0, twins = 0;
  std::map<Level, int> levels;
  for (const Composed& kernel : composed_kernels()) {
    if (is_control(kernel)) continue;
    ++levels[level_of(kernel)];
    ++(!kernel.refusal.empty() ? twins : kernel.members.size() == 10 ? unions : singles);
    EXPECT_EQ(kernel.members.size() == 10, kernel.name.starts_with("mutant_ten_"));
  }
  EXPECT_GE(singles, 60);
  EXPECT_GE(unions, 8);
  EXPECT_GE(twins, 10);
  EXPECT_EQ(static_cast<std::size_t>(twins), refusals().size());
  EXPECT_EQ(level_of(*composed_named("mutant_window_at_start_from_64_tokens_table")), 2);
  EXPECT_EQ(level_of(*composed_named("mutant_always_forward_above_4_mib_table")), 3);
  EXPECT_EQ(level_of(*composed_named("control_composed_table")), 0);
  for (const Level level : {2, 3, 4}) EXPECT_GT(levels[level], 3);
}

}  // namespace
}  // namespace ropewalk::properties
