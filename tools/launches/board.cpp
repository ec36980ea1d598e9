#include "tools/launches/board.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/printable.h"
#include "benchmarks/cells/cells.h"
#include "benchmarks/engine/google_benchmark.h"

namespace ropewalk::bench {

// A workload is its case as a replay line, and what a case does not say.
static void to_json(nlohmann::json& json, const Workload& w) {
  json = {{"case", harness::to_text(w)}, {"name", w.name},   {"model", w.model},
          {"source", w.source},          {"phase", w.phase}, {"layout", w.layout},
          {"scattered", w.scattered},    {"cold", w.cold},   {"profiles", w.profiles}};
}
static void from_json(const nlohmann::json& json, Workload& w) {
  static_cast<harness::Case&>(w) = harness::case_from_text(json.at("case").get<std::string>());
  json.at("name").get_to(w.name);
  json.at("model").get_to(w.model);
  json.at("source").get_to(w.source);
  json.at("phase").get_to(w.phase);
  json.at("layout").get_to(w.layout);
  json.at("scattered").get_to(w.scattered);
  json.at("cold").get_to(w.cold);
  json.at("profiles").get_to(w.profiles);
}

}  // namespace ropewalk::bench

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace report;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BoardRequest, google_benchmark, ceilings_only, seed, workloads,
                                   kernels, unverified, benchmark_args, rounds, launch, epoch_s,
                                   group_s, launch_s, epochs_s, threads, baseline, ceilings, done)

namespace {

std::vector<Candidate> candidates_of(const BoardRequest& request,
                                     const std::vector<const rope_kernel*>& kernels) {
  std::vector<Candidate> timed;
  for (const auto& [name, broken] : request.kernels) {
    const auto found =
        std::ranges::find_if(kernels, [&, n = name](const rope_kernel* k) { return n == k->name; });
    if (found == kernels.end()) throw std::runtime_error("the board has no kernel " + name);
    const char* summary = (*found)->summary;
    Candidate c{*found, name, summary == nullptr ? "" : summary, broken, {}};
    for (const auto& [kernel, workload] : request.unverified)
      if (kernel == name) c.unverified.insert(workload);
    timed.push_back(std::move(c));
  }
  return timed;
}

constexpr std::size_t most_text_bytes = 1000;

std::string shown(const std::string& text) {
  return printable_start(text, most_text_bytes);
}

std::string unknown_name(const TimingRow& row, const BoardRequest& request) {
  if (std::ranges::count(request.workloads, row.workload, &Workload::name) == 0)
    return "workload '" + shown(row.workload) + "'";
  if (!row.is_reference() && !request.kernels.contains(kernel_of(row)))
    return "kernel '" + shown(row.kernel) + "'";
  return {};
}

/// Beyond what row_from() asks of each number.
bool has_possible_times(const TimingRow& row) {
  const auto is_above_0 = [](auto number) { return number > 0; };
  return (row.outcome == Outcome::measured) != row.ns_per_token.empty() &&
         std::ranges::all_of(row.ns_per_token, is_above_0) &&
         std::ranges::all_of(row.iterations, is_above_0);
}

}  // namespace

std::string to_text(const BoardRequest& request) {
  return nlohmann::json(request).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

BoardRequest board_request_from(const std::string& text) {
  return nlohmann::json::parse(text).get<BoardRequest>();
}

TimingHandler timing_handler() {
  return [](const std::string& text, const std::vector<const rope_kernel*>& kernels, Device* device,
            const TimingSinks& sinks) {
    const BoardRequest request = board_request_from(text);
    const std::vector<Candidate> timed = candidates_of(request, kernels);
    if (request.google_benchmark)
      return run_google_benchmark({request.workloads, timed, request.benchmark_args, request.seed,
                                   sinks.now_running, sinks.show});
    PairedPlan plan{request, timed, device, {}, sinks.now_running};
    plan.on_row = [&](const TimingRow& row) { sinks.row(to_json_line(row)); };
    return request.ceilings_only ? pick_ceilings(plan) : run_paired(plan);
  };
}

TimingRow board_row_from(const std::string& json, const BoardRequest& request) {
  TimingRow row = row_from<TimingRow>(json);
  if (const std::string name = unknown_name(row, request); !name.empty())
    throw BadFile("the board has no " + name);
  if (!has_possible_times(row)) throw BadFile("a number of it cannot be measured");
  row.summary = shown(row.summary);
  row.reason = shown(row.reason);
  row.judged_on = shown(row.judged_on);
  row.device = shown(row.device);
  row.throttled = shown(row.throttled);
  row.steal_ms = std::max(row.steal_ms, 0.0);  // some hypervisors take ticks back
  return row;
}

std::string kernel_of_label(const std::string& label) {
  TimingRow row;
  row.kernel = label.substr(0, label.find('|'));
  if (row.kernel.ends_with(twin_suffix)) row.role = Role::null_twin;
  return kernel_of(row);
}

std::int32_t memory_of(const TimingRow& row) {
  return row.board.ends_with(device_board) ? ROPE_CUDA : ROPE_HOST;
}

std::string group_of(const TimingRow& row) {
  return group_name(row.workload, row.board, row.threads);
}

}  // namespace ropewalk::tools
