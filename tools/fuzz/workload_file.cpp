// A workload file is refused by BadFile or gives workloads with unique names. Each makes a problem
// with sizes that fit (the sanitizer sees an overflow).
#include <set>

#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workloads.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {
using namespace bench;

void run(std::string_view text) {
  const auto workloads = unless_refused<BadFile>([&] { return parse_workloads(text, "FILE"); });
  if (!workloads) return;
  claim(!workloads->empty(), "a file without workloads is refused");
  std::set<std::string> names;
  for (const Workload& w : *workloads) {
    claim_message(w.name);
    claim(names.insert(w.name).second, "a name stands once");
    claim(!w.profiles.empty(), "a workload is in a profile");
    claim(allocated_bytes(w) <= workload_bytes_max, "a workload is at most 64 GiB");
    for (const std::int32_t angles : {ROPE_ANGLES_TABLE, ROPE_ANGLES_INV_FREQ}) {
      const rope_problem p = make_problem(w, {}, angles, Operation::forward);
      for (const rope_tensor& t : {p.tensor[0], p.tensor[1]})
        claim(t.rotary_offset + p.rotary_dim <= t.head_dim, "the window is inside the head");
      claim(p.max_position >= 0 && p.max_position < std::int64_t{1} << 31, "positions fit 32 bits");
    }
    claim(traffic_bytes(w, true) > 0, "a workload moves bytes");
    claim_message(board_of(w, "table"));
  }
}

}  // namespace ropewalk::fuzz
