#include "reports/record/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/testing/refusal.h"
#include "reports/record/field_limits.h"
#include "reports/testing/sample_results.h"
#include "reports/testing/temp_folder.h"

namespace ropewalk::report {
namespace {

using nlohmann::json;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

class Record : public TempFolder {
 protected:
  void SetUp() override {
    TempFolder::SetUp();
    file = folder / "results.jsonl";
  }
  void put(const std::string& bytes) const { TempFolder::put(file, bytes); }
  std::string bytes() const { return bytes_of(file); }
  /// The message of the BadFile that reading `content` throws.
  std::string refusal(const std::string& content) const {
    put(content);
    return refusal_by<BadFile>([&] { read_results(file); });
  }

  std::filesystem::path file;
};

std::string lines_of(const Results& results) {
  std::string out = to_json_line(results.run) + "\n";
  for (const auto& row : results.verdicts) out += to_json_line(row) + "\n";
  for (const auto& row : results.timings) out += to_json_line(row) + "\n";
  for (const auto& row : results.curves) out += to_json_line(row) + "\n";
  return results.complete ? out + to_json_line(results.end) + "\n" : out;
}

std::string run_line() {
  return to_json_line(sample_results().run) + "\n";
}

TEST_F(Record, EveryKindOfRowComesBack) {
  Results results = sample_results();
  results.run.seed = std::numeric_limits<std::uint64_t>::max();
  results.verdicts[0].reason =
      "quote \" backslash \\ newline \n tab \t null " + std::string(1, '\0');
  results.verdicts[1].reason = "γράμματα ✓ 🪢";
  results.verdicts[1].judged_on = "cuda: \"A\" <b> \\ ✓\n";
  results.verdicts[1].coverage = "covered 99.9 % of 2-way interactions";
  results.verdicts[1].not_offered = "tokens above 1000";
  results.verdicts[1].not_met = {"tokens: 1, heads: 2", "<b>\n"};
  results.verdicts[1].part_of = "kernel=phase version=1";
  results.verdicts[2].margin = infinity;
  results.verdicts[3].margin = -infinity;
  results.verdicts[4].margin = not_a_number;
  results.verdicts[4].compared = 1'000'000'000'000;
  results.verdicts[5].bound = std::numeric_limits<double>::max();
  results.verdicts[5].replay.assign(longest_text_bytes, 'x');
  results.verdicts[6].kernel.assign(longest_name_bytes, 'k');
  results.timings[0].ns_per_token = {0.1, 5e-324, 1e12};
  results.timings[0].iterations = {1, 2, 1'000'000'000'000};
  results.timings[1] = sample_device_timing();
  results.timings[1].role = Role::floor;
  results.curves[0].y[0] = -0.0;
  {
    RecordWriter writer(file);
    writer.write(results.run);
    for (const auto& row : results.verdicts) writer.write(row);
    for (const auto& row : results.timings) writer.write(row);
    for (const auto& row : results.curves) writer.write(row);
    writer.write(results.end);
  }
  const Results read = read_results(file);
  EXPECT_TRUE(read.complete);
  EXPECT_EQ(lines_of(read), lines_of(results));
  EXPECT_EQ(read.run.seed, results.run.seed);
  EXPECT_EQ(read.verdicts[0].reason, results.verdicts[0].reason);
  EXPECT_EQ(read.verdicts[1].reason, results.verdicts[1].reason);
  EXPECT_EQ(read.verdicts[1].judged_on, results.verdicts[1].judged_on);
  EXPECT_EQ(read.verdicts[1].not_met, results.verdicts[1].not_met);
  EXPECT_EQ(read.verdicts[1].part_of, results.verdicts[1].part_of);
  EXPECT_EQ(read.verdicts[2].margin, infinity);
  EXPECT_TRUE(std::isnan(read.verdicts[4].margin));
  EXPECT_EQ(read.timings[0].ns_per_token, results.timings[0].ns_per_token);
  EXPECT_EQ(read.timings[0].device, "");
  EXPECT_EQ(read.timings[1].device, results.timings[1].device);
  EXPECT_EQ(read.timings[1].sm_mhz_after, results.timings[1].sm_mhz_after);
  EXPECT_TRUE(read.timings[1].is_reference());
  EXPECT_TRUE(std::signbit(read.curves[0].y[0]));
  EXPECT_EQ(read.end.exit_code, 1);
}

TEST_F(Record, BytesThatAreNoTextAreReplaced) {
  VerdictRow row = sample_verdict();
  row.kernel = "bad \xff\xc3( end";
  put(run_line() + to_json_line(row) + "\n");
  const std::string name = read_results(file).verdicts.at(0).kernel;
  EXPECT_NE(name.find("bad \xEF\xBF\xBD"), std::string::npos);
  EXPECT_NE(name.find("end"), std::string::npos);
}

TEST_F(Record, AKillLosesAtMostTheRowInFlight) {
  const std::string first = run_line() + to_json_line(sample_verdict()) + "\n";
  const std::string last = to_json_line(sample_timing()) + "\n";
  for (std::size_t kept = 0; kept < last.size(); ++kept) {
    put(first + last.substr(0, kept));
    const Results read = read_results(file);
    ASSERT_EQ(read.verdicts.size(), 1u) << kept;
    ASSERT_EQ(read.timings.size(), 0u) << kept;
    ASSERT_FALSE(read.complete);
  }
  put(first + last);
  EXPECT_EQ(read_results(file).timings.size(), 1u);
}

TEST_F(Record, AWriterCutsOffHalfARow) {
  const std::string first = run_line();
  const std::string last = to_json_line(sample_timing());
  for (const std::size_t kept : {std::size_t{1}, std::size_t{9}, std::size_t{40}, last.size()}) {
    put(first + last.substr(0, kept));
    RecordWriter(file).write(sample_verdict());
    EXPECT_EQ(bytes(), first + to_json_line(sample_verdict()) + "\n") << kept;
  }
}

TEST_F(Record, AWriterLeavesForeignFilesAlone) {
  const std::string foreign = "somebody's letter, without a last newline";
  put(foreign);
  EXPECT_THROW(RecordWriter{file}, std::runtime_error);
  EXPECT_EQ(bytes(), foreign);
}

TEST_F(Record, TheLastRunWins) {
  Results first = sample_results(), second = sample_results();
  second.run.profile = "smoke";
  second.verdicts.resize(1);
  second.timings.clear();
  second.curves.clear();
  second.complete = false;
  put(lines_of(first) + lines_of(second));
  const Results read = read_results(file);
  EXPECT_EQ(lines_of(read), lines_of(second));
  EXPECT_FALSE(read.complete);
}

TEST_F(Record, UnknownFieldsAreIgnored) {
  std::string line = to_json_line(sample_verdict());
  line.insert(line.size() - 1, R"(,"later":{"x":[1,2]})");
  put(run_line() + line + "\n");
  EXPECT_EQ(read_results(file).verdicts.size(), 1u);
}

TEST_F(Record, WhatIsRefusedNamesFileAndLine) {
  const std::string verdict = to_json_line(sample_verdict());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = verdict;
    const std::size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return run_line() + line.replace(at, from.size(), to) + "\n";
  };
  const std::string end = "\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ":1: no run row"},
      {"\n", ":1: not JSON"},
      {std::string("\0\xff\x01\n", 4), ":1: not JSON"},
      {"\177ELF\x02\x01\n", ":1: not JSON"},
      {run_line() + verdict.substr(0, 50) + "\n", ":2: not JSON"},
      {"[1]\n", ":1: not a JSON object"},
      {"{}\n", ":1: no integer field 'schema'"},
      {R"({"schema":"1","row":"run"})" + end, ":1: no integer field 'schema'"},
      {R"({"schema":2,"row":"run"})" + end, ":1: schema 2, this ropewalk reads schema 1"},
      {R"({"schema":1})" + end, ":1: no text field 'row'"},
      {R"({"schema":1,"row":"kernel"})" + end,
       ":1: a row of ropewalk list --json, which is not a run"},
      {R"({"schema":1,"row":"surprise"})" + end, ":1: unknown kind of row"},
      {verdict + "\n", ":1: a row stands before the run row"},
      {run_line() + to_json_line(EndRow{}) + "\n" + verdict + "\n",
       ":3: a row follows the end row"},
      {with(R"("kernel":"plain",)", ""), ":2: field 'kernel' is missing"},
      {with(R"("kernel":"plain")", R"("kernel":7)"), ":2: field 'kernel' is not a string"},
      {with(R"("margin":0.487)", R"("margin":"big")"), ":2: field 'margin' is not a number"},
      {with(R"("margin":0.487)", R"("margin":1e999)"), ":2: holds a number out of range"},
      {with(R"("planned":200)", R"("planned":0.5)"), ":2: field 'planned' is not a 64-bit integer"},
      {with(R"("planned":200)", R"("planned":9223372036854775808)"), ":2: field 'planned' is not"},
      {with(R"("verdict":"PASS")", R"("verdict":"FINE")"), ":2: field 'verdict' is not a word"},
      {with(R"("kernel":"plain")", "\"kernel\":\"\xff\""), ":2: not JSON"},
      {run_line() +
           R"({"schema":1,"row":"curve","chart":"","series":"","note":"","dtype":"","x":[1],)" +
           R"("y":[]})" + "\n",
       ":2: fields 'x' and 'y' differ in length"},
      {run_line() +
           R"({"schema":1,"row":"end","exit_code":3000000000,"seconds":1,"finished_at":""})" + "\n",
       ":2: field 'exit_code' is outside 0 .. 255"},
      {std::string(1000000, '[') + "\n", ":1: nested too deep"},
      {std::string(17 << 20, 'x'), ":1: a line longer than 16 MiB"},
      {std::string(17 << 20, 'x') + "\n", ":1: a line longer than 16 MiB"}};
  for (const auto& [content, what] : cases) {
    const std::string message = refusal(content);
    EXPECT_NE(message.find(file.string() + what), std::string::npos)
        << "got: " << message << "\nwanted: " << what;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_LT(message.size(), 400u);
  }
}

TEST_F(Record, FilesFromBeforeAFieldAreRead) {
  std::string line = to_json_line(sample_verdict());
  const std::string later =
      R"(,"same_cause":"","error":"","part_of":"","group":"","cause_ids":[],"unwatched":"")";
  const std::size_t at = line.find(later);
  ASSERT_NE(at, std::string::npos) << line;
  EXPECT_EQ(refusal(run_line() + line.erase(at, later.size()) + "\n"), "");
}

TEST_F(Record, TimingRowsKnowTheirRoles) {
  std::string timing = to_json_line(sample_timing());
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& why) {
    std::string line = timing;
    const std::size_t at = line.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    const std::string told = refusal(run_line() + line.replace(at, from.size(), to) + "\n");
    EXPECT_TRUE(why.empty() ? told.empty() : told.find(why) != std::string::npos) << told;
  };
  expect("MEASURED", "MEASURED", "");
  expect(R"("role":"kernel")", R"("role":"null_twin")", "");
  expect(R"("role":"kernel")", R"("role":"king")", "'role' is not a word");
  expect(R"("threads":1)", R"("threads":0)", "'threads' is outside 1 .. 65536");
  expect(R"("launch":0)", R"("launch":-1)", "'launch' is outside 0 .. 1000000");
  expect("[1000,1000,1000]", "[1000]", "differ in length");
  expect("\"probe_ns\":[]", "\"probe_ns\":[1]", "differ in length");
  expect("\"probe_ns\":[]", "\"probe_ns\":[1,2,3]", "");
  timing = to_json_line(sample_device_timing());
  expect("cuda", "cuda", "");
  expect(R"("sets":24)", R"("sets":-1)", "'sets' is outside 0 .. ");
  expect(R"("sets":24)", R"("sats":24)", "'sets' is missing");
  expect(R"("sm_mhz_after":1980.0)", R"("sm_mhz_after":"nan")", "'sm_mhz_after' is outside 0 .. ");
  expect(R"("host_ns_per_token":0.55)", R"("host_ns_per_token":-1)",
         "'host_ns_per_token' is outside 0");
  TimingRow twin = sample_timing();
  twin.kernel = "plain (twin)";
  EXPECT_EQ(kernel_of(twin), "plain (twin)");
  twin.role = Role::null_twin;
  EXPECT_EQ(kernel_of(twin), "plain");
}

/// A number, a name or a list beyond what the field can mean is refused in one short line.
TEST_F(Record, NumbersAndTextsHaveLimits) {
  const auto expect = [&](const auto& row, const std::string& why) {
    const std::string told = refusal(run_line() + to_json_line(row) + "\n");
    EXPECT_NE(told.find(":2: field " + why), std::string::npos) << told.substr(0, 400);
    EXPECT_LT(told.size(), 400u);
  };
  CurveRow curve{"decay", "plain", "", {1}, {1}};
  for (const double x : {1e19, -1e19, infinity, not_a_number}) {
    curve.x[0] = x;
    expect(curve, "'x' is outside -4294967296 .. 4294967296");
  }
  curve.x.assign(most_values + 1, 0);
  expect(curve, "'x' has more than 1000000 values");
  VerdictRow verdict = sample_verdict();
  verdict.not_met.assign(1, std::string(longest_text_bytes + 1, 'x'));
  expect(verdict, "'not_met' is longer than 4194304 bytes");
  verdict.planned = -1;
  expect(verdict, "'planned' is outside 0 .. ");
  verdict.kernel.assign(longest_name_bytes + 1, 'k');
  expect(verdict, "'kernel' is longer than 4096 bytes");
  TimingRow timing = sample_timing();
  timing.iterations[0] = std::numeric_limits<std::int64_t>::max();
  expect(timing, "'iterations' is outside 0 .. ");
  timing.ns_per_token[0] = infinity;
  expect(timing, "'ns_per_token' is outside 0 .. ");
}

TEST_F(Record, UnusableFilesAreNamed) {
  for (const std::filesystem::path& path : {folder / "missing.jsonl", folder})
    EXPECT_TRUE(refusal_by<BadFile>([&] {
                  read_results(path);
                }).starts_with(path.string() + ": cannot be read: "));
  const auto write = [&] { RecordWriter writer(folder / "no" / "such" / "folder.jsonl"); };
  EXPECT_TRUE(contains(refusal_by<std::runtime_error>(write), "No such file"));
}

TEST_F(Record, AFullDiskIsOneClearLine) {
  RecordWriter writer("/dev/full");
  EXPECT_EQ(refusal_by<std::runtime_error>([&] { writer.write(sample_verdict()); }),
            "/dev/full: cannot be written: No space left on device");
  EXPECT_THROW(writer.write(sample_verdict()), std::runtime_error);
}

/// Whether a value is of the type that the schema gives its field.
bool is_of_type(const json& type, const json& value) {
  if (type.contains("$ref") && value.is_string())
    return value == "inf" || value == "-inf" || value == "nan";
  if (type.contains("enum") && std::ranges::count(type["enum"], value) == 0) return false;
  const std::string word = type.value("type", "number");
  if (word == "array")
    return value.is_array() && std::ranges::all_of(value, [&](const json& each) {
             return is_of_type(type["items"], each);
           });
  return word == "string"    ? value.is_string()
         : word == "object"  ? value.is_object()
         : word == "integer" ? value.is_number_integer()
                             : value.is_number();
}

TEST(ResultsSchema, DescribesEveryField) {
  const json schema = json::parse(results_schema());
  EXPECT_EQ(schema.at("$schema"), "https://json-schema.org/draft/2020-12/schema");
  const Results results = sample_results();
  const std::map<std::string, std::string> lines = {
      {"run", to_json_line(results.run)},           {"verdict", to_json_line(results.verdicts[0])},
      {"timing", to_json_line(results.timings[0])}, {"curve", to_json_line(results.curves[0])},
      {"kernel", to_json_line(KernelRow{})},        {"end", to_json_line(results.end)}};
  EXPECT_EQ(schema.at("oneOf").size(), lines.size());
  for (const auto& [kind, line] : lines) {
    const json row = json::parse(line);
    const json& definition = schema.at("$defs").at(kind);
    const json& fields = definition.at("properties");
    EXPECT_EQ(fields.at("row").at("const"), kind);
    EXPECT_EQ(fields.at("schema").at("const"), results_schema_version);
    const std::size_t optional = kind == "verdict" ? 6 : 0;
    EXPECT_EQ(definition.at("required").size(), row.size() - optional) << kind;
    for (const auto& [name, value] : row.items()) {
      ASSERT_TRUE(fields.contains(name)) << kind << " " << name;
      if (name == "row" || name == "schema") continue;
      EXPECT_FALSE(fields.at(name).value("description", "").empty()) << kind << " " << name;
      EXPECT_TRUE(is_of_type(fields.at(name), value)) << kind << " " << name;
    }
  }
  const json& timing = schema.at("$defs").at("timing").at("properties");
  EXPECT_EQ(timing.at("ns_per_token").at("unit"), "ns");
  EXPECT_FALSE(is_of_type(timing.at("ns_per_token"), {1.5, "fast"}));
  EXPECT_FALSE(is_of_type(timing.at("outcome"), "FASTER")) << "no file holds a claim";
}

}  // namespace
}  // namespace ropewalk::report
