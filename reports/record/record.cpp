// The rows of results.jsonl as JSON.
#include "reports/record/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "reports/record/field_limits.h"
#include "reports/record/fields.h"

namespace ropewalk::report {
namespace {

constexpr std::size_t line_limit_bytes = std::size_t{16} << 20;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what, int error) {
  throw std::runtime_error(file.string() + ": " + what + ": " +
                           std::generic_category().message(error));
}

// Whole lines are appended and read. A kill between two writes leaves at most half a line. A reader
// drops that half line and the next writer cuts it off.

ssize_t read_some(int descriptor, char* to, std::size_t size) {
  ssize_t got = 0;
  do {
    got = ::read(descriptor, to, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

/// The number of bytes to keep so that the file ends in a whole line.
off_t whole_lines_bytes(int descriptor, off_t size) {
  std::array<char, 4096> block;
  for (off_t end = size; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
    const auto want = static_cast<std::size_t>(end - begin);
    if (::pread(descriptor, block.data(), want, begin) != static_cast<ssize_t>(want)) return size;
    for (off_t i = end - begin; i > 0; --i)
      if (block[static_cast<std::size_t>(i - 1)] == '\n') return begin + i;
    end = begin;
  }
  return 0;
}

/// A killed run leaves half a row. The next row must not be glued to it.
void drop_half_row(int descriptor, const std::filesystem::path& file) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const off_t keep = whole_lines_bytes(descriptor, status.st_size);
  if (keep == status.st_size) return;
  std::array<char, record_line_start.size()> start{};
  const ssize_t got = ::pread(descriptor, start.data(), start.size(), keep);
  if (got < 0 || std::string_view(start.data(), static_cast<std::size_t>(got)) !=
                     record_line_start.substr(0, static_cast<std::size_t>(got)))
    throw std::runtime_error(file.string() +
                             ": is not a results file of ropewalk; nothing was written to it");
  if (::ftruncate(descriptor, keep) != 0) fail(file, "cannot be repaired", errno);
}

[[noreturn]] void cannot_read(const std::filesystem::path& file, int error) {
  throw BadFile(file.string() + ": cannot be read: " + std::generic_category().message(error));
}

void check_length(const std::filesystem::path& file, std::int64_t number, std::size_t size) {
  if (size > line_limit_bytes)
    throw BadFile(file.string() + ":" + std::to_string(number) +
                  ": a line longer than 16 MiB is not a row; give a results.jsonl of ropewalk");
}

using nlohmann::json;

// ---- writing

json to_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

json to_json(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(to_json(value));
  return list;
}

template <class Value>
json to_json(const Value& value) {
  if constexpr (Worded<Value>)
    return word(value);
  else
    return value;
}

// ---- reading

struct FieldError {
  std::string what;
};

void from_json_value(const FieldLimits& limits, const json& value, std::string& out) {
  if (!value.is_string()) throw FieldError{"is not a string"};
  out = value.get<std::string>();
  if (out.size() > limits.text_bytes)
    throw FieldError{fmt::format("is longer than {} bytes", limits.text_bytes)};
}

template <Worded Word>
void from_json_value(const FieldLimits& limits, const json& value, Word& out) {
  std::string text;
  from_json_value(limits, value, text);
  const auto known = from_word<Word>(text);
  if (!known) throw FieldError{"is not a word of this schema"};
  out = *known;
}

void require_within(const FieldLimits& limits, double value) {
  if (limits.may_be_not_finite && !std::isfinite(value)) return;
  if (!(value >= limits.least && value <= limits.most))
    throw FieldError{fmt::format("is outside {} .. {}", limits.least, limits.most)};
}

void from_json_value(const FieldLimits&, const json& value, std::uint64_t& out) {
  if (!value.is_number_unsigned()) throw FieldError{"is not an integer in 0 .. 2^64 - 1"};
  out = value.get<std::uint64_t>();
}

void from_json_value(const FieldLimits& limits, const json& value, std::int64_t& out) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = !value.is_number_unsigned() || value.get<std::uint64_t>() <= largest;
  if (!value.is_number_integer() || !fits) throw FieldError{"is not a 64-bit integer"};
  out = value.get<std::int64_t>();
  require_within(limits, static_cast<double>(out));
}

void from_json_value(const FieldLimits& limits, const json& value, int& out) {
  std::int64_t wide = 0;
  from_json_value(limits, value, wide);
  out = static_cast<int>(wide);
}

void from_json_value(const FieldLimits& limits, const json& value, double& out) {
  const std::string word = value.is_string() ? value.get<std::string>() : "";
  if (value.is_number())
    out = value.get<double>();
  else if (word == "inf")
    out = std::numeric_limits<double>::infinity();
  else if (word == "-inf")
    out = -std::numeric_limits<double>::infinity();
  else if (word == "nan")
    out = std::numeric_limits<double>::quiet_NaN();
  else
    throw FieldError{R"(is not a number, "inf", "-inf" or "nan")"};
  require_within(limits, out);
}

template <class Element>
void from_json_value(const FieldLimits& limits, const json& value, std::vector<Element>& out) {
  if (!value.is_array()) throw FieldError{"is not a list"};
  if (value.size() > most_values)
    throw FieldError{fmt::format("has more than {} values", most_values)};
  out.resize(value.size());
  for (std::size_t i = 0; i < out.size(); ++i) from_json_value(limits, value[i], out[i]);
}

void from_json_value(const FieldLimits& limits, const json& value,
                     std::map<std::string, std::string>& out) {
  if (!value.is_object()) throw FieldError{"is not an object"};
  for (const auto& item : value.items()) {
    if (item.key().size() > longest_name_bytes)
      throw FieldError{fmt::format("has a name longer than {} bytes", longest_name_bytes)};
    from_json_value(limits, item.value(), out[item.key()]);
  }
}

template <class Row>
Row parse_row(const json& object) {
  Row row;
  for_each_field<Row>([&](const auto& field) {
    const auto found = object.find(field.name);
    if (found == object.end() && field.is_optional) return;
    if (found == object.end()) throw FieldError{fmt::format("field '{}' is missing", field.name)};
    try {
      from_json_value(limits_of(field.name), *found, row.*field.value);
    } catch (const FieldError& error) {
      throw FieldError{fmt::format("field '{}' {}", field.name, error.what)};
    }
  });
  if constexpr (std::same_as<Row, RunRow>)
    if (!(row.margin > 0 && row.margin <= 0.5))
      throw FieldError{"field 'margin' must be above 0 and at most 0.5"};
  if constexpr (std::same_as<Row, TimingRow>) {
    if (row.outcome > Outcome::implausible)
      throw FieldError{"field 'outcome' is not a word of this schema"};
    if (row.iterations.size() != row.ns_per_token.size())
      throw FieldError{"fields 'ns_per_token' and 'iterations' differ in length"};
    if (!row.probe_ns.empty() && row.probe_ns.size() != row.ns_per_token.size())
      throw FieldError{"fields 'ns_per_token' and 'probe_ns' differ in length"};
  }
  if constexpr (std::same_as<Row, CurveRow>)
    if (row.x.size() != row.y.size()) throw FieldError{"fields 'x' and 'y' differ in length"};
  return row;
}

constexpr int nesting_limit = 8;  // a row needs 2

json parse_object(std::string_view line) {
  json object;
  try {
    object = json::parse(line, [](int depth, json::parse_event_t, json&) {
      if (depth > nesting_limit) throw FieldError{"nested too deep for a row"};
      return true;
    });
  } catch (const json::parse_error& error) {
    throw FieldError{"not JSON (byte " + std::to_string(error.byte) + ")"};
  } catch (const json::exception&) {
    throw FieldError{"holds a number out of range"};
  }
  if (!object.is_object()) throw FieldError{"not a JSON object"};
  return object;
}

/// The word of a row's kind, if the row is of this schema version.
std::string kind_of(const json& object) {
  const auto schema = object.find("schema");
  if (schema == object.end() || !schema->is_number_integer())
    throw FieldError{"no integer field 'schema'"};
  if (*schema != results_schema_version)
    throw FieldError{"schema " + schema->dump() + ", this ropewalk reads schema " +
                     std::to_string(results_schema_version)};
  const auto kind = object.find("row");
  if (kind == object.end() || !kind->is_string()) throw FieldError{"no text field 'row'"};
  return kind->get<std::string>();
}

/// Takes the lines of a file one by one. Each run row discards what came before: the last run wins.
class ResultsReader {
 public:
  void take(std::string_view line) {
    const json object = parse_object(line);
    const std::string kind = kind_of(object);
    if (kind == RunRow::kind) {
      results = Results{};
      results.run = parse_row<RunRow>(object);
      found_run_ = true;
      return;
    }
    if (kind == KernelRow::kind)
      throw FieldError{"a row of ropewalk list --json, which is not a run"};
    const std::array known = {VerdictRow::kind, TimingRow::kind, CurveRow::kind, EndRow::kind};
    if (std::ranges::find(known, kind) == known.end()) throw FieldError{"unknown kind of row"};
    if (!found_run_) throw FieldError{"a row stands before the run row"};
    if (results.complete) throw FieldError{"a row follows the end row of its run"};
    add(kind, object, results.verdicts);
    add(kind, object, results.timings);
    add(kind, object, results.curves);
    if (kind != EndRow::kind) return;
    results.end = parse_row<EndRow>(object);
    results.complete = true;
  }

  bool found_run() const { return found_run_; }
  Results results;

 private:
  template <class Row>
  static void add(const std::string& kind, const json& object, std::vector<Row>& rows) {
    if (kind == Row::kind) rows.push_back(parse_row<Row>(object));
  }

  bool found_run_ = false;
};

[[noreturn]] void bad(const std::filesystem::path& file, std::int64_t line,
                      const std::string& what) {
  throw BadFile(file.string() + ":" + std::to_string(line) + ": " + what +
                "; give a results.jsonl as this ropewalk writes it, or make it again");
}

}  // namespace

RecordWriter::RecordWriter(const std::filesystem::path& file)
    : file_(file),
      descriptor_(::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
  if (!descriptor_.is_open()) fail(file_, "cannot be opened for writing", errno);
  drop_half_row(descriptor_.number(), file_);
}

void RecordWriter::write_line(const std::string& line) {
  if (!descriptor_.is_open()) throw std::runtime_error(file_.string() + ": closed after an error");
  if (line.size() >= line_limit_bytes)
    throw std::runtime_error(file_.string() + ": a row is longer than 16 MiB");
  if (const int error = write_all(descriptor_.number(), line + '\n'); error != 0) {
    descriptor_.close();
    fail(file_, "cannot be written", error);
  }
}

std::int64_t for_each_whole_line(
    const std::filesystem::path& file,
    const std::function<void(std::string_view line, std::int64_t number)>& visit) {
  const Descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!opened.is_open()) cannot_read(file, errno);
  std::string pending;
  std::vector<char> block(std::size_t{1} << 16);
  std::int64_t number = 0;
  while (true) {
    const ssize_t got = read_some(opened.number(), block.data(), block.size());
    if (got < 0) cannot_read(file, errno);
    if (got == 0) return number;  // pending holds half a row
    std::string_view rest(block.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
      pending += rest.substr(0, end);
      rest.remove_prefix(end + 1);
      check_length(file, ++number, pending.size());
      visit(pending, number);
      pending.clear();
    }
    pending += rest;
    check_length(file, number + 1, pending.size());
  }
}

bool has_whole_line(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::status(file, error).type() == std::filesystem::file_type::not_found)
    return false;
  return for_each_whole_line(file, [](std::string_view, std::int64_t) {}) > 0;
}

template <class Row>
std::string to_json_line(const Row& row) {
  std::string line(record_line_start);
  line += fmt::format(R"({},"row":"{}")", results_schema_version, Row::kind);
  const auto write = [&line](const char* name, const auto& value) {
    line += std::string(",\"") + name + "\":";
    line += to_json(value).dump(-1, ' ', false, json::error_handler_t::replace);
  };
  each_field(row, write);
  return line + '}';
}
template std::string to_json_line(const RunRow&);
template std::string to_json_line(const VerdictRow&);
template std::string to_json_line(const TimingRow&);
template std::string to_json_line(const CurveRow&);
template std::string to_json_line(const KernelRow&);
template std::string to_json_line(const EndRow&);

template <class Row>
Row row_from(const std::string& json_line) {
  try {
    const json object = parse_object(json_line);
    if (kind_of(object) != Row::kind) throw FieldError{"is of another kind"};
    return parse_row<Row>(object);
  } catch (const FieldError& error) {
    throw BadFile("a row from another process: " + error.what);
  }
}
template TimingRow row_from(const std::string&);
template VerdictRow row_from(const std::string&);
template SaidRow row_from(const std::string&);

Results read_results(const std::filesystem::path& file) {
  ResultsReader reader;
  const auto take = [&](std::string_view line, std::int64_t number) {
    try {
      reader.take(line);
    } catch (const FieldError& error) {
      bad(file, number, error.what);
    }
  };
  const std::int64_t lines = for_each_whole_line(file, take);
  if (!reader.found_run()) bad(file, lines + 1, "no run row");
  return std::move(reader.results);
}

}  // namespace ropewalk::report
