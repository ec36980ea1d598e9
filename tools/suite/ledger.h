// Compares a run of verify with the ledger, in both directions.
#pragma once
#include <map>
#include <set>
#include <string>

#include "harness/expected/expected.h"
#include "reports/record/record.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

class LedgerCheck {
 public:
  /// Reads the file of --ledger, or the file that --write-ledger will replace. Throws BadFile.
  explicit LedgerCheck(const VerifyOptions& options);

  void on_offer(const harness::LedgerKey& feature);
  void on_row(const report::VerdictRow& row);

  /// Prints the differences, or writes the file. `code` is the exit code of the verdicts. Returns
  /// the exit code of verdicts and ledger together.
  int finish(int code) const;

 private:
  bool was_asked(const harness::LedgerKey& key) const;
  int compare(int code) const;
  int write(int code) const;
  std::string why_lost(const harness::LedgerKey& key) const;

  const VerifyOptions& options_;
  /// The properties and features that exist: without those of extensions, and with them.
  const std::set<std::string> all_, known_;
  harness::Expectations file_;
  harness::Ledger held_;
  /// Its verdict and reason; that on all properties of a kernel has its name alone.
  std::map<harness::LedgerKey, std::string> refused_;
  std::map<std::string, std::string> skipped_;  // by kernel: why this machine cannot run it
};

}  // namespace ropewalk::tools
