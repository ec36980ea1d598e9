// check: what is no model is told in one line before Python starts; errors in models are named.
#include <gtest/gtest.h>

#include "tools/tests/python/with_numpy.h"

namespace {

TEST(Check, WhatIsNoModelIsToldBeforePythonStarts) {
  spill(scratch() / "broken/config.json", "{");
  spill(scratch() / "own/config.json", R"({"model_type": "my_own", "num_attention_heads": 4,
      "num_key_value_heads": 4, "head_dim": 64, "rope_theta": 10000})");
  spill(scratch() / "load.py", "");
  const std::pair<std::string, std::string> targets[] = {
      {"no/where.py::load", "no/where.py: no such file or folder"},
      {"/", "/: this folder has no config.json"},
      {"load.py", "load.py: neither a folder with"},
      {"own/config.json::load", "own/config.json::load: neither a folder with"},
      {"broken", "broken/config.json:"},
      {"own", "--pairing"},
      {"own --config broken/config.json --pairing half_split", "broken/config.json:"},
      {"own --pairing half_split", "/no/python"},  // from here on they are models
      {"broken --config own/config.json --pairing half_split", "/no/python"},
      {"load.py::load", "/no/python"}};
  for (const auto& [target, words] : targets) {
    expect_one_line(
        ropewalk("check --python /no/python " + target, "cd " + scratch().string() + " && "),
        {words});
  }
}

using CheckOfModels = WithNumpy;
TEST_F(CheckOfModels, NamesWhatIsPlanted) {
  const Result r = script("checked.py");
  if (r.code == 77) GTEST_SKIP() << r.out;  // without torch or transformers
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

}  // namespace
