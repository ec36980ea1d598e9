// Which property kills which mutant. The matrix is counted, printed, and written as
// docs/kill-matrix.md.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::tools {

class KillMatrix {
 public:
  /// `properties` are the columns, in order. A row of another name is that of
  /// a kernel that dies earlier.
  explicit KillMatrix(std::vector<std::string> properties);

  void add(const report::VerdictRow& row);
  bool empty() const { return verdicts_.empty(); }

  /// Whether every mutant dies and every correct kernel holds.
  bool complete() const;
  /// The properties that kill no mutant.
  std::vector<std::string> idle_properties() const;

  /// For a terminal: one letter for each kernel and property, and then the scores.
  std::string as_text() const;
  /// The page docs/kill-matrix.md. `command` is the command line that wrote it.
  std::string as_markdown(const std::string& command) const;

 private:
  using Row = std::map<std::string, report::Verdict>;  ///< property -> its worst verdict
  std::ptrdiff_t kills(const Row& row) const;          ///< of how many properties
  bool killed(const Row& row) const { return kills(row) > 0; }
  bool holds(const Row& row) const;
  static bool is_mutant(const std::string& kernel) { return kernel.starts_with("mutant_"); }
  std::size_t count(bool mutants, bool (KillMatrix::*what)(const Row&) const) const;
  /// The mutants that a property kills. With `alone`, only those that no other property kills.
  std::vector<std::string> kills_of(const std::string& property, bool alone) const;
  /// Rows of a table: of the composed mutants, how many need two, three, ... conditions to meet.
  std::string strengths() const;
  /// The composed mutants that were not judged, with the conditions that each needs.
  std::string not_judged() const;

  std::vector<std::string> properties_;
  std::map<std::string, Row> verdicts_;  ///< by kernel
};

}  // namespace ropewalk::tools
