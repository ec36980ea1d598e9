// What a bench has measured so far, kept beside its results until it is complete: a kill loses the
// group in flight and nothing else. Results proper are written at the end, when it is known who
// broke: a broken kernel has a number in no results file.
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
  /// Without --out nothing is kept. With --resume takes up what the same command, program, plugins
  /// and machine had measured; throws UsageError where they differ. Else begins anew.
  explicit Journal(const Options& options);
  const std::vector<report::TimingRow>& resumed() const { return resumed_; }
  void write(const report::TimingRow& row);
  /// The run has come to its end: its rows stand in the results, which have their end row.
  static void forget(const Options& options);

 private:
  std::filesystem::path file_;
  report::RunRow identity_;
  std::unique_ptr<report::RecordWriter> writer_;
  std::vector<report::TimingRow> resumed_;
};

}  // namespace ropewalk::tools
