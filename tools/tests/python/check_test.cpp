// check: what is no model is told in one line before Python starts; errors in models are named.
#include <gtest/gtest.h>

#include "tools/tests/python/with_numpy.h"

namespace {

TEST(Check, WhatIsNoModelIsToldBeforePythonStarts) {
  const std::string rest =
      R"(, "rope_theta": 1e4, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 64})";
  spill(scratch() / "empty/no.json", "{}");
  spill(scratch() / "broken/config.json", "{");
  spill(scratch() / "unknown/config.json", R"({"model_type": "my_own")" + rest);
  spill(scratch() / "right/config.json", R"({"model_type": "llama")" + rest);
  spill(scratch() / "load.py", "");
  const std::string python = "/no/python", neither = ": neither a folder with";
  const std::pair<std::string, std::string> targets[] = {
      {"no/where.py::load", "no/where.py: no such file or folder"},
      {"empty", "empty: this folder has no config.json"},
      {"load.py::", "load.py::" + neither},
      {"right/config.json", "right/config.json" + neither},
      {"broken", "broken/config.json:"},
      {"unknown", "--pairing"},
      {"right --config broken/config.json", "broken/config.json:"},
      {"right", python},  // from here on they are models
      {"load.py::load", python},
      {"unknown --pairing half_split", python},
      {"broken --config right/config.json", python}};
  for (const auto& [target, words] : targets) {
    const Result r =
        ropewalk("check --python /no/python " + target, "cd " + scratch().string() + " && ");
    EXPECT_EQ(r.code, 2) << target << r.out << r.err;
    EXPECT_EQ(lines_in(r.err), 1) << target << r.err;
    EXPECT_TRUE(contains(r.err, words)) << target << r.err;
  }
}

}  // namespace
