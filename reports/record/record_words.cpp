// Questions about rows that need no JSON.
#include <algorithm>
#include <cmath>

#include "base/fingerprint.h"
#include "reports/record/record.h"

namespace ropewalk::report {

bool tells_more(const VerdictRow& a, const VerdictRow& b) {
  const auto order = [](const VerdictRow& row) {
    const bool measured = row.verdict == Verdict::fail && row.margin > 1;
    const bool plain = measured && row.property == "agreement";
    const int kind = !row.cause.empty()                ? 0
                     : plain                           ? 1
                     : row.verdict == Verdict::vacuous ? 4
                     : measured                        ? 3
                                                       : 2;
    constexpr int last = 5;
    const bool held = row.cause.empty() && std::ranges::count(row.cause_ids, "keeps_something") > 0;
    return kind + (held ? last : 0) + (row.known.empty() ? 0 : 2 * last);
  };
  return order(a) < order(b);
}

bool is_on_everything(const VerdictRow& row) {
  return row.property == everything;
}

std::string words_beside(const std::string& judged_on) {
  return judged_on == natively ? "" : judged_on;
}

namespace {
// "; a call: 89 calls of malloc, 0 bytes mapped, 0.2 page faults, 3 context switches".
std::string told_a_call(const TimingRow& row) {
  std::int64_t calls = 0;
  for (const std::int64_t each : row.iterations) calls += each * row.threads;
  std::string text = fmt::format(
      "; a call: {} calls of malloc, {} bytes mapped, {:.2g} page faults, {:.2g} context switches",
      std::llround(row.heap_calls), std::llround(row.mapped_bytes),
      static_cast<double>(row.page_faults) / static_cast<double>(std::max<std::int64_t>(calls, 1)),
      row.context_switches);
  if (row.between_calls >= 0.01)
    text += fmt::format("; spins: {:.0f} % of a processor between calls", 100 * row.between_calls);
  return text;
}
}  // namespace

std::string words_beside(const TimingRow& row) {
  std::string words = words_beside(row.judged_on);
  if (row.ns_per_token.empty()) return words;
  if (words.starts_with(framework)) words += told_a_call(row);
  constexpr double long_s = 0.01;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : "; ") + more; };
  if (row.prepare_s >= long_s)
    add(fmt::format("prepare takes {:.2g} s and keeps {} KiB", row.prepare_s,
                    row.kept_bytes >> 10));
  if (row.slow_calls > 0)
    add(fmt::format("timed settled: its first {} calls took {:.2g} times as long", row.slow_calls,
                    row.slow_times));
  return words;
}

std::string ranked_name(const TimingRow& row) {
  return row.kernel + (row.judged_on.starts_with(framework) ? " (framework)" : "");
}

std::string words_beside(const std::string& judged_on, const std::string& declared) {
  const std::string words = words_beside(judged_on);
  return words + (words.empty() || declared.empty() ? "" : "; ") + declared;
}

std::string kernel_of(const TimingRow& row) {
  std::string name = row.kernel;
  if (row.is_twin() && name.ends_with(twin_suffix)) name.resize(name.size() - twin_suffix.size());
  if (name.ends_with(unfused_suffix)) name.resize(name.size() - unfused_suffix.size());
  return name;
}

std::string fingerprint_of(const Results& results) {
  Fingerprint print;
  const auto add = [&print](const auto& row) { print.add(to_json_line(row) + '\n'); };
  const auto add_all = [&add](const auto& rows) {
    for (const auto& row : rows) add(row);
  };
  add(results.run);
  add_all(results.verdicts);
  add_all(results.timings);
  add_all(results.curves);
  if (results.complete) add(results.end);
  return print.text();
}

}  // namespace ropewalk::report
