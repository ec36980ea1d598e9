// identify: a catalogue of rotations is recognised, and files of answers are judged as their
// kernels.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tools/tests/python/with_numpy.h"

namespace {

class Identify : public WithNumpy {};

TEST_F(Identify, RefusesNothingRightAndSaysNothingUntrue) {
  const Result r = script("dump_catalogue.py");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST_F(Identify, SaysNothingUntrueOfManyDumps) {
  const Result r = script("dump_catalogue.py all");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST_F(Identify, NamesRulesAxesAndWhereTwoEnginesPart) {
  const Result r = script("identified.py");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

// The properties that fail in the output of verify.
std::set<std::string> failing(const std::string& out) {
  const std::regex failed(R"((?:\): |same cause )([a-z_]+))");
  std::set<std::string> names;
  for (std::sregex_iterator at(out.begin(), out.end(), failed), end; at != end; ++at)
    names.insert((*at)[1]);
  return names;
}

/// Kernels that a small program in C asks what a file of questions asks.
struct Answering {
  std::string label, plugin, kernels;
};
class AnswerFiles : public Identify, public testing::WithParamInterface<Answering> {};
INSTANTIATE_TEST_SUITE_P(
    Of, AnswerFiles,
    testing::Values(
        Answering{"kernels", ROPEWALK_TREE, "plain cuda_host"},
        Answering{"more_kernels", ROPEWALK_TREE, "dense elementwise complex"},
        Answering{"mutants", ROPEWALK_MUTANTS, "one_position_off"},
        Answering{"more_mutants", ROPEWALK_MUTANTS,
                  "scaled_twice untouched_scaled not_scaled scale_without_sign limited_input "
                  "identity zeros one_output_in_bf16 "
                  "untouched_plus_zero untouched_never_written whole_head window_at_zero no_tail "
                  "room_for_128_pairs position_clamped row_zero_for_all table_in_bf16 "
                  "decode_of_first_row keys_turned_back last_of_three_heads backward_is_forward "
                  "wrong_way twelve_heads"}),
    [](const auto& one) { return one.param.label; });

TEST_P(AnswerFiles, AreJudgedAsTheirKernels) {
  const std::string questions = (scratch() / "q.safetensors").string(),
                    answers = (scratch() / "a.safetensors").string();
  ASSERT_EQ(with_numpy("vectors -o " + questions).code, 0);
  std::istringstream names(GetParam().kernels);
  for (std::string name; names >> name;) {
    const bool wrong = contains(GetParam().label, "mutants");
    const std::string kernel = wrong ? "mutant_" + name + "_table" : name;
    const Result answered = shell(ROPEWALK_ANSWER_FILE " " + GetParam().plugin + " " + kernel +
                                  " " + questions + " " + answers);
    ASSERT_EQ(answered.code, 0) << kernel << answered.err;
    const Result r = with_numpy("verify --all " + answers);
    EXPECT_EQ(r.code, wrong ? 1 : 0) << kernel << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "not seen in such a file: memory")) << r.out;
    EXPECT_FALSE(contains(r.out, "framework")) << r.out;
    if (!wrong) continue;
    const std::string of_the_plugin =
        ropewalk("verify --all --no-cuda --cases 1 --profile smoke --dtype f32 --plugin " +
                 GetParam().plugin + " --kernel " + kernel)
            .out;
    for (const std::string& property : failing(r.out))
      EXPECT_TRUE(failing(of_the_plugin).contains(property)) << kernel << property << r.out;
    EXPECT_FALSE(failing(r.out).empty()) << r.out;
  }
}

}  // namespace
