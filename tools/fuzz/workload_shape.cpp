// The words of --shape are refused by BadFile or give workloads with unique names. They read the
// same after they were written.
#include <set>

#include "base/text_file.h"
#include "benchmarks/workloads/model_shape.h"
#include "benchmarks/workloads/workload_shape.h"
#include "tools/fuzz/target.h"
#include "tools/launches/board_request.h"

namespace ropewalk::fuzz {
using namespace bench;

void run(std::string_view text) {
  const auto all = unless_refused<BadFile>([&] { return parse_shape(text); });
  if (!all) return;
  std::set<std::string> names;
  for (const Workload& w : *all) {
    claim(names.insert(w.name).second, "a name stands once");
    claim(!shape_fault(w), "a shape that is accepted holds");
    claim_message(w.source);
  }
  claim(!all->empty(), "a shape gives workloads");
  tools::BoardRequest request;
  request.workloads = *all;
  claim(tools::board_request_from(to_text(request)).workloads == *all,
        "a workload reads as it was written");
}

}  // namespace ropewalk::fuzz
