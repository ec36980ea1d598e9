#include "reports/pages/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "reports/numbers/board_name.h"
#include "reports/numbers/summary.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

View list_of(const std::vector<std::string>& texts, const char* name) {
  return views_of(texts, [&](const std::string& text) {
    View item;
    item.set(name, text);
    return item;
  });
}

View legend_view(const LegendItem& each) {
  View item;
  item.set("series_class", each.css_class);
  item.set("series_mark", each.symbol);
  item.set("series", each.name);
  item.set("series_note", each.note);
  return item;
}

/// Whether the whole column holds only letters and numbers that Markdown cannot take for anything
/// else.
bool is_plain(const std::vector<std::vector<std::string>>& lines, std::size_t column) {
  return std::ranges::all_of(lines, [&](const auto& line) {
    return column >= line.size() ||
           (line[column].find("www.") == std::string::npos &&
            std::ranges::all_of(line[column], [](char c) {
              return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     std::string_view(" .,+-%").find(c) != std::string_view::npos;
            }));
  });
}

/// HTML escapes NAME. Markdown shows either NAME_plain as it is or NAME_foreign escaped.
void set_cell(View& view, const std::string& name, const std::string& text, bool plain) {
  view.set(name, text);
  view.set(name + "_plain", plain ? text : "");
  view.set(name + "_foreign", plain ? "" : text);
}

View table_view(const Figure& figure) {
  View item;
  item.set("chart_title", figure.picture.title);
  item.set("chart_folded", figure.is_folded);
  item.set("chart_name", figure.name);
  item.set("chart_how_to_read", figure.how_to_read);
  const auto& columns = figure.table.columns;
  item.set("chart_x_label", columns.front());
  item.set("chart_columns", list_of({columns.begin() + 1, columns.end()}, "chart_column"));
  std::vector<bool> plain;
  for (std::size_t column = 0; column < columns.size(); ++column)
    plain.push_back(is_plain(figure.table.lines, column));
  item.set("chart_lines", views_of(figure.table.lines, [&](const auto& values) {
             View line, cells{View::type::list};
             set_cell(line, "chart_x", values.front(), plain.front());
             for (std::size_t column = 1; column < values.size(); ++column) {
               View cell;
               set_cell(cell, "chart_value", values[column], plain.at(column));
               cells << std::move(cell);
             }
             line.set("chart_values", std::move(cells));
             return line;
           }));
  item.set("absent", list_of(figure.absent, "absent_name"));
  return item;
}

}  // namespace

View figure_tables(const std::vector<Figure>& figures) {
  return views_of(figures, table_view);
}

View figure_pictures(const std::vector<Figure>& figures, const std::string& id,
                     const std::string& gnuplot) {
  int number = 0;
  return views_of(figures, [&](const Figure& figure) {
    ChartRequest request = figure.picture;
    request.id = fmt::format("{}{}", id, number++);
    const auto draw = [&](ChartSize size) {
      return draw_chart(request, sized_for(request, size), gnuplot);
    };
    auto narrow_one = std::async(std::launch::async, draw, narrow_chart);
    const Chart wide = draw(wide_chart);
    const Chart narrow = narrow_one.get();
    const std::string& error = wide.error.empty() ? narrow.error : wide.error;
    View item = table_view(figure);
    item.set("chart_svg", View(wide.svg + "\n" + narrow.svg));
    item.set("chart_drawn", error.empty());
    item.set("chart_error", error);
    item.set("legend", views_of(figure.legend, legend_view));
    return item;
  });
}

void View::set(const std::string& name, View value) {
  if (value.is_list()) set("has_" + name, !value.list_value().empty());
  (*this)[name] = std::move(value);
}

void View::set_text(const std::string& name, std::string_view text) {
  (*this)[name] = text.empty() ? View(type::bool_false) : View(clean_line(std::string(text)));
}

View named(std::string_view name, const std::string& value) {
  View item;
  item.set("name", name);
  item.set("value", value);
  return item;
}

View pieces(const std::string& name) {
  View out{View::type::list};
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('_', begin), name.size() - 1) + 1;
    out << View(name.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

Mark mark_of(Standing standing) {
  if (standing == Standing::verified) return {"good", "✓"};
  if (standing == Standing::failed) return {"bad", "✗"};
  return {"none", "–"};
}

Mark mark_of(Verdict verdict) {
  return mark_of(is_failure(verdict)   ? Standing::failed
                 : is_not_run(verdict) ? Standing::not_run
                                       : Standing::verified);
}

namespace {

std::string end_text(const Results& results) {
  if (!results.complete) return "cut off: the report shows what was recorded until then";
  return fmt::format("complete after {}, exit code {}", seconds_text(results.end.seconds),
                     results.end.exit_code);
}

View facts(const Results& results, const Summary& summary) {
  View out{View::type::list};
  const auto add = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out << named(name, value);
  };
  const auto add_marked = [&out](View item, const std::string& word, Mark mark) {
    item.set("word", word);
    item.set("word_class", mark.css_class);
    item.set("word_symbol", mark.symbol);
    out << std::move(item);
  };
  const auto& environment = results.run.environment;
  for (const auto& [key, label] :
       {std::pair("machine", "machine"), std::pair("cpu_model", "cpu_model"),
        std::pair("transparent_huge_pages", "huge pages")})
    if (const auto found = environment.find(key); found != environment.end())
      add(label, found->second);
  if (const SpeedsText speeds = speeds_text(summary); !speeds.rest.empty())
    add_marked(named("speeds", speeds.rest), speeds.word, speeds.mark);
  for (const DeviceSummary& device : summary.devices) {
    add("device",
        fmt::format("{}; {} on it", device.name,
                    device.verdicts == 0   ? "no verdict rests"
                    : device.verdicts == 1 ? "1 verdict rests"
                                           : count_text(device.verdicts) + " verdicts rest"));
    if (!device.slowed.empty()) add_marked(named("clocks", device.slowed), "slowed", {"slow", "▼"});
  }
  add("command", results.run.command);
  add("profile", results.run.profile);
  add("seed", std::to_string(results.run.seed));
  add("started", results.run.started_at);
  add("run", end_text(results));
  add("ropewalk", results.run.version);
  return out;
}

View tallies(const Summary& summary) {
  View out{View::type::list};
  const auto add = [&out](std::int64_t count, std::string_view what, const char* css_class) {
    View item;
    item.set("tally", count_text(count));
    item.set("tally_of", what);
    item.set("tally_class", count > 0 ? css_class : "");
    out << std::move(item);
  };
  const auto verdicts = [&summary](Verdict verdict) {
    const auto found = summary.verdicts.find(verdict);
    return found == summary.verdicts.end() ? 0 : found->second;
  };
  std::string verified = summary.kernels_verified == 1 ? "kernel verified" : "kernels verified";
  if (summary.verified_by_host_launcher > 0)
    verified += fmt::format(", {} of them on the CPU only, as CUDA kernels",
                            summary.verified_by_host_launcher);
  if (summary.verified_as_declared > 0)
    verified += fmt::format(", {} to a declared bound", summary.verified_as_declared);
  add(summary.kernels_verified, verified, "good");
  add(summary.kernels_failed, summary.kernels_failed == 1 ? "kernel failed" : "kernels failed",
      "bad");
  if (summary.kernels_not_run > 0) add(summary.kernels_not_run, "could not run", "none");
  add(verdicts(Verdict::pass), "claims hold", "good");
  add(verdicts(Verdict::fail), "FAIL", "bad");
  add(verdicts(Verdict::crash), "CRASH", "bad");
  for (const Verdict verdict : {Verdict::hang, Verdict::vacuous})
    if (verdicts(verdict) > 0) add(verdicts(verdict), word(verdict), "bad");
  for (const Verdict verdict : {Verdict::unsupported, Verdict::skipped})
    add(verdicts(verdict), word(verdict), "none");
  return out;
}

/// What the number of verified kernels hides, as sentences without the last full stop; empty if all
/// are native or ran on a device, and hold a bound that is derived.
std::string notes_on_verified(const Summary& summary) {
  std::string out;
  const auto add = [&](std::int64_t count, const char* one, const char* several) {
    if (count == 0) return;
    const std::int64_t all = summary.kernels_verified;
    out +=
        fmt::format("{}{} of {} verified kernel{} {}", out.empty() ? "" : ". ", count_text(count),
                    count_text(all), all == 1 ? "" : "s", count == 1 ? one : several);
  };
  add(summary.verified_by_host_launcher, "is a CUDA kernel, checked on the CPU only",
      "are CUDA kernels, checked on the CPU only");
  add(summary.verified_as_declared,
      "was checked against an error bound that it declares, larger than its data type needs",
      "were checked against error bounds that they declare, larger than their data types need");
  return out;
}

View kernels(const Summary& summary) {
  return views_of(summary.kernels, [](const KernelSummary& kernel) {
    View item;
    const Mark mark = mark_of(kernel.standing);
    item.set("kernel_class", mark.css_class);
    item.set("kernel_symbol", mark.symbol);
    item.set("kernel_name", kernel.name);
    item.set("kernel_plugin", shown_plugin(kernel.plugin));
    item.set("kernel_judged_on", words_beside(kernel.judged_on, kernel.declared));
    const bool verified = kernel.standing == Standing::verified;
    item.set("by_host", verified && kernel.by_host_launcher_alone());
    item.set("kernel_summary", kernel.summary);
    item.set("kernel_standing", word(kernel.standing));
    item.set("kernel_passed", count_text(kernel.passed));
    item.set("kernel_judged", count_text(kernel.passed + kernel.failed));
    const bool has_margin = verified && kernel.passed > 0;
    item.set("kernel_margin", has_margin ? margin_text(kernel.worst_margin) : "");
    item.set("kernel_closest", kernel.worst_property);
    item.set("kernel_reason", kernel.reason);
    return item;
  });
}

View properties(const Summary& summary) {
  return views_of(summary.properties, [](const PropertySummary& property) {
    View item;
    item.set("property", property.name);
    item.set("claim", property.claim);
    item.set("property_passed", count_text(property.passed));
    item.set("property_judged", count_text(property.passed + property.failed));
    item.set("property_compared", count_text(property.compared));
    item.set("property_margin", property.passed > 0 ? margin_text(property.worst_margin) : "");
    return item;
  });
}

View not_run(const Summary& summary) {
  return views_of(summary.not_run, [](const NotRun& each) {
    View item;
    item.set("not_run_kernel", each.kernel);
    item.set("not_run_judged_on", each.judged_on);
    item.set("not_run_verdict", word(each.verdict));
    item.set("not_run_reason", each.reason);
    item.set("not_run_count", count_text(each.count));
    return item;
  });
}

// The angle sources of a workload stand together, and the many sizes of a working set last.
View answers(const Summary& summary) {
  std::vector<KernelAnswer> order = summary.answers;
  const auto place = [](const KernelAnswer& answer) {
    const TimingRow& of = *answer.contest->of;
    return std::tuple(of.phase == word(WorkloadPhase::working_set), of.phase, of.tokens,
                      of.workload);
  };
  std::ranges::stable_sort(order,
                           [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return views_of(order, [](const KernelAnswer& answer) {
    const TimingRow& of = *answer.contest->of;
    const AnswerWords words = answer_words(answer);
    View item;
    item.set("answer_workload", of.workload + threads_text(of.threads));
    item.set("answer_angles", answer.angles);
    item.set("answer_board", BoardName(of.board).without_angles());
    item.set("answer_kernel", words.kernel);
    item.set("answer_time", words.time);
    item.set("answer_against", words.against);
    item.set("answer_ceiling", words.ceiling);
    item.set("answer_error", words.error);
    item.set("answer_beside", words.beside);
    item.set("answer_class", answer.winner != nullptr && answer.alike.empty() ? "good" : "none");
    return item;
  });
}

// The small table of the banner, with a column for each source of angles that was timed.
void add_answer_lines(const Summary& summary, View& view) {
  const std::vector<AnswerLine> lines = answer_lines(summary.answers);
  View heads{View::type::list};
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < angle_groups.size(); ++i)
    if (std::ranges::any_of(lines,
                            [&](const AnswerLine& line) { return !line.by[i].kernel.empty(); })) {
      columns.push_back(i);
      heads << View(std::string(angle_groups[i]));
    }
  view.set("noise", noise_sentence(summary.answers));
  view.set("line_heads", std::move(heads));
  view.set("lines", views_of(lines, [&](const AnswerLine& line) {
             View item;
             item.set("line_of", line.of);
             item.set("line_cells", views_of(columns, [&](std::size_t i) {
                        View cell = named(line.by[i].kernel, line.by[i].rest);
                        cell.set("line_head", std::string(angle_groups[i]));
                        return cell;
                      }));
             return item;
           }));
  view.set("has_two_columns", columns.size() > 1);
}

}  // namespace

View& View::operator<<(View item) {
  // Only its elements keep list_value() from being writable; push_back() would copy.
  auto& items = const_cast<kainjow::mustache::list&>(list_value());
  if (items.size() == items.capacity()) {  // the vector's own growth copies, since a move may throw
    kainjow::mustache::list more;
    more.reserve(2 * items.size() + 4);
    std::move(items.begin(), items.end(), std::back_inserter(more));
    items.swap(more);
  }
  items.push_back(std::move(item));
  return *this;
}

View make_view(const Results& results, const Summary& summary) {
  View view;
  const Mark mark = mark_of(summary.standing);
  view.set("tone", mark.css_class);
  view.set("tone_symbol", mark.symbol);
  view.set("headline", summary.headline);
  view.set("sentences", views_of(answer_sentences(summary.answers),
                                 [](const auto& sentence) { return View(clean_line(sentence)); }));
  add_answer_lines(summary, view);
  const auto cpu = results.run.environment.find("cpu_model");
  view.set("processor", cpu == results.run.environment.end() ? "" : cpu->second);
  view.set("started", results.run.started_at);
  view.set("answers", answers(summary));
  view.set("version", results.run.version);
  view.set("command", results.run.command);
  view.set("facts", facts(results, summary));
  view.set("tallies", tallies(summary));
  view.set("host_note", notes_on_verified(summary));
  view.set("kernels", kernels(summary));
  view.set("has_devices", !summary.devices.empty());
  add_speeds(summary, view);
  view.set("properties", properties(summary));
  view.set("matrix", matrix_view(summary));
  view.set("met", coverage_view(results));
  view.set("failures", failures_view(summary));
  if (!summary.failures.empty()) {
    const VerdictRow& first = *summary.failures.front();
    view.set("start", first.kernel + ": " + (first.cause.empty() ? first.reason : first.cause));
  }
  view.set("not_run", not_run(summary));
  view.set("environment", views_of(results.run.environment, [](const auto& fact) {
             return named(fact.first, fact.second);
           }));
  view.set("planned", count_text(summary.planned));
  view.set("executed", count_text(summary.executed));
  view.set("compared_cases", count_text(summary.compared_cases));
  view.set("compared", count_text(summary.compared));
  view.set("all_compared",
           summary.planned == summary.executed && summary.executed == summary.compared_cases);
  return view;
}

std::string fill_template(const std::string& name, const View& view,
                          const kainjow::mustache::mustache::escape_handler& escape) {
  kainjow::mustache::mustache page(template_text(name));
  page.set_custom_escape(escape);
  std::string text = page.render(view);
  if (!page.is_valid()) throw std::logic_error("template " + name + ": " + page.error_message());
  return text;
}

}  // namespace ropewalk::report
