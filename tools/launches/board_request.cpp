#include "tools/launches/board_request.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "benchmarks/workloads/workload_shape.h"

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

namespace ropewalk::report {

static void to_json(nlohmann::json& json, Engine engine) {
  json = word(engine);
}
static void from_json(const nlohmann::json& json, Engine& engine) {
  const auto known = from_word<Engine>(json.get<std::string>());
  if (!known) throw std::runtime_error("the engine " + json.dump() + " is unknown");
  engine = *known;
}

}  // namespace ropewalk::report

namespace ropewalk::tools {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BoardRequest, engine, ceilings_only, seed, quick, silent,
                                   workloads, contestants, unverified, benchmark_args, rounds,
                                   launch, epoch_us, group_ms, launch_ms, epochs_s, threads,
                                   baseline, ceilings, done)

std::string to_text(const BoardRequest& request) {
  return nlohmann::json(request).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

BoardRequest board_request_from(const std::string& text) try {
  const auto object = nlohmann::json::parse(text);
  const auto request = object.get<BoardRequest>();
  if (nlohmann::json(request) != object)
    throw std::runtime_error("a field is unknown or its value does not fit");
  for (const auto number : {request.rounds, request.epoch_us, request.group_ms, request.threads})
    if (number < 1) throw std::runtime_error("rounds, times and threads must be at least 1");
  if (request.launch_ms < 0) throw std::runtime_error("launch_ms is negative");
  for (const bench::Workload& w : request.workloads)
    if (const auto fault = bench::shape_fault(w))
      throw std::runtime_error("workload '" + w.name + "': " + fault->what);
  return request;
} catch (const std::exception& error) {
  throw std::runtime_error(std::string("board request: ") + error.what());
}

}  // namespace ropewalk::tools
