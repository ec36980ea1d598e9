// Known failures: what a kernel is known to get wrong, until when and why, so that a CI goes on to
// watch everything else (docs/ledger.md). They change the exit code and nothing more: a known
// failure is still a failure, and a kernel that has one has no speed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::harness {

/// One line of the file.
struct KnownFailure {
  std::string kernel, property;  ///< globs
  std::string until;             ///< the last day it counts, YYYY-MM-DD
  std::string reason;
  std::int64_t line = 0;
};

/// Throws BadFile (file and line) for a line that is not `KERNEL PROPERTY YYYY-MM-DD reason`, an
/// impossible date and control characters. `#` begins a comment line.
std::vector<KnownFailure> parse_known_failures(std::string_view text, const std::string& file);

/// Holds the rows of a run to a file of known failures.
class KnownFailures {
 public:
  KnownFailures() = default;  ///< none
  /// `today` as YYYY-MM-DD. Throws BadFile.
  KnownFailures(std::string_view text, std::string file, std::string today);

  /// "until 2026-12-31: reason" of the first line that excuses a failure of this kernel in this
  /// property today; empty when none does.
  std::string excuse(const std::string& kernel, const std::string& property);
  /// Marks the row (VerdictRow::known) when it is a failure that is known; takes note in any case.
  void judge(report::VerdictRow& row);
  /// After the run: one line each for a line that is expired, needless or about nothing that ran.
  std::vector<std::string> remarks() const;

 private:
  struct Use {
    KnownFailure known;
    std::int64_t judged = 0, failed = 0;  ///< rows that it names
  };
  std::string file_, today_;
  std::vector<Use> uses_;
};

}  // namespace ropewalk::harness
