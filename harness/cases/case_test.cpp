// A replay line that is written is read back. A message of one line names what cannot be read.
#include "harness/cases/fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "base/testing/refusal.h"

namespace ropewalk::harness {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Draws every field of the list; not all of these cases can be laid out.
class FieldDraw {
 public:
  explicit FieldDraw(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool coin() { return below(2) == 0; }
  std::int64_t integer() {
    constexpr std::int64_t special[] = {INT64_MIN, INT64_MAX, contiguous};
    const std::uint64_t which = below(5);
    return which < 3 ? special[which] : static_cast<std::int64_t>(below(10'000)) - 5'000;
  }
  void draw(std::int64_t& v) { v = integer(); }
  void draw(std::uint64_t& v) { v = random_(); }
  void draw(double& v) {
    constexpr double special[] = {0.0,       -0.0,      infinity, -infinity, not_a_number,
                                  0x1p-1074, 0x1p-1022, 0.1,      1e308,     -1e-300};
    v = coin() ? special[below(std::size(special))]
               : std::ldexp(static_cast<double>(random_()), static_cast<int>(below(200)) - 150);
  }
  void draw(bool& v) { v = coin(); }
  void draw(std::string& v) {
    static const std::string alphabet = "ab_Z09./ \"'%=,\n\t\\\x01\xc3\xa9*";
    v.clear();
    for (auto n = below(8); n > 0; --n) v += alphabet[below(alphabet.size())];
  }
  template <class T>
  void draw(std::vector<T>& v) {
    v.resize(below(4));
    for (T& each : v) draw(each);
  }
  void draw(std::vector<std::uint8_t>& axis_of_pair) {
    axis_of_pair.clear();
    for (auto n = below(40); n > 0; --n)
      axis_of_pair.push_back(static_cast<std::uint8_t>(coin() ? 0 : below(4)));
  }
  void draw(Strides& s) { s = coin() ? Strides{} : Strides{integer(), integer(), integer()}; }
  void draw(const Positions<Case>& positions) { positions_of(positions.of); }
  /// One of the words that the field may have.
  template <class E>
  void draw(E& v, Range range) {
    v = static_cast<E>(
        range.least +
        static_cast<double>(below(static_cast<std::uint64_t>(range.most - range.least) + 1)));
  }
  template <class E>
  void draw(std::optional<E>& v, Range range) {
    v.reset();
    if (coin()) draw(v.emplace(), range);
  }
  template <class Fields, class Owner>
  void draw_all(const Fields& fields, Owner& owner) {
    for_each_field(fields, [&](const auto& field) {
      if constexpr (std::tuple_size_v<decltype(field.words)> == 0)
        draw(std::invoke(field.get, owner));
      else
        draw(std::invoke(field.get, owner), field.range);
    });
  }

  void positions_of(Case& c) {
    c.positions.clear();
    c.position_from = c.position_to = 0;
    c.position_step = 1;
    c.position_rule = static_cast<PositionRule>(below(3));
    if (c.position_rule == PositionRule::list) {
      for (auto n = below(5); n > 0; --n) c.positions.push_back(integer());
      return;
    }
    c.position_from = integer();
    (c.position_rule == PositionRule::random ? c.position_to : c.position_step) = integer();
  }

  /// With later calls, of which each keeps some fields of the one before.
  Case any_sequence() {
    Case c = any_case();
    Case call = c;
    for (auto n = below(4); n > 0; --n) {
      const Case other = any_case();
      if (coin()) call.data = other.data;
      if (coin()) call.tokens = other.tokens;
      if (coin()) call.inv_freq = other.inv_freq;
      if (coin()) call.table_dtype = other.table_dtype;
      if (coin()) call.tensors[0] = other.tensors[0];
      if (coin()) positions_of(call);
      call.seed = coin() ? call.seed + 1 : random_();
      call.state = integer();
      call.moved = integer();
      c.calls.push_back(call);
    }
    return c;
  }

  Case any_case() {
    Case c;
    draw_all(case_fields, c);
    c.tensors.resize(1 + below(ROPE_MAX_TENSORS));
    for (TensorCase& t : c.tensors) draw_all(tensor_fields, t);
    return c;
  }

 private:
  std::mt19937_64 random_;
};

bool has_nan(const Case& c) {
  std::vector<double> all{c.rope_theta, c.attention_scale, c.epsilon};
  const auto add = [&](const auto& list) { all.insert(all.end(), list.begin(), list.end()); };
  add(c.inv_freq);
  add(c.scaling_values);
  for (const TensorCase& t : c.tensors) add(t.values), add(t.weights);
  return std::ranges::any_of(all, [](double v) { return std::isnan(v); }) ||
         std::ranges::any_of(c.calls, has_nan);
}

std::string refusal(const std::string& line) {
  return refusal_by<BadCase>([&] { case_from_text(line); });
}

bool one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == std::string::npos;
}

TEST(CaseText, RoundTripsEveryField) {
  FieldDraw draw(1);
  for (int n = 0; n < 3'000; ++n) {
    const Case c = draw.any_sequence();
    const std::string line = to_text(c);
    ASSERT_TRUE(one_line(line)) << line;
    const Case back = case_from_text(line);
    ASSERT_EQ(to_text(back), line);
    ASSERT_TRUE(has_nan(c) || back == c) << line;  // NaN equals nothing
  }
}

TEST(CaseText, NumbersComeBackBitForBit) {
  const auto read_back = [](std::vector<double> values) {
    Case c;
    c.tensors[0].values = std::move(values);
    return case_from_text(to_text(c)).tensors[0].values;
  };
  for (const double v :
       {0.1, 1.0 / 3, 0x1p-1074, -0.0, 0x1.fffffffffffffp+1023, infinity, -infinity}) {
    const std::vector<double> back = read_back({v, -v});
    ASSERT_EQ(back.size(), 2u);
    EXPECT_EQ(back[0], v);
    EXPECT_EQ(std::signbit(back[0]), std::signbit(v));
    EXPECT_EQ(back[1], -v);
  }
  const std::vector<double> back = read_back({not_a_number, -not_a_number});
  EXPECT_TRUE(std::isnan(back[0]) && !std::signbit(back[0]));
  EXPECT_TRUE(std::isnan(back[1]) && std::signbit(back[1]));
}

TEST(CaseText, PluginPathMayHoldAnything) {
  Case c;
  c.plugin = "/home/my stuff/\"it's\" 100%/a=b,c\n\xff.so";
  const std::string line = to_text(c);
  EXPECT_NE(line.find("plugin=/home/my%20stuff/%22it%27s%22%20100%25/"), std::string::npos) << line;
  EXPECT_EQ(case_from_text(line).plugin, c.plugin);
}

TEST(CaseText, TensorsAndTablesHaveTheTypeOfTheCaseUnlessTheySayAnother) {
  const Case c = case_from_text("dtype=bf16 q.heads=2 k.dtype=f64 table_dtype=f16");
  EXPECT_TRUE(tensor_dtype(c, 0) == Dtype::bf16 && tensor_dtype(c, 1) == Dtype::f64);
  EXPECT_EQ(table_dtype(c), Dtype::f16);
  EXPECT_EQ(to_text(c),
            "dtype=bf16 table_dtype=f16 positions=from:0:1 q.heads=2 k.heads=1 k.dtype=f64");
  EXPECT_EQ(table_dtype(case_from_text("dtype=f64")), Dtype::f64);
  EXPECT_EQ(table_dtype(case_from_text("dtype=bf16")), Dtype::f32);
  EXPECT_EQ(table_dtype(case_from_text("k.dtype=f64")), Dtype::f32) << "the case's type decides";
  EXPECT_NE(refusal("k.dtype=f8").find("k.dtype=f8 is not one of"), std::string::npos);
  EXPECT_NE(refusal("table_dtype=").find("table_dtype= is not one of"), std::string::npos);
}

// People keep such lines in bug reports, so they must mean the same in every later version.
TEST(CaseText, KnownLineMeansWhatItMeant) {
  const Case c = case_from_text(
      "kernel=plain property=norm op=transpose pairing=interleaved dtype=f64 batch=2 tokens=3 "
      "rotary_dim=4 rope_theta=0x1.388p+13 position_dtype=i64 rows_by=token data=wide seed=0x2a "
      "positions=random:-5:9 q.heads=2 q.head_dim=6 q.offset=1 q.in=1,2,3 k.heads=1 k.rotate=0 "
      "k.values=1,-inf,nan,0x1p-3");
  EXPECT_EQ(std::tie(c.kernel, c.property), std::tuple("plain", "norm"));
  EXPECT_TRUE(c.operation == Operation::transpose && c.pairing == Pairing::interleaved);
  EXPECT_TRUE(c.dtype == Dtype::f64 && c.position_dtype == Dtype::i64);
  EXPECT_TRUE(c.rows_by == ROPE_ROW_BY_TOKEN && c.data == DataPattern::wide);
  EXPECT_EQ(std::tuple(c.batch, c.tokens, c.rope_theta, c.seed), std::tuple(2, 3, 10000, 42u));
  EXPECT_EQ(c.position_rule, PositionRule::random);
  EXPECT_EQ(std::tuple(c.position_from, c.position_to), std::tuple(-5, 9));
  ASSERT_EQ(c.tensors.size(), 2u);
  EXPECT_EQ(c.tensors[0].rotary_offset, 1);
  EXPECT_EQ(c.tensors[0].in, (Strides{1, 2, 3}));
  EXPECT_FALSE(c.tensors[1].rotate);
  ASSERT_EQ(c.tensors[1].values.size(), 4u);
  EXPECT_EQ(c.tensors[1].values[1], -infinity);
  EXPECT_EQ(c.tensors[1].values[3], 0.125);
  EXPECT_EQ(to_text(Case{}), "positions=from:0:1 q.heads=1");
  EXPECT_TRUE(case_from_text("") == Case{});
}

TEST(CaseText, VIsTheThirdTensor) {
  EXPECT_EQ(to_text(case_from_text("v.heads=3 v.in_place=1 call.2.v.dtype=f16")),
            to_text(case_from_text("t2.heads=3 t2.in_place=1 call.2.t2.dtype=f16")));
}

TEST(CaseText, ACallHasWhatTheCallBeforeItHadAndItsChanges) {
  const Case c = case_from_text(
      "positions=from:5:1 inv_freq=1 seed=0x7 calls=5 call.2.position_from=6 call.3.data=zeros "
      "call.3.seed=0x9 call.4.inv_freq= call.4.state=1 call.4.q.heads=3 call.4.positions=8");
  ASSERT_EQ(c.calls.size(), 4u);
  EXPECT_EQ(std::tuple(c.calls[0].position_from, c.calls[0].seed), std::tuple(6, 8u));
  EXPECT_EQ(c.calls[1].position_from, 6) << "what a call changes stays";
  EXPECT_TRUE(c.calls[1].data == DataPattern::zeros && c.calls[1].seed == 9u);
  EXPECT_EQ(c.calls[2].inv_freq, std::vector<double>{});
  EXPECT_EQ(c.calls[2].tensors[0].heads, 3);
  EXPECT_EQ(c.calls[3].positions, std::vector<std::int64_t>{8});
  EXPECT_EQ(c.calls[3].seed, 11u);
  EXPECT_EQ(to_text(c),
            "inv_freq=1 seed=0x7 positions=from:5:1 q.heads=1 calls=5 call.2.position_from=6 "
            "call.3.data=zeros call.4.inv_freq= call.4.state=1 call.4.positions=8 "
            "call.4.q.heads=3");
  EXPECT_EQ(case_from_text("call.3.data=zeros").calls.size(), 2u) << "the last one that is named";
  EXPECT_TRUE(case_from_text("calls=1").calls.empty());
  EXPECT_EQ(case_from_text("calls=1000").calls.size(), 999u);
}

TEST(CaseText, AListMayGoOnInTheNextLineAfterAComma) {
  const Case c = case_from_text("positions=1,2,\n   3,\n 4 q.heads=2\n  q.values=1,\n0");
  EXPECT_EQ(to_text(c), "positions=1,2,3,4 q.heads=2 q.values=1,0");
  EXPECT_THROW(case_from_text("positions=1,2,\n q.heads=2"), BadCase);
}

TEST(Patched, ChangesWhatItNamesAndNothingElse) {
  const Case base = case_from_text("rotary_dim=4 q.heads=2 q.head_dim=4 k.heads=1 k.append=1");
  EXPECT_EQ(patched(base, ""), base);
  const std::pair<const char*, const char*> lines[] = {
      {"heads=3", "rotary_dim=4 q.heads=3 q.head_dim=4 k.heads=3 k.append=1"},
      {"k=3 rd=2 scale=2",
       "attention_scale=2 rotary_dim=2 q.heads=2 q.head_dim=4 k.heads=3 k.append=1"},
      {"head_dim=rotary+3 offset=2",
       "rotary_dim=4 q.heads=2 q.head_dim=7 q.offset=2 k.head_dim=7 k.offset=2 k.append=1"},
      {"in_place=1", "rotary_dim=4 q.heads=2 q.head_dim=4 q.in_place=1 k.append=1"},
      {"tensors=1", "rotary_dim=4 q.heads=2 q.head_dim=4 k.append=1"},
      {"tensors=3", "rotary_dim=4 q.heads=2 q.head_dim=4 k.append=1 t2.heads=2 t2.head_dim=4"},
      {"dtype=f16 q.dtype=f64",
       "dtype=f16 rotary_dim=4 q.dtype=f64 q.heads=2 q.head_dim=4 k.append=1"},
      {"batch=2 tokens=2 positions=cycle:5,9,7",
       "batch=2 tokens=2 positions=5,9,7,5 rotary_dim=4 q.heads=2 q.head_dim=4 k.append=1"},
      {"position_from=7", "positions=from:7:1 rotary_dim=4 q.heads=2 q.head_dim=4 k.append=1"}};
  for (const auto& [patch, line] : lines)
    EXPECT_EQ(to_text(patched(base, patch)), to_text(case_from_text(line))) << patch;
  for (const char* bad : {"heads=x", "tensors=5", "tensors=0", "nothing=1", "heads",
                          "positions=cycle:", "head_dim=rotary+x"}) {
    const std::string word = std::string(bad).substr(0, std::string(bad).find('='));
    const std::string message = refusal_by<BadCase>([&] { patched(base, bad); });
    EXPECT_NE(message.find(word), std::string::npos) << bad << " -> " << message;
  }
}

TEST(CaseText, WhatCannotBeReadIsNamed) {
  const std::pair<const char*, const char*> bad[] = {
      {"speed=3", "unknown word 'speed'"},
      {"q.speed=3", "unknown word 'q.speed'"},
      {"t4.heads=3", "unknown word 't4.heads'"},
      {"Batch=3", "unknown word 'Batch'"},
      {"batch", "'batch' is not of the form name=value"},
      {"batch=2 tokens=1 batch=2", "'batch' is given twice"},
      {"positions=1 positions=2", "'positions' is given twice"},
      {"k.heads=1 q.heads=1 k.heads=1", "'k.heads' is given twice"},
      {"t2.heads=1 v.heads=1", "'t2.heads' is given twice"},
      {"call.2.v.heads=1 call.2.t2.heads=1", "'call.2.t2.heads' is given twice"},
      {"batch=two", "batch=two is not an integer"},
      {"batch=", "batch= is not an integer"},
      {"batch=1.0", "batch=1.0 is not"},
      {"batch=99999999999999999999", "fits 64 bits"},
      {"dtype=f31", "dtype=f31 is not one of f64, f32"},
      {"pairing=neox", "pairing=neox is not one of interleaved, half_split"},
      {"fused=yes", "fused=yes is not 0 or 1"},
      {"seed=-1", "seed=-1 is not an unsigned integer"},
      {"seed=0x", "seed=0x is not"},
      {"rope_theta=1e4x", "rope_theta=1e4x is not a number"},
      {"inv_freq=1,,2", "inv_freq= is not a number"},
      {"inv_freq=1,", "inv_freq= is not a number"},
      {"inv_freq=", "inv_freq= is not a number"},
      {"q.values=,1", "q.values= is not a number"},
      {"q.in=1,2,3,", "q.in= is not an integer"},
      {"positions=1,2,", "positions= is not an integer"},
      {"q.in=1,2", "in=1,2 is not three strides"},
      {"q.in=1,2,3,4", "three strides"},
      {"positions=from:1", "positions=from:1 is not"},
      {"positions=random:1:b", "positions=b is not an integer"},
      {"positions=1,x", "positions=x is not an integer"},
      {"plugin=a%2", "plugin=a%2 is not"},
      {"plugin=a%zz", "plugin=a%zz is not"},
      {"calls=1001", "calls=1001 is not 1 to 1000"},
      {"calls=0", "calls=0 is not 1 to 1000"},
      {"calls=2 call.3.data=zeros", "there is no call 3: calls=2"},
      {"call.1.data=zeros", "'call.1.data' names no call"},
      {"call.1001.data=zeros", "'call.1001.data' names no call"},
      {"call.x.data=zeros", "'call.x.data' names no call"},
      {"call.2=zeros", "'call.2' names no call"},
      {"call.2.speed=1", "unknown word 'call.2.speed'"},
      {"call.2.calls=2", "unknown word 'call.2.calls'"},
      {"call.2.data=zeros call.2.data=zeros", "'call.2.data' is given twice"},
      {"call.2.tokens=", "call.2.tokens= is not an integer"},
      {"positions=3 call.2.position_from=1",
       "position_from=1 needs a call before it whose positions are from:A:STEP"},
      {"position_from=1", "unknown word 'position_from'"},
  };
  for (const auto& [line, part] : bad) {
    const std::string message = refusal(line);
    EXPECT_NE(message.find(part), std::string::npos) << line << " -> " << message;
    EXPECT_TRUE(one_line(message)) << line;
  }
  EXPECT_NE(refusal(std::string(2 << 20, 'x')).find("1 MiB"), std::string::npos);
  std::string values = "q.values=1";
  for (int i = 0; i < 2'000; ++i) values += ",1";
  EXPECT_NE(refusal(values + " calls=1000").find("a million listed values"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk::harness
