// A config.json is refused by BadFile, or gives workloads that read the same after they were
// written. Its description is in lines that can be shown.
#include "benchmarks/configs/model_config.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workload_shape.h"
#include "tools/fuzz/target.h"
#include "tools/launches/board.h"

namespace ropewalk::fuzz {
using namespace bench;
namespace {

void take(std::string_view text, const ConfigAnswers& answers) {
  const auto config =
      unless_refused<BadFile>([&] { return parse_model_config(text, "FILE", answers, "toy"); });
  if (!config) return;
  for (const auto* lines : {&config->read, &config->assumed, &config->ignored, &config->not_timed})
    for (const std::string& line : *lines) claim_message(line);
  claim(!shape_fault(config->shape), "a shape that is accepted holds");
  const auto all = unless_refused<BadFile>([&] { return through_phases(config->shape, "FILE"); });
  if (!all) return;
  claim(!all->empty(), "a model goes through phases");
  tools::BoardRequest request;
  request.workloads = *all;
  claim(tools::board_request_from(to_text(request)).workloads == *all,
        "a workload reads as it was written");
  const auto frequencies = inv_freq_of(config->shape, false);
  claim(frequencies.size() * 2 == static_cast<std::size_t>(config->shape.rotary_dim),
        "a frequency for each pair");
  for (const double frequency : frequencies)
    claim(frequency >= 0 && frequency <= 6.2832, "a frequency lies in [0, 2 pi]");
}

}  // namespace

void run(std::string_view text) {
  take(text, {});
  take(text,
       {.pairing = "interleaved", .theta = 10000, .heads = 4, .kv_heads = 2, .context = 65536});
}

}  // namespace ropewalk::fuzz
