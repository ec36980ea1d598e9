#include "tools/launches/row_groups.h"

#include "benchmarks/cells/cells.h"
#include "benchmarks/engine/paired.h"

namespace ropewalk::tools {
using namespace bench;
using namespace report;

std::string kernel_of_label(const std::string& label) {
  std::string kernel = label.substr(0, label.find('|'));
  if (kernel.ends_with(twin_suffix)) kernel.resize(kernel.size() - twin_suffix.size());
  return kernel;
}

std::int32_t memory_of(const TimingRow& row) {
  return row.board.ends_with(device_board) ? ROPE_CUDA : ROPE_HOST;
}

std::string group_of(const TimingRow& row) {
  return group_name(row.workload, row.board, row.threads);
}

}  // namespace ropewalk::tools
