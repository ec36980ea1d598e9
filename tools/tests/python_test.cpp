// Kernels in Python: right ones hold, planted errors fail by name, and what cannot be loaded is
// told in one line. Needs a Python with NumPy; without one the tests are skipped, in words.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "tools/tests/shell.h"

namespace {

const std::string source = ROPEWALK_SOURCE_DIR;
const std::string guide = source + "/docs/python/", planted = source + "/tools/tests/python/";

/// The command with a Python that has NumPy.
Result door(const std::string& arguments, const std::string& before = "") {
  static const std::string numpy = python_with("numpy");
  return ropewalk(arguments + " --no-cuda --python " + numpy, before + " ");
}
Result verify(const std::string& file, const std::string& words) {
  return door("verify --profile smoke --plugin " + file + " " + words);
}

class InPython : public testing::Test {
  void SetUp() override {
    if (python_with("numpy").empty()) GTEST_SKIP() << "no python3 here has numpy";
  }
};

TEST_F(InPython, RightKernelsHoldInEveryForm) {
  const Result r = verify(planted + "right.py",
                          "--kernel 'right_*' --property attention_scale --property adjoint "
                          "--property shared_inputs --cases 1");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  for (const std::string form :
       {"out", "new", "in_place", "q_k", "packed", "full", "complex", "exact", "raw"})
    EXPECT_TRUE(contains(r.out, "PASS  right_" + form)) << form << r.out;
  EXPECT_TRUE(contains(r.out, "(framework: python 3.")) << r.out;
}

// Each has a twin that is wrong in what the words of its decorator say.
TEST_F(InPython, FunctionsAsPeopleHaveThemAreJudged) {
  const Result r = verify(planted + "layouts.py",
                          "--kernel 'right_*' --kernel 'wrong_*' --property shared_inputs "
                          "--property norm --property attention_scale --cases 1");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const std::string form :
       {"last_64_of_192", "packed_cache", "qkv", "stacked", "sbhd", "hf", "meta", "glm"}) {
    EXPECT_TRUE(contains(r.out, "PASS  right_" + form + " ")) << form << r.out;
    EXPECT_FALSE(contains(r.out, "FAIL  right_" + form)) << form << r.out;
    EXPECT_TRUE(contains(r.out, "FAIL  wrong_" + form + " ")) << form << r.out;
  }
}

// Each has a twin that knows one axis alone.
TEST_F(InPython, PositionsWithAxesAreJudged) {
  const Result r = verify(planted + "axes.py",
                          "--kernel 'right_*' --kernel 'wrong_*' --property axis_alone "
                          "--property shared_inputs --cases 1");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const std::string form : {"own_angles", "told", "sections", "own_map"}) {
    EXPECT_TRUE(contains(r.out, "PASS  right_" + form + " ")) << form << r.out;
    EXPECT_TRUE(contains(unwrapped(r.out), "FAIL  wrong_" + form + " ")) << form << r.out;
  }
  EXPECT_FALSE(contains(r.out, "FAIL  right_")) << r.out;
}

// One twin adds epsilon behind the root, one writes to the slot of the next token.
TEST_F(InPython, NormAndAppendAreJudged) {
  const Result r = verify(planted + "fused.py", "--plugin " + guide +
                                                    "fused_rope.py --kernel '*fused*' "
                                                    "--kernel '*plus_one' "
                                                    "--property agreement --dtype f32");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const std::string right : {"right_fused ", "right_plus_one ", "fused_rope "}) {
    EXPECT_TRUE(contains(r.out, "PASS  " + right)) << r.out;
    EXPECT_FALSE(contains(r.out, "FAIL  " + right)) << r.out;
  }
  for (const std::string wrong : {"wrong_root_fused ", "wrong_slot_fused ", "wrong_plus_one "})
    EXPECT_TRUE(contains(unwrapped(r.out), "FAIL  " + wrong)) << wrong << r.out;
}

TEST_F(InPython, ARightKernelAgreesInEveryCase) {
  const Result r = verify(planted + "right.py",
                          "-v --kernel right_complex --property agreement --property history "
                          "--property threads --cases 2");
  expect(r, 0, {"covered 100 % of 2-way interactions"});
}

TEST_F(InPython, PlantedErrorsFailByNameAndAreReplayed) {
  const struct {
    std::string kernel, verdict, words;
  } errors[] = {
      {"wrong_sign", "FAIL ", "rotates the other way"},
      {"other_pairing", "FAIL ", "half_split"},
      {"angles_of_batch_row_0", "FAIL ", "batch 1"},
      {"writes_its_input", "CRASH", "write in read-only q.in"},
      {"keeps_the_first_rows", "FAIL ", ""},
      {"one_row_past_the_end", "CRASH", "past the end"},
      {"cache_without_theta", "FAIL ", ""},
      {"returns_without_writing", "FAIL ", "leaves outputs unwritten"},
      {"calls_sys_exit", "FAIL ", "wrong.py line"},
      {"segfaults_in_native_code", "CRASH", "in apply"},
      {"forks", "FAIL ", "forks, and the child returned too"},
      {"raises", "FAIL ", "ValueError: no rotation today and no second line"},
  };
  std::string kernels;
  for (const auto& error : errors) kernels += " --kernel " + error.kernel;
  const Result r = verify(planted + "wrong.py", "--cases 4 --property agreement" + kernels);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const auto& [kernel, verdict, words] : errors) {
    const auto at = r.out.find("\n" + verdict + " " + kernel + " (");
    ASSERT_NE(at, std::string::npos) << kernel << r.out;
    const std::string block = unwrapped(r.out.substr(at, r.out.find("\nPASS", at) - at));
    const auto end = block.find("replay     ");
    ASSERT_NE(end, std::string::npos) << block;
    EXPECT_TRUE(contains(block.substr(0, end), words)) << kernel << block;
    const std::string line = block.substr(end, block.find('\n', end) - end);
    const Result again = ropewalk(line.substr(line.find("replay --")));
    EXPECT_EQ(again.code, 1) << kernel << again.out << again.err;
    EXPECT_TRUE(contains(again.out, verdict)) << kernel << again.out;
  }
}

TEST_F(InPython, AnExceptionAtOddStridesAloneIsAMatterOfContract) {
  const Result r = verify(planted + "wrong.py",
                          "--kernel 'odd_*' --property agreement --property clean_call --cases 2");
  for (const std::string line :
       {"PASS  odd_strides_raise ", "FAIL  odd_strides_and_four_tokens_raise ",
        "or that length is odd: wrong.py line"})
    EXPECT_TRUE(contains(unwrapped(r.out), line)) << r.out;
}

TEST_F(InPython, WhatALibraryWarnsOfAtItsImportIsNotHeard) {
  const auto fake = fresh("fake");
  spill(fake / "torch.py", "import warnings\nwarnings.warn('noise')\nraise ImportError('none')\n");
  spill(fake / "own.py", "import torch\n");  // the control
  const std::string library = source + "/python/ropewalk/libraries/transformers.py";
  for (const std::string& file : {library, (fake / "own.py").string()}) {
    const Result r = door("list --plugin " + file, "PYTHONPATH=" + fake.string());
    EXPECT_EQ(contains(r.err, "noise"), file != library) << r.err;
  }
}

// An import may take ten seconds, so a failing kernel must cost few: to list it, to judge it, and
// to show its first exception in a fresh process. Each further judge has processes of its own.
TEST_F(InPython, AnExceptionCostsNoProcessAndIsToldOnce) {
  const auto imports = fresh("imports");
  const Result r = door(
      "verify --jobs 1 --profile smoke --plugin " + planted + "raises.py --kernel raises_slowly",
      "IMPORTS=" + imports.string());
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_LE(slurp(imports).size(), 4u) << slurp(imports) << r.out;
  const auto first =
      r.out.find("because    apply answered 2: raises.py line 11: ValueError: no rot");
  ASSERT_NE(first, std::string::npos) << r.out;
  EXPECT_EQ(r.out.find("because ", first + 1), std::string::npos) << r.out;
  EXPECT_TRUE(contains(r.out, " of the same cause, after three equal exceptions\n")) << r.out;
  EXPECT_FALSE(contains(r.out, "PASS")) << r.out;
  EXPECT_TRUE(contains(r.out, "\n0 of ")) << r.out;
}

TEST_F(InPython, NoCompiledFileIsLeftBesideAUsersFile) {
  const auto folder = fresh("user");
  spill(folder / "helper.py", "one = 1\n");
  spill(folder / "rope.py", "import helper\n" + slurp(guide + "numpy_rope.py"));
  const Result r =
      door("list --plugin " + (folder / "rope.py").string(), "unset PYTHONDONTWRITEBYTECODE;");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "__pycache__"));
}

TEST_F(InPython, WhatIsReturnedIsChecked) {
  const struct {
    std::string file, words;
  } returned[] = {
      {"returns_none", "returned None, not an array of numpy"},
      {"returns_a_list", "returned list, not an array of numpy"},
      {"wrong_shape", "returned shape ("},
      {"wrong_dtype", "returned float64, not float32"},
      {"wrong_length", "returned 1 arrays, not 2"},
  };
  for (const auto& [file, words] : returned) {
    const Result r = verify(planted + "bad/" + file + ".py",
                            "--kernel " + file + " --property identity_at_zero --cases 1");
    EXPECT_EQ(r.code, 1) << file << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "apply answered 2: " + words)) << file << r.out;
    EXPECT_EQ(contains(unwrapped(r.out), "); given x ("), file == "wrong_shape") << r.out;
  }
}

TEST_F(InPython, WhatCannotBeLoadedIsToldInALine) {
  const struct {
    std::string file, words;
  } bad[] = {
      {"no_kernels", "offers no kernel"},
      {"two_of_one_name", "line 9: a second kernel has the name rotate"},
      {"unknown_word", "line 4: TypeError: kernel() got an unexpected keyword argument 'dtype'"},
      {"unknown_value", "layout='HTBD' is not one of BTHD, BHTD, TBHD, 1THD, THD"},
      {"unknown_parameter", "unknown parameter cosine"},
      {"no_pairing", "pairing= is missing: rotate_half is half_split; x[..., ::2] is interleaved"},
      {"no_cache", "an append needs q, k, slots and k_cache, and v with v_cache"},
      {"no_map", "axes needs axis_of_pair: a parameter"},
      {"bad_name", "name='Rotate It'"},
      {"import_raises", "line 3: RuntimeError: two lines of a reason"},
      {"missing_module", "line 2: ModuleNotFoundError"},
      {"syntax_error", "line 3: SyntaxError"},
      {"exits", "line 4: SystemExit: 0"},
  };
  for (const auto& [file, words] : bad)
    expect_one_line(verify(planted + "bad/" + file + ".py", "--kernel plain"),
                    {file + ".py", words});
}

// As with the constructors of a library: a framework may do so.
TEST_F(InPython, WhatAnImportPrintsOrLeavesRunningIsNotTheKernels) {
  for (const std::string file : {"prints", "forks", "floods"}) {
    const Result r =
        verify(planted + "bad/" + file + ".py", "--kernel right --property norm --cases 1");
    EXPECT_EQ(r.code, 0) << file << r.out << r.err;
    EXPECT_FALSE(contains(r.out, "hello")) << r.out;
    EXPECT_LT(r.err.size(), std::size_t{300'000});  // 64 KiB of each process
  }
}

TEST_F(InPython, AnUnfitPythonIsToldInALine) {
  const auto told = [](const std::string& name, const std::string& text) {
    spill(fresh("unfit") / name, text);
    const Result r = door("list --plugin " + guide + "numpy_rope.py",
                          "PYTHONPATH=" + (scratch() / "unfit").string());
    expect_one_line(r, {});
    return r.err;
  };
  EXPECT_TRUE(contains(told("sitecustomize.py", "import sys\nsys.version_info = (3, 9, 18)\n"),
                       "python 3.9.18"));
  EXPECT_TRUE(contains(told("numpy.py", "raise ImportError('not here')\n"), "cannot import numpy"));
  const Result none = ropewalk("list --python /none/python --plugin " + guide + "numpy_rope.py");
  expect(none, 2, {}, {"cannot start /none/python: No such file"});
}

TEST_F(InPython, AKernelIsTimedBesideThoseOfTheTree) {
  const auto out = fresh();
  const Result r = door("bench --rounds 6 --launches 1 --shape q=2,k=1,d=16,tokens=4 " + guide +
                        "numpy_rope.py::numpy_rope --out " + out.string());
  EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;  // 3: too noisy here
  EXPECT_TRUE(contains(r.out, " calls of malloc, ")) << r.out;
  const std::string rows = slurp(out / "results.jsonl");
  EXPECT_TRUE(contains(rows, R"("judged_on":"framework: python 3.)")) << rows;
}

TEST_F(InPython, AProjectsOwnTestsMayAssert) {
  const std::string python = python_with("numpy");
  const std::string begin = "PYTHONPATH=" + source + "/python:" + planted +
                            " ROPEWALK_COMMAND=" + ROPEWALK_EXECUTABLE +
                            " TMPDIR=" + fresh("kept").string() + " " + python;
  std::filesystem::create_directories(scratch() / "kept");
  const auto asserts = [&](const std::string& what) {
    return shell(begin + " -c 'import ropewalk, right, wrong; ropewalk.assert_rope(" + what + ")'");
  };
  EXPECT_EQ(
      shell(begin + " -c 'import sys\nsys.addaudithook(lambda event, _: sys.exit(1) if event in "
                    "(\"subprocess.Popen\", \"os.fork\", \"os.exec\", \"os.posix_spawn\") else 0)\n"
                    "import ropewalk\nsys.exit(\"numpy\" in sys.modules)'")
          .code,
      0)
      << "importing the package alone starts something";
  const Result wrong = asserts("wrong.returns_without_writing, properties=(\"norm\",)");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(contains(wrong.err, "AssertionError") && contains(wrong.err, "ropewalk replay"))
      << wrong.err;
  EXPECT_TRUE(contains(asserts("lambda x: x, pairing=\"both\"").err, "ValueError"));
  for (const std::string held : {"right.model.turn", "right.closure"}) {
    const Result r =
        asserts(held + ", pairing=\"half_split\", name=\"it\", properties=(\"norm\",)");
    EXPECT_EQ(r.code, 0) << held << r.err;
  }
  const std::string hidden = "all(\"__tracebackhide__\" in f.__code__.co_varnames for f in ";
  const Result frame = shell(begin + " -c 'from ropewalk.assertion import *; assert " + hidden +
                             "(assert_rope, plugin_of, reference, name_of))'");
  EXPECT_EQ(frame.code, 0) << frame.err;
  const Result verb = shell(begin + " -m ropewalk verify " + guide +
                            "numpy_rope.py --no-cuda --kernel numpy_rope --profile smoke "
                            "--property identity_at_zero");
  EXPECT_EQ(verb.code, 0) << verb.out << verb.err;
}

TEST(PythonGuide, ShowsTheVeryFiles) {
  const std::string text = slurp(source + "/docs/python-kernels.md");
  for (const std::string name : {"numpy", "fused", "torch", "jax"})
    EXPECT_TRUE(contains(text, slurp(guide + name + "_rope.py"))) << name;
}

// The kernels of the guide, where their frameworks are.
class Framework : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Guide, Framework, testing::Values("numpy", "torch", "jax", "triton"),
                         [](const auto& one) { return one.param; });

TEST_P(Framework, TheKernelOfTheGuideHolds) {
  const std::string python = python_with(GetParam());
  if (python.empty()) GTEST_SKIP() << "no python3 here has " << GetParam();
  const Result r = ropewalk("verify --profile smoke --no-cuda --python " + python + " --plugin " +
                            guide + GetParam() + "_rope.py --kernel '" + GetParam() +
                            "*' --property agreement --property norm --property threads");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST_F(InPython, ASleepIsAHang) {
  const Result r = verify(planted + "wrong.py", "--kernel sleeps --property norm --cases 1");
  expect(r, 1, {"HANG  sleeps"});
}

}  // namespace
