#include "tools/tests/timings.h"

#include "reports/numbers/claims.h"
#include "reports/record/record.h"

std::vector<Timing> timings_of(const std::filesystem::path& results) {
  std::vector<Timing> out;
  for (const ropewalk::report::TimingRow& row : ropewalk::report::read_results(results).timings)
    out.push_back({row.kernel, std::string(word(row.role)), std::string(word(row.outcome)),
                   row.workload, row.board, ropewalk::report::to_json_line(row), row.launch,
                   row.ns_per_token.size(), row.iterations.size(), row.ns_per_token_median,
                   row.gb_per_s_median});
  return out;
}

std::size_t claim_groups_of(const std::filesystem::path& results) {
  const auto rows = ropewalk::report::read_results(results).timings;
  return ropewalk::report::claims_of(rows).groups.size();
}
