// A board's request reads as it was written. A text that is no request is refused with a reason.
#include "tools/launches/board_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::tools {
using namespace bench;
namespace {

std::vector<Workload> sent(const std::vector<Workload>& workloads) {
  BoardRequest request;
  request.workloads = workloads;
  return board_request_from(to_text(request)).workloads;
}

// Finds a new field of Workload that the JSON forgets.
TEST(BoardRequest, WorkloadsReadAsTheyWereWritten) {
  auto all = load_default_workloads();
  Workload odd = all.front();
  odd.name = "odd/one";
  odd.model = R"(a "quoted" \ name)";
  odd.source = "with = signs, # and ' and \xC3\xA9" + std::string(1000, '"');
  odd.phase = report::WorkloadPhase::prefill;
  odd.rope_theta = 1.0 / 3 + 10000;
  odd.scaling = "llama3";
  odd.scaling_values = {8, 1, 4, 8192};
  odd.dtype = Dtype::f64;
  odd.pairing = Pairing::interleaved;
  set_in_place(odd, false);
  odd.layout = WorkloadLayout::fused;
  bench::lay_out(odd);
  odd.position_dtype = Dtype::i64;
  odd.attention_scale = 1.0 / 3;
  odd.profiles = {"full"};
  all.push_back(odd);
  odd.name = "odd/two";
  odd.scaling = "linear";
  odd.scaling_values = {1e9};
  odd.rope_theta = 1e300;
  all.push_back(odd);
  EXPECT_EQ(sent(all), all);
  all.back().rope_theta = 1e301;
  EXPECT_NE(sent({odd}).front(), all.back());
}

BoardRequest full_request() {
  BoardRequest r;
  r.engine = report::Engine::gbench;
  r.ceilings_only = r.quick = r.silent = true;
  r.seed = UINT64_MAX;
  r.workloads = load_default_workloads();
  r.contestants = {{"mine", "it ended\nby SIGSEGV \x1b"}, {"plain", ""}};
  r.unverified = {{"mine", "a b"}, {"mine", "c"}};
  r.benchmark_args = {"--a=b c", ""};
  r.launch_ms = 7;
  r.epochs_s = {{"a|half_split / f32|1", 0.5}};
  r.rounds = 2, r.launch = 3, r.epoch_us = 4, r.group_ms = 5, r.threads = 6;
  r.baseline = "plain";
  r.ceilings = {{"a", "4 streams"}};
  r.done = {"a|half_split / f32|1"};
  return r;
}

TEST(BoardRequest, EveryFieldReadsAsItWasWritten) {
  const BoardRequest there = full_request();
  EXPECT_TRUE(board_request_from(to_text(there)) == there);
  EXPECT_FALSE(there == BoardRequest{});
}

std::string refusal_of(const std::string& text) {
  try {
    board_request_from(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BoardRequest, WhatIsNoRequestIsRefusedInWords) {
  for (const char* text : {"", "engine paired", "7", "[]", "null", "{}", "{\"engine\": 1e999}"})
    EXPECT_TRUE(refusal_of(text).starts_with("board request: ")) << text;
  EXPECT_TRUE(refusal_of(std::string(1'000'000, '[')).starts_with("board request: "));
  const auto right = nlohmann::json::parse(to_text(full_request()));
  EXPECT_EQ(refusal_of(right.dump()), "accepted");
  for (const auto& [key, value] : right.items()) {
    auto wrong = right;
    wrong.erase(key);
    EXPECT_TRUE(refusal_of(wrong.dump()).starts_with("board request: ")) << key << " is missing";
    wrong[key] = nullptr;
    EXPECT_TRUE(refusal_of(wrong.dump()).starts_with("board request: ")) << key << " is null";
  }
  const auto with = [&](const std::string& place, const nlohmann::json& value) {
    auto changed = right;
    changed[nlohmann::json::json_pointer(place)] = value;
    return refusal_of(changed.dump());
  };
  EXPECT_NE(with("/engine", "fast").find("\"fast\" is unknown"), std::string::npos);
  EXPECT_NE(with("/more", 1).find("a field is unknown"), std::string::npos);
  EXPECT_NE(with("/rounds", 1.5).find("does not fit"), std::string::npos);
  EXPECT_NE(with("/threads", 0).find("at least 1"), std::string::npos);
  // benchmarks/workloads/workload_shape_test.cpp has the other shapes that are refused.
  const auto narrow = harness::case_from_text("rotary_dim=2 q.heads=2 k.heads=1 q.head_dim=1");
  EXPECT_NE(with("/workloads/0/case", harness::to_text(narrow)).find("rotary_dim 2 exceeds"),
            std::string::npos);
}

}  // namespace
}  // namespace ropewalk::tools
