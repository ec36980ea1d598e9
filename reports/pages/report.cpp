#include "reports/pages/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "reports/figures/figure.h"
#include "reports/numbers/board_name.h"
#include "reports/pages/checks.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

// The small table at the top, with a column for each source of angles that was timed.
void add_answer_lines(const Summary& summary, std::vector<Block>& lead) {
  const std::vector<AnswerLine> lines = answer_lines(summary.answers);
  Table table{"", {{""}}, {}, "lines"};
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < angle_groups.size(); ++i)
    if (std::ranges::any_of(lines, [&](const auto& line) { return !line.by[i].kernel.empty(); })) {
      columns.push_back(i);
      table.columns.push_back({angle_groups[i]});
    }
  for (const AnswerLine& line : lines) {
    TableRow& row = table.rows.emplace_back(TableRow{{Cell(line.of)}});
    for (const std::size_t i : columns) {
      const auto& [kernel, rest] = line.by[i];
      row.cells.push_back(
          Line(Span{kernel, Style::strong})
              .add({rest.substr(std::min(rest.find_first_not_of(",: "), rest.size()))}));
    }
  }
  if (const std::string noise = noise_sentence(summary.answers); !noise.empty())
    lead.push_back(Paragraph{noise, "answer"});
  if (lines.empty()) return;
  lead.push_back(std::move(table));
  if (columns.size() > 1)
    lead.push_back(
        Paragraph{"Kernels that are given cos and sin read a table of the model. Kernels "
                  "with their own angles need the positions alone. As the two do not do "
                  "the same work, they are not ranked together.",
                  "counted"});
}

Line marked(Tone tone, const std::string& word, const std::string& rest) {
  Line line;
  if (!word.empty()) line.add({word, Style::pill, tone});
  return line.add({rest});
}

std::vector<Block> lead_of(const Results& results, const Summary& summary) {
  std::vector<Block> lead;
  if (!summary.failures.empty()) {
    const VerdictRow& first = *summary.failures.front();
    lead.push_back(Paragraph{Span{"Start here: " + first.kernel + ": " +
                                      (first.cause.empty() ? first.reason : first.cause),
                                  Style::plain, Tone::bad, "failures"},
                             "counted"});
  }
  add_answer_lines(summary, lead);
  const auto cpu = results.run.environment.find("cpu_model");
  Line run;
  if (cpu != results.run.environment.end()) run.add({cpu->second + " ·"});
  run.add({results.run.started_at + " ·"}).add({results.run.command, Style::code});
  lead.push_back(Paragraph{run, "counted"});
  if (const SpeedsText speeds = speeds_text(summary); !speeds.word.empty())
    lead.push_back(Paragraph{marked(speeds.tone, speeds.word, speeds.rest), "counted"});
  for (const DeviceSummary& device : summary.devices)
    if (!device.slowed.empty())
      lead.push_back(Paragraph{marked(Tone::slow, "▼ slowed", device.slowed), "counted"});
  return lead;
}

Part kernels(const Summary& summary) {
  Table table{summary.kernels.empty()
                  ? "No kernel was judged."
                  : "Whether each kernel can be trusted, and which claim it holds by the least.",
              {{"kernel"}, {"verdict"}, {"claims that hold"}, {"closest to its bound"}},
              {},
              "kernels stack"};
  for (const KernelSummary& kernel : summary.kernels) {
    Line name(Span{kernel.name, Style::name});
    name.add({words_beside(kernel.judged_on, kernel.declared), Style::tag});
    name.add({shown_plugin(kernel.plugin), Style::tag}).add({kernel.summary, Style::small});
    Line verdict(Span{fmt::format("{} {}", symbol_of(kernel.standing), word(kernel.standing)),
                      Style::pill, tone_of(kernel.standing)});
    const bool is_verified = kernel.standing == Standing::verified;
    if (is_verified && kernel.by_host_launcher_alone())
      verdict.add({"by the host launcher, not on a GPU", Style::small});
    verdict.add({kernel.reason, Style::small});
    table.rows.push_back(
        {{name, verdict,
          fmt::format("{} of {}", count_text(kernel.passed),
                      count_text(kernel.passed + kernel.failed)),
          is_verified && kernel.passed > 0
              ? fmt::format("{} in {}", margin_text(kernel.worst_margin), kernel.worst_property)
              : ""}});
  }
  return Part{"Kernels", "kernels"}.add(std::move(table));
}

Part not_run(const Summary& summary) {
  Table table{"What no verdict covers, and why.",
              {{"kernel"}, {"verdict"}, {"cells", true}, {"reason"}},
              {},
              "stack"};
  for (const NotRun& each : summary.not_run)
    table.rows.push_back({{Line(Span{each.kernel, Style::name}).add({each.judged_on, Style::tag}),
                           std::string(word(each.verdict)), count_text(each.count), each.reason}});
  return Part{"Not run", "not-run", "", true, true}.add(std::move(table));
}

/// What the number of verified kernels hides: that some are no native code, or hold only a bound
/// of their own.
std::string notes_on_verified(const Summary& summary) {
  std::string out;
  const auto add = [&](std::int64_t count, const char* one, const char* several) {
    if (count == 0) return;
    const std::int64_t all = summary.kernels_verified;
    out +=
        fmt::format("{}{} of {} verified kernel{} {}.", out.empty() ? "" : " ", count_text(count),
                    count_text(all), all == 1 ? "" : "s", count == 1 ? one : several);
  };
  add(summary.verified_by_host_launcher, "is a CUDA kernel, checked on the CPU only",
      "are CUDA kernels, checked on the CPU only");
  add(summary.verified_as_declared,
      "was checked against an error bound that it declares, larger than its data type needs",
      "were checked against error bounds that they declare, larger than their data types need");
  return out;
}

std::string end_text(const Results& results) {
  if (!results.complete) return "cut off: the report shows what was recorded until then";
  return fmt::format("complete after {}, exit code {}", seconds_text(results.end.seconds),
                     results.end.exit_code);
}

Part the_run(const Results& results, const Summary& summary) {
  Part part{"The run", "run", "card", !summary.answers.empty()};
  Line counts;
  const auto count = [&](std::int64_t number, const std::string& what, Tone tone, bool always) {
    if (number > 0 || always)
      counts.add({count_text(number), Style::strong, number > 0 ? tone : Tone::plain})
          .add({what + (what == "UNSUPPORTED" ? "" : ",")});
  };
  const auto verdicts = [&summary](Verdict verdict) {
    const auto found = summary.verdicts.find(verdict);
    return found == summary.verdicts.end() ? 0 : found->second;
  };
  const char* const s = summary.kernels_verified == 1 ? "" : "s";
  count(summary.kernels_verified, fmt::format("kernel{} verified", s), Tone::good, true);
  count(summary.kernels_failed, "failed", Tone::bad, true);
  count(summary.kernels_not_run, "could not run", Tone::none, false);
  count(verdicts(Verdict::pass), "claims hold", Tone::good, true);
  for (const Verdict verdict : {Verdict::fail, Verdict::crash, Verdict::hang, Verdict::vacuous})
    count(verdicts(verdict), std::string(word(verdict)), Tone::bad, false);
  count(verdicts(Verdict::skipped), std::string(word(Verdict::skipped)), Tone::none, false);
  count(verdicts(Verdict::unsupported), "UNSUPPORTED", Tone::none, true);
  part.add(Paragraph{counts, "counted"});
  if (const std::string note = notes_on_verified(summary); !note.empty())
    part.add(Paragraph{note, "counted"});
  Facts facts;
  facts.add("cases", fmt::format("{} planned, {} executed, {} compared with {} values",
                                 count_text(summary.planned), count_text(summary.executed),
                                 count_text(summary.compared_cases), count_text(summary.compared)));
  const auto& environment = results.run.environment;
  for (const auto& [key, label] : {std::pair("machine", "machine"),
                                   {"cpu_model", "processor"},
                                   {"transparent_huge_pages", "huge pages"}})
    if (const auto found = environment.find(key); found != environment.end())
      facts.add(label, found->second);
  const SpeedsText speeds = speeds_text(summary);
  facts.add("speeds", marked(speeds.tone, speeds.word, speeds.rest));
  for (const DeviceSummary& device : summary.devices) {
    facts.add("device",
              fmt::format("{}; {} on it", device.name,
                          device.verdicts == 0   ? "no verdict rests"
                          : device.verdicts == 1 ? "1 verdict rests"
                                                 : count_text(device.verdicts) + " verdicts rest"));
    if (!device.slowed.empty()) facts.add("clocks", marked(Tone::slow, "slowed", device.slowed));
  }
  facts.add("command", Span{results.run.command, Style::code});
  facts.add("profile", results.run.profile);
  facts.add("seed", std::to_string(results.run.seed));
  facts.add("started", results.run.started_at);
  facts.add("run", end_text(results));
  facts.add("ropewalk", results.run.version);
  return part.add(std::move(facts));
}

Part environment(const Results& results) {
  Facts facts;
  for (const auto& [name, value] : results.run.environment) facts.add(name, value);
  return Part{"Environment", "environment", "", true, true}.add(std::move(facts));
}

Part method(const Summary& summary) {
  Part part{"Method, bias, limits", "method", "prose", true};
  const auto add = [&part](const char* head, const char* text) {
    part.add(Paragraph{Line(Span{head, Style::strong}).add({text})});
  };
  add("Margin.",
      "Every claim has a bound derived from the arithmetic of the kernel's contract. The margin is "
      "the worst error found, divided by the bound at that place. Up to 1 the claim holds; above 1 "
      "it fails. Errors are measured against an oracle that is far more precise than any kernel.");
  add("Nothing counts by default.",
      "Planned, executed and compared cases are counted separately. A claim for which nothing was "
      "compared is VACUOUS, which is a failure.");
  add("Speed.",
      "In each round every contestant of a workload runs for about a millisecond. All contestants "
      "make the same number of calls; one that would take about 20 times as long makes fewer. The "
      "order changes from round to round, so that each contestant follows each other contestant "
      "equally often. A ratio is formed round by round, which cancels out drift of the machine. "
      "ns/token is the median of the launches' medians. GB/s counts the bytes that a kernel must "
      "move. The ceiling moves the same bytes and computes nothing.");
  if (!summary.devices.empty())
    add("Device.",
        "Calls on a device are captured into a graph, and its events time each replay. Calls of "
        "prefill go round sets of buffers that are together larger than the L2; calls of decode "
        "use one set. The floors stand in the same rounds: floor is an empty kernel, and "
        "floor_copy "
        "reads a position, its table row and x, and writes x back.");
  add("Claim.",
      "The interval of the median ratio is exact for any distribution. It is made of blocks of "
      "rounds that no longer correlate, and corrected for the number of comparisons on its board "
      "and of looks. It holds the median of a launch on the other side of 1, and the interval of "
      "the launches if they scatter more than their rounds explain. FASTER and SLOWER: the whole "
      "interval lies beyond the margin (1 % unless --margin, or what the null twin is off by, if "
      "that is more). SAME: the interval lies within the margin. UNRESOLVED: the interval allows "
      "both, and the contestant says what would settle it. IMPLAUSIBLE: the kernel beats the "
      "ceiling by more than 5 % plus its interval, so it leaves out part of the work. The null "
      "twin is the baseline under another name. The noise floor is how far the twin's interval "
      "strays from 1. If the twin differs by more than chance explains, the run is INVALID and "
      "claims nothing.");
  add("BROKEN",
      "means that the kernel failed verification or broke while it was timed. It has no number "
      "anywhere, neither here nor in the other formats.");
  add("Bias.",
      "The authors of this suite also wrote some of the kernels in it. The fastest of many kernels "
      "looks too good in the run that picked it. The speed of code can change by tens of percent "
      "if "
      "the linker moves it, so a ratio belongs to these binaries. Kernels here run on warm, "
      "preallocated buffers. A framework that allocates memory is slower than its kernel.");
  add("Limits.",
      "A claim holds for this machine, this build and these shapes. Runs on two machines do not "
      "compare. Two runs on one machine compare only through ropewalk compare. Verification tries "
      "cases; it does not prove.");
  return part;
}

Part of_charts(const char* title, const char* id, std::vector<Chart> charts, bool is_for_page,
               bool is_folded = false) {
  Part part{title, id, "", is_folded, is_for_page};
  for (Chart& chart : charts) part.add(std::move(chart));
  return part;
}

}  // namespace

// The angle sources of a workload stand together, and the many sizes of a working set last.
Table answer_table(const Summary& summary) {
  std::vector<KernelAnswer> order = summary.answers;
  const auto place = [](const KernelAnswer& answer) {
    const TimingRow& of = *answer.contest->of;
    return std::tuple(of.phase == word(WorkloadPhase::working_set), of.phase, of.tokens,
                      of.workload);
  };
  std::ranges::stable_sort(order, {}, place);
  Table table{
      "Take the kernel of the line that is your workload. Where several are named, no "
      "difference between them was found.",
      {{"workload"},
       {"angles"},
       {"kernel"},
       {"time"},
       {"against the baseline"},
       {"of the ceiling"},
       {"error at most"}},
      {},
      "answers stack"};
  for (const KernelAnswer& answer : order) {
    const TimingRow& of = *answer.contest->of;
    const AnswerWords words = answer_words(answer);
    const bool is_one = answer.winner != nullptr && answer.alike.empty();
    table.rows.push_back(
        {{Line(Span{of.workload + threads_text(of.threads), Style::name})
              .add({BoardName(of.board).without_angles(), Style::small}),
          answer.angles, Span{words.kernel, Style::pill, is_one ? Tone::good : Tone::none},
          words.time, Line(words.against).add({words.beside, Style::small}), words.ceiling,
          words.error}});
  }
  return table;
}

Document report_of(const Results& results, const Summary& summary) {
  Document out{summary.headline, summary.standing, lead_of(results, summary)};
  const auto add = [&out](Part part) {
    if (!part.blocks.empty()) out.parts.push_back(std::move(part));
  };
  if (!summary.answers.empty())
    add(Part{"Which kernel", "answers"}
            .add(answer_table(summary))
            .add(Paragraph{Line("The same for the shapes and frequencies of your model:")
                               .add({"ropewalk run --config config.json", Style::code}),
                           "lead own"}));
  const CheckIds ids = check_ids(summary);
  add({"Failures", "failures", "", false, false, failure_blocks(summary, ids)});
  const KernelColours colours(results, summary);
  add(of_charts("Curves", "curves", curve_charts(results, colours), false));
  add(of_charts("Accuracy against speed", "accuracy", trade_charts(results, summary, colours),
                true));
  add({"Verification", "verification", "", false, false,
       verification_blocks(results, summary, ids)});
  add(kernels(summary));
  add(leaderboards(summary));
  add(of_charts("Ratios", "ratios", forest_charts(summary, colours), true, true));
  add(of_charts("Speed over the working set", "working-set",
                working_set_charts(results, summary, colours), true, true));
  if (!summary.not_run.empty()) add(not_run(summary));
  add(the_run(results, summary));
  if (!results.run.environment.empty()) add(environment(results));
  add(method(summary));
  out.foot.push_back(Line("Made by ropewalk " + results.run.version + " from results.jsonl:")
                         .add({results.run.command, Style::code}));
  out.foot.push_back(
      Line("These results have the fingerprint").add({fingerprint_of(results), Style::code}));
  return out;
}

}  // namespace ropewalk::report
