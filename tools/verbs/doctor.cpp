// Shows what makes measurements on this machine worse. It changes nothing.
#include "benchmarks/machine/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/text_file.h"
#include "benchmarks/workloads/traffic.h"
#include "reports/document/document.h"
#include "tools/command/workload_choice.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace bench;
using namespace report;
namespace {

void print_json(const DoctorFinding& f) {
  fmt::print("{{\"check\":{},\"health\":{},\"value\":{},\"why\":{},\"remedy\":{}}}\n",
             json_text(f.name), json_text(word_of(f.health)), json_text(shown(f.value, 1000)),
             json_text(f.why), json_text(f.remedy));
}

void add_finding(const DoctorFinding& f, Table& to) {
  to.rows.push_back({{Text(word_of(f.health)), f.name, shown(f.value, 200)}});
  if (f.health == Health::good) return;
  to.rows.insert(to.rows.end(), {{{"", "why", f.why}}, {{"", "do", f.remedy}}});
}

}  // namespace

int run(const DoctorOptions& options) {
  std::int64_t largest = 0;
  for (const Workload& w : chosen_workloads(options, options.profile))
    largest = std::max(largest, allocated_bytes(w));
  const std::vector<DoctorFinding> findings = examine(probe_machine(largest));
  int worse = 0, unknown = 0;
  Table table;
  for (const DoctorFinding& f : findings) {
    if (options.json)
      print_json(f);
    else if (!options.quiet || f.health == Health::worse)
      add_finding(f, table);
    worse += f.health == Health::worse ? 1 : 0;
    unknown += f.health == Health::unknown ? 1 : 0;
  }
  if (!options.json)
    fmt::print("{}{} checks: {} make measurements worse, {} not readable here\n",
               terminal_text(table), findings.size(), worse, unknown);
  return 0;
}

}  // namespace ropewalk::tools
