#include "tools/launches/board_request.h"

#include <nlohmann/json.hpp>

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

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BoardRequest, google_benchmark, ceilings_only, seed, workloads,
                                   kernels, unverified, benchmark_args, rounds, launch, epoch_s,
                                   group_s, launch_s, epochs_s, threads, baseline, ceilings, done)

std::string to_text(const BoardRequest& request) {
  return nlohmann::json(request).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

BoardRequest board_request_from(const std::string& text) {
  return nlohmann::json::parse(text).get<BoardRequest>();
}

}  // namespace ropewalk::tools
