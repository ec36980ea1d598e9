// identify: a catalogue of rotations is recognised, what capture writes is read, and bad files are
// told.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/tests/shell.h"

namespace {

const std::string planted = std::string(ROPEWALK_SOURCE_DIR) + "/tools/tests/python/";

class Identify : public testing::Test {
 protected:
  void SetUp() override {
    if (python_with("numpy").empty()) GTEST_SKIP() << "no python3 here has numpy";
  }
  static Result script(const std::string& words) {
    return shell("PYTHONPATH=" + std::string(ROPEWALK_SOURCE_DIR) + "/python ROPEWALK_COMMAND=" +
                 ROPEWALK_EXECUTABLE + " " + python_with("numpy") + " -B " + planted + words);
  }
  static Result identify(const std::string& words) {
    return ropewalk("identify " + words + " --python " + python_with("numpy"));
  }
};

TEST_F(Identify, RecognisesTheCatalogue) {
  const Result r = script("rotations.py");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "| named wrongly | 0 of ")) << r.out;
}

TEST_F(Identify, ReadsWhatCaptureWritesAndRefusesLies) {
  const std::string folder = fresh("dumps").string();
  std::filesystem::create_directories(folder);
  const Result written = script("dumps.py " + folder);
  ASSERT_EQ(written.code, 0) << written.out << written.err;
  for (const std::string name : {"right.safetensors", "in_place.safetensors", "other.npz"}) {
    const Result r = identify(folder + "/" + name);
    EXPECT_EQ(r.code, 0) << name << r.out << r.err;
    for (const std::string words : {"half_split", "theta 10000,", "positions  as given"})
      EXPECT_TRUE(contains(r.out, words)) << name << r.out;
  }
  const Result other = identify(folder + "/relative.safetensors");
  EXPECT_EQ(other.code, 1) << other.out << other.err;
  EXPECT_TRUE(contains(other.out, "y_other is y turned by 2 positions more")) << other.out;
  EXPECT_EQ(identify(folder + "/equal.safetensors").code, 0);
  const Result wrong = identify(folder + "/wrong.safetensors --json");
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_TRUE(contains(wrong.out, R"("explained": false)")) << wrong.out;
}

/// Questions, their answers with a planted error, and the verdict on them.
class AnswerFiles : public Identify, public testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(With, AnswerFiles,
                         testing::Values("none", "agreement", "position_sweep", "untouched_dims"),
                         [](const auto& one) { return one.param; });

TEST_P(AnswerFiles, AreJudged) {
  const std::string questions = (scratch() / "q.safetensors").string(),
                    answers = (scratch() / "a.safetensors").string();
  const std::string python = " --python " + python_with("numpy");
  ASSERT_EQ(ropewalk("vectors -o " + questions + python).code, 0);
  ASSERT_EQ(script("answers.py " + questions + " " + answers + " " + GetParam()).code, 0);
  const Result r = ropewalk("verify " + answers + python);
  if (GetParam() == "none") {
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "5 of 5 claims hold")) << r.out;
    EXPECT_TRUE(contains(r.out, "not seen in such a file: memory")) << r.out;
    const Result unanswered = ropewalk("verify " + questions + python);
    EXPECT_EQ(unanswered.code, 2);
    EXPECT_TRUE(contains(unanswered.err, "question 0 has no 0.")) << unanswered.err;
  } else {
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "): " + GetParam() + "\n") ||
                contains(r.out, "same cause " + GetParam()))
        << r.out;
  }
}

TEST_F(Identify, ABadFileGetsOneLine) {
  spill(scratch() / "empty.safetensors", "");
  spill(scratch() / "text.safetensors", std::string(200, 'x'));
  for (const auto& [file, line] : {std::pair{"empty.safetensors", "has 0 bytes"},
                                   {"text.safetensors", "its header"},
                                   {"none.safetensors", "No such file"}}) {
    const Result r = identify((scratch() / file).string());
    EXPECT_EQ(r.code, 2) << file;
    EXPECT_EQ(lines_in(r.err), 1) << r.err;
    EXPECT_TRUE(contains(r.err, line)) << r.err;
  }
}

}  // namespace
