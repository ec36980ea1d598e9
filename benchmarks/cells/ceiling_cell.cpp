#include "benchmarks/cells/ceiling_cell.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "benchmarks/ceilings/ceilings.h"
#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {
using namespace report;
namespace {

class CeilingCell final : public HostCell {
 public:
  CeilingCell(const Workload& workload, LazyData& data, std::string variant)
      : HostCell(workload, data), wanted_(std::move(variant)) {}
  bool run(const Epoch& epoch) override {
    const std::uint64_t every = is_in_place(workload_) && !workload_.cold ? 2 : 1;  // as kernels
    make_calls(epoch, every, [&](std::uint64_t) {
      for (const CeilingSpan& span : spans_) pass_(span);
      return true;
    });
    return true;
  }

 private:
  void prepare() override {
    const auto loops = is_in_place(workload_) ? update_loops() : copy_loops();
    spans_ = lazy_.make().spans();
    for (const CeilingLoop& loop : loops)
      if (loop.name == wanted_) {
        pass_ = loop.pass;
        return;
      }
    refuse(Outcome::skipped, "no ceiling was picked for it");
  }

  std::string wanted_;
  std::vector<CeilingSpan> spans_;
  void (*pass_)(const CeilingSpan&) = nullptr;
};

}  // namespace

std::unique_ptr<Cell> make_ceiling_cell(const Workload& workload, LazyData& data,
                                        const std::string& variant) {
  auto cell = std::make_unique<CeilingCell>(workload, data, variant);
  TimingRow& row = cell->row = known_row(workload, false);
  row.kernel = is_in_place(workload) ? "ceiling_update" : "ceiling_copy";
  row.summary = fmt::format(
      "{}; the best of its variants in a process of its own: {}",
      is_in_place(workload) ? "turns the signs over in the same bytes" : "a copy of the same bytes",
      variant);
  row.board = board_of(workload, "");
  row.role = Role::ceiling;
  row.variant = variant;
  row.bytes = ceiling_traffic_bytes(workload);
  row.working_set_bytes = ceiling_working_set_bytes(workload);
  return cell;
}

}  // namespace ropewalk::bench
