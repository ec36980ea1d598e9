#include "benchmarks/configs/json_fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/testing/refusal.h"
#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

std::string message_of(const std::string& text) {
  return refusal_by<BadFile>([&] { parse_json_fields(text, "FILE"); });
}

// The number m is no integer of 64 bits.
TEST(JsonFields, NamesOnTheWayToAValue) {
  const JsonFields f = parse_json_fields(
      R"({"a": 1, "b": {"c": {)"
      R"("d": 2.5, "e": {"f": {"r": 3, "s": {"t": 3}}}}}, "g": [1, {"h": 4}], "i": null, "j": "k",)"
      R"( "l": false, "m": 9223372036854775808,)"
      R"( "b.c": 5, "n.o": {"p": 6}, "q": []})",
      "FILE");
  const std::pair<const char*, JsonValue> wanted[] = {
      {"a", std::int64_t{1}},  {"b", JsonKind::object},
      {"b.c.d", 2.5},          {"b.c.e", JsonKind::object},
      {"g", JsonKind::list},   {"i", JsonKind::null},
      {"j", std::string("k")}, {"l", false},
      {"m", 0x1p63},           {"q", std::vector<double>{}}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(f.at(name), value) << name;
  EXPECT_EQ(f.size(), 15u) << "nothing of lists, nothing seven names deep, no dots";
}

TEST(JsonFields, ListsAndTheWordsOfPython) {
  const JsonFields f = parse_json_fields(
      R"({"a": [1, 2.5, Infinity], "b": ["x", "NaN"], "c": [1, "x"], "d": [[1]], "e": -Infinity,)"
      R"( "f": NaN, "g": "\"NaN"})",
      "FILE");
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(f.at("a"), JsonValue(std::vector<double>{1, 2.5, infinite}));
  EXPECT_EQ(f.at("b"), JsonValue(std::vector<std::string>{"x", "NaN"}));
  for (const char* mixed : {"c", "d"}) EXPECT_EQ(f.at(mixed), JsonValue(JsonKind::list)) << mixed;
  EXPECT_EQ(f.at("e"), JsonValue(-infinite));
  EXPECT_TRUE(std::isnan(std::get<double>(f.at("f"))));
  EXPECT_EQ(f.at("g"), JsonValue(std::string("\"NaN")));
  std::string zeros;
  for (std::size_t i = 0; i < list_members_max; ++i) zeros += "0,";
  const auto kept = [](const std::string& list) {
    return parse_json_fields("{\"l\": [" + list + "0]}", "FILE").at("l");
  };
  EXPECT_TRUE(std::holds_alternative<std::vector<double>>(kept(zeros.substr(2))));
  EXPECT_EQ(kept(zeros), JsonValue(JsonKind::list));
}

TEST(JsonFields, WhatIsRefusedIsOneLine) {
  EXPECT_EQ(message_of(""), "FILE:1: is not JSON");
  EXPECT_EQ(message_of("{\"a\": 1"), "FILE:1: is not JSON");
  EXPECT_EQ(message_of("{\n\"a\": NaNs}"), "FILE:2: is not JSON");
  EXPECT_EQ(message_of("{\"a\": \"\xff\"}"), "FILE:1: is not JSON");
  EXPECT_EQ(message_of("{} {}"), "FILE:1: is not JSON");
  EXPECT_EQ(message_of("{\"a\": 1e999}"), "FILE: a: a number out of range");
  EXPECT_EQ(message_of("{\"b\": {\"a\": [1, {\"c\": -1e999}]}}"),
            "FILE: b.a: a number out of range");
  EXPECT_EQ(message_of("{\"a.b\": 1e999}"), "FILE: a number out of range");
  EXPECT_EQ(message_of("1e999"), "FILE: a number out of range");
  EXPECT_EQ(message_of(std::string("{}\0", 3)), "FILE: has a byte of 0");
  EXPECT_EQ(message_of("[1]"), "FILE: is not a JSON object");
  EXPECT_EQ(message_of("7"), "FILE: is not a JSON object");
  EXPECT_EQ(message_of(R"({"a": 1, "a": 2})"), "FILE: 'a' is given twice");
  EXPECT_EQ(message_of(R"({"b": {"a": 1, "a": 2}})"), "FILE: 'b.a' is given twice");
  EXPECT_EQ(message_of(R"({"a\nb": 1, "a\nb": 1})"), "FILE: 'a?b' is given twice");
  const std::string deep = "{\"a\": " + std::string(31, '[') + std::string(31, ']') + "}";
  EXPECT_EQ(message_of(deep), "");
  EXPECT_EQ(message_of("{\"a\": " + std::string(32, '[')), "FILE: nested deeper than 32 levels");
  EXPECT_EQ(message_of("{\"a\": " + std::string(1000000, '[')),
            "FILE: nested deeper than 32 levels");
}

}  // namespace
}  // namespace ropewalk::bench
