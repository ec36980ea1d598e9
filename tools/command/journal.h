// The groups that a bench has measured so far, kept beside its results until the bench is complete.
// A kill then loses only the group being measured. The results themselves are written at the end.
// Only then is it known which kernels broke, and a broken kernel has no number in any results file.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/worker/worker.h"
#include "reports/record/record.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

class Journal {
 public:
  /// Without --out it keeps nothing. With --resume it takes up what the same command measured with
  /// the same program, plugins and machine; it throws UsageError if they differ. Without --resume
  /// it starts empty.
  explicit Journal(const BenchOptions& options);
  const std::vector<report::TimingRow>& resumed() const { return resumed_; }
  void write(const report::TimingRow& row);
  /// Removes the journal. The run has ended, and its results hold all rows and the end row.
  static void forget(const BenchOptions& options);

 private:
  std::filesystem::path file_;
  report::RunRow identity_;
  std::unique_ptr<report::RecordWriter> writer_;
  std::vector<report::TimingRow> resumed_;
};

}  // namespace ropewalk::tools
