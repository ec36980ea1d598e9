#include "harness/expected/known_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/glob.h"
#include "base/text_file.h"

namespace ropewalk::harness {
using namespace report;
namespace {

constexpr std::string_view blank = " \t";

/// Takes the first word off the line; empty if there is none.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(blank));
  line.remove_prefix(word.size());
  return word;
}

/// Reads a number of digits only; -1 for any other text.
int digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const int year = digits(text.substr(0, 4)), month = digits(text.substr(5, 2)),
            day = digits(text.substr(8, 2));
  if (year < 0 || month < 0 || day < 0) return false;
  return std::chrono::year_month_day(std::chrono::year(year),
                                     std::chrono::month(static_cast<unsigned>(month)),
                                     std::chrono::day(static_cast<unsigned>(day)))
      .ok();
}

KnownFailure parse_line(std::string_view line, const std::string& file, std::int64_t number) {
  const auto control = [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
  };
  if (std::any_of(line.begin(), line.end(), control))
    throw BadFile(file, number, "contains a control character");
  const std::string_view whole = line;
  KnownFailure known;
  known.line = number;
  known.kernel = take_word(line);
  known.property = take_word(line);
  known.until = take_word(line);
  if (!is_date(known.until))
    throw BadFile(
        file, number,
        fmt::format("a line is KERNEL PROPERTY YYYY-MM-DD reason, not '{}'", shown(whole)));
  line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
  known.reason = line.substr(0, line.find_last_not_of(blank) + 1);
  if (known.reason.empty())
    throw BadFile(file, number, "no reason is given behind the date " + known.until);
  return known;
}

}  // namespace

std::vector<KnownFailure> parse_known_failures(std::string_view text, const std::string& file) {
  std::vector<KnownFailure> list;
  for_each_line(text, [&](std::string_view line, std::int64_t number) {
    const auto first = line.find_first_not_of(blank);
    if (first == std::string_view::npos || line[first] == '#') return;
    list.push_back(parse_line(line, file, number));
  });
  return list;
}

KnownFailures::KnownFailures(std::string_view text, std::string file, std::string today)
    : file_(std::move(file)), today_(std::move(today)) {
  for (KnownFailure& known : parse_known_failures(text, file_)) uses_.push_back({std::move(known)});
}

std::string KnownFailures::excuse(const std::string& kernel, const std::string& property) {
  std::string excuse;
  for (Use& use : uses_) {
    const KnownFailure& known = use.known;
    if (!glob_matches(known.kernel, kernel) || !glob_matches(known.property, property)) continue;
    ++use.failed;
    if (excuse.empty() && today_ <= known.until)
      excuse = fmt::format("until {}: {}", known.until, known.reason);
  }
  return excuse;
}

void KnownFailures::judge(VerdictRow& row) {
  for (Use& use : uses_)
    if (glob_matches(use.known.kernel, row.kernel) &&
        glob_matches(use.known.property, row.property))
      ++use.judged;
  if (is_failure(row.verdict)) row.known = excuse(row.kernel, row.property);
}

std::vector<std::string> KnownFailures::remarks() const {
  std::vector<std::string> out;
  for (const Use& use : uses_) {
    const KnownFailure& known = use.known;
    const std::string what =
        fmt::format("{}:{}: {} {}", file_, known.line, known.kernel, known.property);
    if (use.failed > 0 && known.until < today_)
      out.push_back(
          fmt::format("{}: expired on {}, excuses nothing: {}", what, known.until, known.reason));
    else if (use.failed == 0 && use.judged > 0)
      out.push_back(what + ": no longer needed, nothing it names failed");
    else if (use.judged == 0)
      out.push_back(what + ": names nothing that was judged here");
  }
  return out;
}

}  // namespace ropewalk::harness
