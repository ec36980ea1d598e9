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

TEST_F(OnDevice, ThoseOfTorchHold) {
  const std::string python = python_with("torch"), those = planted + "device_torch.py ";
  if (python.empty()) GTEST_SKIP() << "no python3 here has torch";
  const std::string words = "--kernel 'torch_*' --kernel raw --property attention_scale ";
  const Result r = on_stand_in(
      verify + those + words + "--property shared_inputs --property adjoint", "", python);
  expect_all_hold(r, "torch_new torch_in_place torch_cache raw");
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

}  // namespace
