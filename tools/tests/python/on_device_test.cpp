// Kernels in Python whose arrays lie on a device, with the stand-in for the driver. It tells
// nothing of streams of a framework, of a graph that the framework's own calls are captured into,
// or of its pool of memory: those need a GPU.
#include "tools/tests/python/with_numpy.h"

namespace {

class OnDevice : public WithNumpy {};

Result on_stand_in(const std::string& words, const std::string& settings = "",
                   const std::string& python = python_with("numpy")) {
  return ropewalk(words + " --no-cuda --profile smoke --python " + python,
                  "ROPEWALK_CUDA_DRIVER='" + std::string(ROPEWALK_STANDIN_DRIVER) +
                      "' ROPEWALK_STANDIN=" + settings + " ");
}
const std::string functions = planted + "device.py ", verify = "verify --cases 1 --plugin ";

void expect_all_hold(const Result& r, const std::string& names) {
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  std::istringstream words(names);
  for (std::string name; words >> name;)
    EXPECT_TRUE(contains(r.out, "PASS  " + name + " ")) << name << r.out;
}

TEST_F(OnDevice, RightFunctionsHold) {
  const Result r = on_stand_in(verify + functions + "--kernel 'right_*' --property norm " +
                               "--property shared_inputs --property adjoint");
  expect_all_hold(r, "right_new right_out right_in_place right_if_states_are_freed");
  EXPECT_TRUE(contains(r.out, "(cuda: stand-in, python 3.")) << r.out;
}

TEST_F(OnDevice, ThoseOfTorchHold) {
  const std::string python = python_with("torch"), those = planted + "device_torch.py ";
  if (python.empty()) GTEST_SKIP() << "no python3 here has torch";
  const std::string words = "--kernel 'torch_*' --kernel raw --property attention_scale ";
  const Result r = on_stand_in(
      verify + those + words + "--property shared_inputs --property adjoint", "", python);
  expect_all_hold(r, "torch_new torch_in_place torch_cache raw");
}

TEST_F(OnDevice, EachWrongOneFailsByName) {
  const struct {
    std::string kernel, words;
  } errors[] = {{"rotates_back", "rotates the other way"},
                {"other_pairing", "pairs elements as interleaved"},
                {"leaves_outputs", "leaves outputs unwritten"},
                {"writes_its_input", "which is read-only"},
                {"writes_past", "apply wrote outside its "},
                {"rounds_to_f16", "a pair is too far from the exact rotation"},
                {"returns_a_list", "prepare answered 2: returned list, not an array of cupy"},
                {"returns_f64", "prepare answered 2: returned float64, not float32"},
                {"raises", "device.py line 95: ValueError: no rotation today"},
                {"keeps_results", "keeps_results half_split f32 table"}};
  std::string kernels;
  for (const auto& error : errors) kernels += " --kernel " + error.kernel;
  const Result r = on_stand_in(verify + functions + "--property shared_inputs " + kernels);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const auto& [kernel, words] : errors) {
    EXPECT_TRUE(contains(r.out, "FAIL  " + kernel + " ")) << kernel << r.out;
    EXPECT_TRUE(contains(unwrapped(r.out), words)) << kernel << unwrapped(r.out);
  }
}

// They are right until they are timed.
TEST_F(OnDevice, CheatsOfTimedCallsAreBroken) {
  for (const std::string settings : {"l2=4096", "l2=4096,captures_no_functions"}) {
    const auto out = fresh();
    const Result r = on_stand_in(
        "bench --no-baselines --launches 1 --rounds 12 --shape q=2,k=2,d=8,tokens=4 --plugin " +
            functions + "--kernel 'timed_*' --baseline timed_right --out " + out.string(),
        settings);
    std::string measured;
    std::istringstream rows(slurp(out / "results.jsonl"));
    for (std::string row; std::getline(rows, row);) {
      const std::string kernel = field(row, "kernel");
      if (field(row, "row") != "timing") continue;
      const bool is_cheat = kernel.starts_with("timed_") && field(row, "role") == "kernel";
      EXPECT_EQ(field(row, "outcome"), is_cheat ? "BROKEN" : "MEASURED") << row;
      const bool by_events = contains(row, "timed by events around its calls, not as a graph: ");
      EXPECT_EQ(by_events, kernel.starts_with("timed_right") && settings != "l2=4096") << row;
      measured += is_cheat ? "" : kernel + ", ";
    }
    EXPECT_EQ(measured,
              "ceiling_update, floor, floor_copy, floor_python, timed_right, timed_right (twin), ")
        << r.out << r.err;
  }
}

TEST_F(OnDevice, ACallThatWaitsIsToldAndJudgedWithoutAGraph) {
  const Result r =
      on_stand_in(verify + functions + "--kernel right_out --property clean_call --json",
                  "captures_no_functions");
  expect(r, 0, {"a call waits for its device or takes memory of it: no graph"});
}

TEST_F(OnDevice, WhatCannotRunIsToldInALine) {
  const struct {
    std::string words, told;
  } bad[] = {{"arrays='jax', device='cuda'", "it takes no stream and writes nothing in place"},
             {"device='cuda'", "device='cuda' needs arrays='torch', 'cupy' or 'raw'"},
             {"arrays='cupy'", "arrays='cupy' needs device='cuda'"},
             {"arrays='raw', device='cuda'", "arrays='raw' needs raw=True"},
             {"device='rocm'", "device='rocm' is not one of cuda"}};
  for (const auto& [words, told] : bad) {
    const auto file = fresh("bad.py");
    spill(file, "import ropewalk\n@ropewalk.kernel(pairing='half_split', " + words +
                    ")\ndef f(x, cos, sin):\n    return x\n");
    const Result r = with_numpy("list --plugin " + file.string());
    EXPECT_EQ(r.code, 2) << words << r.out;
    std::string line = r.err;
    std::replace(line.begin(), line.end(), '"', '\'');
    EXPECT_TRUE(contains(line, told)) << line;
    EXPECT_EQ(lines_in(line), 1) << line;
  }
  const auto right = fresh("right.py");
  spill(right,
        "import ropewalk\n@ropewalk.kernel(pairing='half_split', arrays='raw', device='cuda', "
        "raw=True)\ndef f(call):\n    pass\n");
  const Result none = ropewalk("verify --no-cuda --profile smoke --python " + python_with("numpy") +
                                   " --plugin " + right.string() + " --kernel f --property norm",
                               "ROPEWALK_CUDA_DRIVER=/nowhere/libcuda.so.1 ");
  EXPECT_EQ(none.code, 3) << none.out << none.err;
}

}  // namespace
