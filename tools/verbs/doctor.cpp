// Shows what makes measurements on this machine worse. It changes nothing.
#include "benchmarks/machine/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/text_file.h"
#include "benchmarks/workloads/traffic.h"
#include "tools/command/workload_choice.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace bench;
namespace {

void print_json(const DoctorFinding& f) {
  fmt::print("{{\"check\":{},\"health\":{},\"value\":{},\"why\":{},\"remedy\":{}}}\n",
             json_text(f.name), json_text(word_of(f.health)), json_text(shown(f.value, 1000)),
             json_text(f.why), json_text(f.remedy));
}

void print_finding(const DoctorFinding& f) {
  fmt::print("{:<13} {:<22} {}\n", word_of(f.health), f.name, shown(f.value, 200));
  if (f.health == Health::good) return;
  fmt::print("{:<13} why: {}\n{:<13} do:  {}\n", "", f.why, "", f.remedy);
}

}  // namespace

int run(const DoctorOptions& options) {
  std::int64_t largest = 0;
  for (const Workload& w : chosen_workloads(options, options.profile))
    largest = std::max(largest, allocated_bytes(w));
  const std::vector<DoctorFinding> findings = examine(probe_machine(largest));
  int worse = 0, unknown = 0;
  for (const DoctorFinding& f : findings) {
    if (options.json)
      print_json(f);
    else if (!options.quiet || f.health == Health::worse)
      print_finding(f);
    worse += f.health == Health::worse ? 1 : 0;
    unknown += f.health == Health::unknown ? 1 : 0;
  }
  if (!options.json)
    fmt::print("{} checks: {} make measurements worse, {} not readable here\n", findings.size(),
               worse, unknown);
  return 0;
}

}  // namespace ropewalk::tools
