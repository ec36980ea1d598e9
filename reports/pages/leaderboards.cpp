// What was timed: leaderboards, and what is said first about speeds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "reports/pages/report.h"

namespace ropewalk::report {
namespace {

/// The floor is infinite, i.e. unknown, without a null twin.
std::string floor_text(double floor) {
  return std::isfinite(floor) ? percent_text(100 * floor) : "not known";
}

/// An outcome has a symbol besides its colour.
Span outcome_span(Outcome outcome) {
  const auto [symbol, tone] = outcome == Outcome::faster    ? std::pair("▲", Tone::good)
                              : outcome == Outcome::slower  ? std::pair("▼", Tone::slow)
                              : outcome == Outcome::same    ? std::pair("=", Tone::none)
                              : outcome == Outcome::invalid ? std::pair("✗", Tone::bad)
                                                            : std::pair("?", Tone::none);
  return {fmt::format("{} {}", symbol, outcome), Style::pill, tone};
}

/// For decode on a device: "3.12 us a call, 1.078 × floor_copy, 1.720 × floor". Else what fusing
/// gains.
std::string call_text(const BoardEntry& entry) {
  const TimingRow& row = *entry.row;
  if (entry.claim != nullptr && row.device.empty()) return unfused_text(*entry.claim);
  if (row.device.empty() || row.phase != word(WorkloadPhase::decode)) return "";
  std::string text =
      fmt::format("{} us a call", number_text(entry.ns * static_cast<double>(row.tokens) / 1000));
  for (const auto& [ratio, name] :
       {std::pair(entry.of_floor_copy, floor_copy_name), std::pair(entry.of_floor, floor_name)})
    if (ratio > 0) text += fmt::format(", {} × {}", ratio_text(ratio), name);
  return text;
}

std::string role_of(const TimingRow& row) {
  if (row.is_ceiling()) return row.variant.empty() ? "ceiling" : row.variant;
  if (row.is_floor()) return "floor";
  if (row.is_twin()) return "null twin";
  return row.role == Role::baseline ? "baseline" : "";
}

TableRow row_of(const BoardEntry& entry, const Contest& contest) {
  const TimingRow& row = *entry.row;
  Cell name;
  if (entry.rank > 0) name.line.add({fmt::format("{}.", entry.rank)});
  name.line.add({row.is_twin() ? kernel_of(row) : ranked_name(row), Style::name});
  name.line.add({role_of(row), Style::tag});
  if (!entry.has_speed) {
    Cell why(
        Line(Span{fmt::format("✗ {}", entry.outcome), Style::pill, Tone::bad}).add({entry.reason}),
        "why");
    why.columns = 3;
    return {{std::move(name), std::move(why)}, "broken"};
  }
  Line ratio;
  if (entry.is_compared()) {
    const Interval& interval = entry.claim->interval;
    name.line.add(outcome_span(entry.outcome));
    if (entry.outcome == Outcome::unresolved)
      name.line.add({why_open(*entry.claim, *contest.group), Style::small});
    ratio = Line(Span{ratio_text(interval.ratio), Style::strong})
                .add({range_text(interval, "no interval") +
                          (interval.is_of_launches ? " over launches" : ""),
                      Style::small});
  }
  name.line.add({call_text(entry), Style::small});
  std::string words = words_beside(row);
  if (!row.device.empty()) words.erase(0, words_beside(row.judged_on).size());  // the board has it
  name.line.add(
      {words.substr(std::min(words.find_first_not_of("; "), words.size())), Style::small});
  const auto percent_of_bar = [&](double ns) { return 100 * contest.fastest_ns / ns; };
  const bool has_spread = entry.launches.size() > 1 || row.ns_per_token.size() > 1;
  if (!row.is_floor()) {
    name.bar.length = percent_of_bar(entry.ns);
    if (has_spread) {
      name.bar.low = percent_of_bar(entry.ns_max);
      name.bar.high = percent_of_bar(entry.ns_min);
    }
  }
  Line time(Span{number_text(entry.ns), Style::strong}), share;
  if (has_spread)
    time.add({fmt::format("{} – {}", number_text(entry.ns_min), number_text(entry.ns_max)),
              Style::small});
  if (entry.percent_of_ceiling > 0)
    share.add({ceiling_share_text(entry.percent_of_ceiling), Style::strong});
  if (entry.gb_per_s > 0 && !row.is_floor())
    share.add({number_text(entry.gb_per_s) + " GB/s", Style::small});
  const char* look = row.is_reference() ? "ceiling"
                     : row.is_twin()    ? "twin"
                     : entry.rank == 0  ? "unranked"
                                        : "ranked";
  return {{std::move(name), time, share, ratio}, look};
}

/// Round how many sets of buffers the calls on a device went.
std::string sets_text(const TimingRow& row) {
  if (row.sets == 0) return "";
  if (row.sets > 1) return fmt::format(", {} sets of buffers (cold)", count_text(row.sets));
  return row.phase == word(WorkloadPhase::decode) ? ", one set of buffers (hot)"
                                                  : ", one set of buffers";
}

/// For example ", median of 5 launches of 40 rounds".
std::string samples_text(const Contest& contest) {
  std::size_t launches = 0, rounds = 0;
  for (const BoardEntry& entry : contest.entries)
    for (const TimingRow* row : entry.launches) {
      launches = std::max(launches, entry.launches.size());
      rounds = std::max(rounds, row->ns_per_token.size());
    }
  if (launches == 0) return "";
  return fmt::format(", median of {}{} round{}",
                     launches == 1 ? "" : fmt::format("{} launches of ", launches), rounds,
                     rounds == 1 ? "" : "s");
}

Part contest_part(const Contest& contest) {
  constexpr std::int64_t shown_first = 3;  // kernels of a leaderboard that are not folded
  const TimingRow& of = *contest.of;
  std::string size = fmt::format("{} token{}, {} moved in a call, working set {}",
                                 count_text(of.tokens), of.tokens == 1 ? "" : "s",
                                 bytes_text(of.bytes), bytes_text(of.working_set_bytes)) +
                     sets_text(of) + samples_text(contest);
  if (contest.group != nullptr && !contest.group->baseline.empty()) {
    const std::int64_t block = contest.group->block;
    size += fmt::format("; baseline {}, noise floor {}, blocks of {} round{}",
                        contest.group->baseline, floor_text(contest.group->noise_floor),
                        count_text(block), block == 1 ? "" : "s");
    if (contest.group->slow_share >= 0.005)
      size +=
          fmt::format(", {:.0f} % of them on a slower processor", 100 * contest.group->slow_share);
  }
  const auto is_ranking = [](const BoardEntry& entry) {
    return entry.has_speed && !entry.row->is_reference();
  };
  const auto all = std::ranges::count_if(contest.entries, is_ranking);
  const auto shown = all > shown_first + 1 ? shown_first : all;
  std::int64_t place = 0;
  Table table{
      "", {{"kernel"}, {"ns/token", true}, {"of ceiling", true}, {"ratio", true}}, {}, "ranks", 2};
  for (const BoardEntry& entry : contest.entries) {
    table.rows.push_back(row_of(entry, contest));
    table.rows.back().is_folded = is_ranking(entry) && ++place > shown;
  }
  Part part{of.workload + threads_text(of.threads), "", "card contest"};
  part.add(Paragraph{size, "sub"}).add(std::move(table));
  if (!of.source.empty()) part.add(Paragraph{of.source, "source", 6, true});
  return part;
}

}  // namespace

SpeedsText speeds_text(const Summary& summary) {
  if (summary.timings.empty()) return {};
  const auto is_compared = [](const ClaimGroup& group) { return !group.baseline.empty(); };
  const Claims& claims = summary.claims;
  if (std::ranges::none_of(claims.groups, is_compared))
    return {Tone::none, "", "measured without paired rounds, so no claim is made"};
  if (!claims.valid)
    return {Tone::bad, "✗ INVALID", claims.invalid_because + "; no claim about a speed is made"};
  std::map<Outcome, std::int64_t> outcomes;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries)
        if (entry.is_compared() && !entry.row->is_twin()) ++outcomes[entry.outcome];
  std::int64_t groups = 0, noisy = 0;
  for (const ClaimGroup& group : claims.groups) {
    groups += is_compared(group) ? 1 : 0;
    noisy += is_compared(group) && !(group.noise_floor <= useful_floor) ? 1 : 0;
  }
  SpeedsText out{Tone::good, "✓ valid", "noise floor " + floor_text(claims.noise_floor)};
  if (noisy > 0) {
    out.tone = Tone::slow;
    out.word = "? noisy";
    out.rest += fmt::format(", above {} in {} of {} groups", percent_text(100 * useful_floor),
                            count_text(noisy), count_text(groups));
  }
  for (const Outcome outcome :
       {Outcome::faster, Outcome::slower, Outcome::same, Outcome::unresolved})
    if (outcomes[outcome] > 0) out.rest += fmt::format(", {} {}", outcomes[outcome], outcome);
  return out;
}

Part leaderboards(const Summary& summary) {
  Part out{"Leaderboards", "leaderboards"};
  if (summary.boards.empty()) return out;
  out.add(Paragraph{
      "Compare kernels within one table only: there is one board for each pairing, dtype, "
      "placement "
      "and angle source, and each workload has a ranking of its own, because unlike work is never "
      "ranked together. The ceiling and the three fastest kernels stand first. A longer bar is "
      "faster. The smaller numbers below a time span the medians of the launches, or the rounds if "
      "there is a single launch. The ceiling moves the same bytes as a kernel and computes "
      "nothing. "
      "The ratio is the contestant's time divided by the baseline's time, formed round by round; "
      "below 1 is faster. Only the outcome is a claim.",
      "lead", 6, true});
  constexpr std::size_t contests_in_markdown = 8;
  int number = 0;
  std::size_t contests_so_far = 0;
  for (const Board& board : summary.boards) {
    contests_so_far += board.contests.size();
    Part part{board.name, fmt::format("board-{}", ++number), "board"};
    if (const std::string& device = board.contests.front().of->device; !device.empty())
      part.add(Paragraph{
          fmt::format("On the device {}. Nothing here is ranked with the host.", device), "lead"});
    Part contests{"", "", "contests"};
    for (const Contest& contest : board.contests) contests.add(contest_part(contest));
    out.add(part.add(std::move(contests)));
  }
  out.is_for_page = contests_so_far > contests_in_markdown;
  return out;
}

}  // namespace ropewalk::report
