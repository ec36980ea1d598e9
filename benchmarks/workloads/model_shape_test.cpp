#include "benchmarks/workloads/model_shape.h"

#include <gtest/gtest.h>

#include <set>

#include "base/testing/refusal.h"
#include "base/text_file.h"
#include "benchmarks/testing/toys.h"
#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
namespace {

void expect_refused(const std::string& text, const std::string& part) {
  const std::string message = refusal_by<BadFile>([&] { parse_shape(text); });
  EXPECT_TRUE(message.starts_with("--shape: ")) << text << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

/// The only workload, or the first one.
Workload shape(const std::string& text) {
  return parse_shape(text).at(0);
}

TEST(Shape, ReadsEveryWord) {
  const auto all = parse_shape(
      "q=32,k=8,d=192,kd=64,rd=64,theta=5e5,tokens=7,batch=3,pairing=interleaved,dtype=f64,"
      "in_place=no,positions=scattered");
  ASSERT_EQ(all.size(), 1u);
  const Workload& w = all[0];
  EXPECT_TRUE(has_heads(w.tensors[0], 32, 192, 0) && has_heads(w.tensors[1], 8, 64, 0));
  EXPECT_EQ(std::tuple(w.rotary_dim, w.rope_theta, w.tokens, w.batch), std::tuple(64, 5e5, 7, 3));
  EXPECT_TRUE(w.pairing == Pairing::interleaved && w.dtype == Dtype::f64);
  EXPECT_TRUE(!is_in_place(w) && w.scattered && w.phase == report::WorkloadPhase::prefill);
  EXPECT_EQ(w.name,
            "shape-q32-k8-d192-kd64-rd64-theta500000-interleaved-f64-out-of-place/t7-b3-scattered");
  EXPECT_TRUE(in_profile(w, "smoke") && in_profile(w, "standard") && in_profile(w, "full"));
  EXPECT_NE(w.source.find("--shape q=32"), std::string::npos);
}

TEST(Shape, AMapOfAxesIsTimedWithAPicture) {
  const Workload w = shape("q=4,d=32,axes=0*4,(1,2)*6,dtype=bf16,tokens=12");
  EXPECT_TRUE(w.axes == 3 && w.axis_of_pair.size() == 16 && w.dtype == Dtype::bf16);
  EXPECT_EQ(w.name, "shape-q4-k4-d32-bf16-axes0x4-.1-2.x6/t12-b1");
  EXPECT_EQ(parse_shape("q=4,d=32,axes=0*4,1*12").at(1).name,
            "shape-q4-k4-d32-axes0x4-1x12/decode-1-picture");
  expect_refused("q=4,d=32,axes=0*4,tokens=1", "4 pairs, but 16 are rotated");
}

TEST(Shape, ANormAndAnAppendAreOutOfPlace) {
  const Workload w = shape("q=4,k=2,d=32,norm=1,append=1,page=8,tokens=20,batch=3");
  EXPECT_EQ(w.name, "shape-q4-k2-d32-norm-append-page8/t20-b3");
  EXPECT_TRUE(!is_in_place(w) && w.tensors[0].norm && !w.tensors[0].append && w.tensors[1].append);
  ASSERT_EQ(w.tensors.size(), 3u);
  const harness::TensorCase& v = w.tensors[2];
  EXPECT_TRUE(has_heads(v, 2, 32, 0) && v.append && !v.norm && !v.rotate);
  EXPECT_EQ(w.pages, 2 * 3 * 3);
  EXPECT_EQ(board_of(w, "table"), "half_split / f32 / out of place / norm / append / table");
  expect_refused("q=4,d=32,norm=1,in_place=yes,tokens=1", "need out of place");
  expect_refused("q=4,d=32,page=8,tokens=1", "page= needs append=1");
  expect_refused("q=4,d=32,append=1,page=0,tokens=1", "page_size is 0; it must be 1 to 4096");
}

TEST(Shape, ReadsHowTheDataIsHandedOver) {
  const Workload w =
      shape("q=4,d=96,rd=64,qo=32,position_dtype=i64,scale=1.5,layout=fused,in_place=no,tokens=7");
  EXPECT_TRUE(has_heads(w.tensors[0], 4, 96, 32) && has_heads(w.tensors[1], 4, 96, 32));
  EXPECT_TRUE(w.position_dtype == Dtype::i64 && w.layout == WorkloadLayout::fused);
  EXPECT_EQ(w.attention_scale, 1.5);
  EXPECT_EQ(w.name, "shape-q4-k4-d96-rd64-at32-32-out-of-place-i64-scale1.5-fused/t7-b1");
  // A K of another size has no offset unless it says one.
  const std::string latent = "q=4,k=1,d=96,kd=32,rd=32,qo=64,tokens=1";
  EXPECT_TRUE(has_heads(shape(latent).tensors[1], 1, 32, 0));
  EXPECT_TRUE(has_heads(shape("q=4,d=96,rd=64,ko=8,tokens=1").tensors[1], 4, 96, 8));
  for (std::size_t i = 0; i < layout_words.size(); ++i) {
    const std::string layout(layout_words[i]);
    const Workload one = shape("q=4,d=64,tokens=3,batch=2,layout=" + layout);
    EXPECT_EQ(one.layout, static_cast<WorkloadLayout>(i));
    EXPECT_EQ(one.tensors, case_of(one, 3).tensors) << "what is timed is what is checked";
  }
}

TEST(Shape, ALongNameBecomesAShortOne) {
  const std::string words =
      "q=2147,k=1073,d=1922,kd=1922,rd=642,qo=1280,theta=5e5,pairing=interleaved,dtype=f64,"
      "in_place=no,position_dtype=i64,scale=1.386294361,layout=head_major,tokens=1,batch=";
  const std::string one = shape(words + "1").name;
  EXPECT_TRUE(one.starts_with("shape-")) << one;
  EXPECT_EQ(one.size(), std::string("shape-0123456789abcdef/t1-b1").size()) << one;
  EXPECT_NE(shape("q=2147,k=1072" + words.substr(13) + "1").name, one);
}

TEST(Shape, SaysWhichWordsItHas) {
  EXPECT_TRUE(shape_states("q=4,d=64,pairing=interleaved", "pairing"));
  EXPECT_FALSE(shape_states("q=4,d=64,pairing=interleaved", "dtype"));
  EXPECT_TRUE(shape_states("q=4,d=64,theta=500", "theta"));
  EXPECT_TRUE(shape_states("q=4,d=64,rope_theta=500", "theta"));
}

TEST(Shape, WhatIsNotSaidIsTheUsual) {
  const Workload w = shape("q=4,d=64,tokens=1");
  EXPECT_TRUE(has_heads(w.tensors[1], 4, 64, 0) && is_in_place(w) && w.scattered);
  EXPECT_EQ(std::tuple(w.rotary_dim, w.rope_theta, w.attention_scale), std::tuple(64, 10000, 0));
  EXPECT_TRUE(w.pairing == Pairing::half_split && w.dtype == Dtype::f32);
  EXPECT_TRUE(w.position_dtype == Dtype::i32 && w.layout == WorkloadLayout::packed);
  EXPECT_EQ(w.phase, report::WorkloadPhase::decode);
  EXPECT_FALSE(shape("q=4,d=64,tokens=2").scattered);
  EXPECT_FALSE(shape("q=4,d=64,tokens=1,positions=consecutive").scattered);
}

TEST(Shape, WithoutTokensItGoesThroughThePhases) {
  std::set<std::string> names, expected;
  for (const Workload& w : parse_shape("q=4,d=64")) {
    names.insert(w.name);
    EXPECT_TRUE(in_profile(w, "standard")) << w.name;
    EXPECT_EQ(in_profile(w, "smoke"), w.batch * w.tokens <= 512) << w.name;
  }
  for (const Workload& w : load_default_workloads())
    if (w.model == "Phi-2") expected.insert("shape-q4-k4-d64" + w.name.substr(w.name.find('/')));
  EXPECT_EQ(names, expected);
  EXPECT_GE(names.size(), 7u);
}

TEST(Shape, OtherShapesHaveOtherNames) {
  std::set<std::string> names;
  for (const char* text :
       {"q=4,d=64", "q=4,d=64,k=2", "q=4,d=64,rd=32", "q=4,d=64,theta=1e20", "q=4,d=64,kd=66,rd=64",
        "q=4,d=64,pairing=interleaved", "q=4,d=64,dtype=f64", "q=4,d=64,in_place=no",
        "q=4,d=64,rd=32,qo=16", "q=4,d=64,rd=32,ko=16", "q=4,d=64,position_dtype=i64",
        "q=4,d=64,scale=2,in_place=no", "q=4,d=64,scale=-2,in_place=no", "q=4,d=64,scale=1",
        "q=4,d=64,layout=fused", "q=4,d=64,layout=padded"})
    EXPECT_TRUE(names.insert(shape(text).name).second) << text;
}

TEST(Shape, TakesWordsOfAReplayLine) {
  const Workload by_replay = shape(
      "q.heads=8 k.heads=2 q.head_dim=96 rotary_dim=64 rope_theta=0x1.e848p+18 q.offset=32 "
      "dtype=bf16 tokens=3 batch=1");
  Workload by_shape = shape("q=8,k=2,d=96,rd=64,theta=5e5,qo=32,dtype=bf16,tokens=3");
  by_shape.source = by_replay.source;
  EXPECT_EQ(by_replay, by_shape);
  const Workload scaled = shape(
      "q=4,d=64,scaling=llama3,scaling_values=8,1,4,8192,table_dtype=bf16,in_place=no,tokens=1");
  EXPECT_EQ(scaled.scaling, "llama3");
  EXPECT_EQ(scaled.scaling_values, (std::vector<double>{8, 1, 4, 8192}));
  EXPECT_EQ(harness::table_dtype(scaled), Dtype::bf16);
  EXPECT_EQ(scaled.name, "shape-q4-k4-d64-out-of-place-llama3-8-1-4-8192-table-bf16/t1-b1");
}

TEST(Shape, BadOnesAreRefusedInOneLine) {
  expect_refused("", "is empty");
  expect_refused("q", "name=value");
  expect_refused("q=4,,d=2", "name=value");
  expect_refused("q=4,d=64,", "name=value");
  expect_refused("q=4,d=", "name=value");
  expect_refused("q=4,d=64,wings=2", "'wings' is not known");
  expect_refused("q=4,d=64,q=4", "'q' is given twice");
  expect_refused("q=4,d=64,q.heads=4", "'q.heads' is given twice");
  expect_refused("q=4,d=64,q.in=9,9,9", "'q.in' is not known");
  expect_refused("q=4,d=64,table_dtype=f8", "table_dtype=f8 is not one of");
  expect_refused("q=4,d=64,table_dtype=bf16", "a table of bf16 needs out of place");
  expect_refused("q=4,d=64,scaling=linear,scaling_values=2,x", "scaling_values=x is not a number");
  expect_refused("d=64", "'q=' is missing");
  expect_refused("q=4", "'d=' is missing");
  expect_refused("q=4x,d=64", "q.heads=4x is not an integer");
  expect_refused("q=0,d=64", "a size is below 1");
  expect_refused("q=99999999999999999999,d=64", "is not an integer");
  expect_refused("q=4,d=64,theta=ten", "rope_theta=ten is not a number");
  expect_refused("q=4,d=64,pairing=neox", "pairing=neox is not one of interleaved, half_split");
  expect_refused("q=4,d=64,dtype=f8", "dtype=f8 is not one of");
  expect_refused("q=4,d=64,in_place=1", "yes or no");
  expect_refused("q=4,d=64,position_dtype=i16", "is not one of");
  expect_refused("q=4,d=64,layout=odd", "packed or head_major or fused or padded");
  expect_refused("q=4,d=64,scale=0,in_place=no", "scale=0: it must not be 0");
  expect_refused("q=4,d=64,scale=half,in_place=no", "attention_scale=half is not a number");
  expect_refused("q=4,d=64,scale=1.5", "needs out of place");
  expect_refused("q=4,d=64,qo=2", "the window [2, 2 + 64) is not inside a head of 64");
  expect_refused("q=4,d=64,qo=-1", "an offset below 0");
  expect_refused("q=4,d=64,positions=scattered", "needs tokens=");
  expect_refused("q=256,d=4096", "prefill-8192: it needs");
  expect_refused("q=4\n,d=64", "'q=4?' has a line break");
}

}  // namespace
}  // namespace ropewalk::bench
