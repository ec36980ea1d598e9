// What was timed, as data for the templates: leaderboards and counted disturbances.
#include "reports/pages/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace ropewalk::report {
namespace {

/// An outcome has a symbol besides its colour.
Mark mark_of_outcome(Outcome outcome) {
  if (outcome == Outcome::faster) return {"good", "▲"};
  if (outcome == Outcome::slower) return {"slow", "▼"};
  if (outcome == Outcome::same) return {"none", "="};
  if (outcome == Outcome::invalid) return {"bad", "✗"};
  return {"none", "?"};
}

/// The floor is infinite, i.e. unknown, without a null twin.
std::string floor_text(double floor) {
  return std::isfinite(floor) ? percent_text(100 * floor) : "not known";
}

void set_claim(const BoardEntry& entry, const Contest& contest, View& item) {
  const bool compared = entry.is_compared();
  item.set("is_compared", compared);
  if (!compared) return;
  const Mark mark = mark_of_outcome(entry.outcome);
  item.set("claim_class", mark.css_class);
  item.set("claim_symbol", mark.symbol);
  item.set("claim_ratio", ratio_text(entry.claim->interval.ratio));
  item.set("claim_interval", range_text(entry.claim->interval, "no interval"));
  item.set("is_of_launches", entry.claim->interval.is_of_launches);
  item.set("claim_needs",
           entry.outcome == Outcome::unresolved ? why_open(*entry.claim, *contest.group) : "");
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

View entry_view(const BoardEntry& entry, const Contest& contest) {
  const TimingRow& row = *entry.row;
  View item;
  item.set("entry_kernel", ranked_name(row));
  item.set("entry_pieces", pieces(clean_line(ranked_name(row))));
  const std::string words = words_beside(row);
  item.set("entry_summary", row.summary + (words.empty() ? "" : "; " + words));
  item.set("entry_variant", row.variant);
  item.set("is_ceiling", row.is_ceiling());
  item.set("is_floor", row.is_floor());
  item.set("is_baseline", row.role == Role::baseline);
  item.set("is_twin", row.is_twin());
  item.set("has_speed", entry.has_speed);
  item.set("entry_class", !entry.has_speed     ? "broken"
                          : row.is_reference() ? "ceiling"
                          : row.is_twin()      ? "twin"
                          : entry.rank == 0    ? "unranked"
                                               : "ranked");
  item.set("entry_rank", entry.rank > 0 ? std::to_string(entry.rank) : "");
  item.set("entry_outcome", word(entry.outcome));
  item.set("entry_reason", entry.reason);
  set_claim(entry, contest, item);
  if (!entry.has_speed) return item;
  const auto percent_of_bar = [fastest_ns = contest.fastest_ns](double ns) {
    return fmt::format("{:.2f}", 100 * fastest_ns / ns);
  };
  item.set("entry_ns", number_text(entry.ns));
  item.set("entry_ns_min", number_text(entry.ns_min));
  item.set("entry_ns_max", number_text(entry.ns_max));
  item.set("has_spread", entry.launches.size() > 1 || row.ns_per_token.size() > 1);
  const bool has_gb = entry.gb_per_s > 0 && !row.is_floor();
  item.set("entry_gb", has_gb ? number_text(entry.gb_per_s) : "");
  item.set("entry_call", call_text(entry));
  item.set("entry_percent",
           entry.percent_of_ceiling > 0 ? ceiling_share_text(entry.percent_of_ceiling) : "");
  item.set("bar", percent_of_bar(entry.ns));
  item.set("bar_low", percent_of_bar(entry.ns_max));
  item.set("bar_high", percent_of_bar(entry.ns_min));
  item.set("bar_spread", fmt::format("{:.2f}", 100 * contest.fastest_ns / entry.ns_min -
                                                   100 * contest.fastest_ns / entry.ns_max));
  return item;
}

/// Round how many sets of buffers the calls on a device went.
std::string sets_text(const TimingRow& row) {
  if (row.sets == 0) return "";
  if (row.sets == 1)
    return row.phase == word(WorkloadPhase::decode) ? ", one set of buffers (hot)"
                                                    : ", one set of buffers";
  return fmt::format(", {} sets of buffers (cold)", count_text(row.sets));
}

/// For example "median of 5 launches of 40 rounds".
std::string samples_text(const Contest& contest) {
  std::size_t launches = 0, rounds = 0;
  for (const BoardEntry& entry : contest.entries)
    for (const TimingRow* row : entry.launches) {
      launches = std::max(launches, entry.launches.size());
      rounds = std::max(rounds, row->ns_per_token.size());
    }
  if (launches == 0) return "";
  return fmt::format("median of {}{} round{}",
                     launches == 1 ? "" : fmt::format("{} launches of ", launches), rounds,
                     rounds == 1 ? "" : "s");
}

constexpr std::int64_t shown_first = 3;  ///< kernels of a leaderboard that are not folded
View contest_view(const Contest& contest, const std::string& board) {
  const TimingRow& row = *contest.of;
  View item;
  item.set("board_name", board);
  item.set("workload", row.workload + threads_text(row.threads));
  item.set("workload_source", row.source);
  item.set("workload_size", fmt::format("{} token{}, {} moved in a call, working set {}",
                                        count_text(row.tokens), row.tokens == 1 ? "" : "s",
                                        bytes_text(row.bytes), bytes_text(row.working_set_bytes)) +
                                sets_text(row));
  const auto is_ranking = [](const BoardEntry& entry) {
    return entry.has_speed && !entry.row->is_reference();
  };
  const auto all = std::ranges::count_if(contest.entries, is_ranking);
  const auto shown = all > shown_first + 1 ? shown_first : all;
  std::int64_t place = 0;
  item.set("entries", views_of(contest.entries, [&](const BoardEntry& entry) {
             View line = entry_view(entry, contest);
             line.set("is_folded", is_ranking(entry) && ++place > shown);
             return line;
           }));
  item.set("folded", all > shown ? std::to_string(all - shown) : "");
  item.set("samples", samples_text(contest));
  if (contest.group != nullptr) {
    item.set("baseline", contest.group->baseline);
    item.set("floor", floor_text(contest.group->noise_floor));
    const std::int64_t block = contest.group->block;
    item.set("block", block == 1 ? "of 1 round" : fmt::format("of {} rounds", count_text(block)));
  }
  return item;
}

View boards(const Summary& summary) {
  int number = 0;
  return views_of(summary.boards, [&](const Board& board) {
    View item;
    item.set("board_id", fmt::format("board-{}", ++number));
    item.set("board", board.name);
    item.set("board_device", board.contests.front().of->device);
    item.set("contests", views_of(board.contests, [&](const Contest& contest) {
               return contest_view(contest, board.name);
             }));
    return item;
  });
}

}  // namespace

SpeedsText speeds_text(const Summary& summary) {
  if (summary.timings.empty()) return {};
  const auto is_compared = [](const ClaimGroup& group) { return !group.baseline.empty(); };
  if (std::ranges::none_of(summary.claims.groups, is_compared))
    return {{"none", ""}, "", "measured without paired rounds, so no claim is made"};
  const Claims& claims = summary.claims;
  if (!claims.valid)
    return {{"bad", "✗"}, "INVALID", claims.invalid_because + "; no claim is made"};
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
  SpeedsText out{{"good", "✓"}, "valid", "noise floor " + floor_text(claims.noise_floor)};
  if (noisy > 0) {
    out.mark = {"slow", "?"};
    out.word = "noisy";
    out.rest += fmt::format(", above {} in {} of {} groups", percent_text(100 * useful_floor),
                            count_text(noisy), count_text(groups));
  }
  for (const Outcome outcome :
       {Outcome::faster, Outcome::slower, Outcome::same, Outcome::unresolved})
    if (outcomes[outcome] > 0) out.rest += fmt::format(", {} {}", outcomes[outcome], outcome);
  return out;
}

void add_speeds(const Summary& summary, View& view) {
  view.set("boards", boards(summary));
  view.set("is_invalid", !summary.claims.valid);
  view.set("invalid_because", summary.claims.invalid_because);
}

}  // namespace ropewalk::report
