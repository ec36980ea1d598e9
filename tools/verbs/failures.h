// What a run prints of failures: one block for each cause, at most 20 lines of at most 100 columns.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "reports/document/document.h"
#include "reports/record/record.h"

namespace ropewalk::tools {

/// Sorts failures of one kernel into causes: two are of one if they share an identifier, or have
/// none and are of one property and case in several cells. A failure that has no name, and is gone
/// once the wrong elements are put right, goes to the first of these in its cell: rotated pairs and
/// elements outside the window are two errors.
class Causes {
 public:
  /// The number of its cause, from 0; a new one is the number of causes so far.
  std::size_t add(const report::VerdictRow& row);

 private:
  std::map<std::string, std::size_t> by_key_;
  std::size_t count_ = 0;
};

/// Prints terminal_text(block, lines_max).
void print(const report::Block& block, std::size_t lines_max = 0);

/// Prints a failed claim as a block. `all` prints all that is known of it.
void print_failure(const report::VerdictRow& row, bool all = false);

/// Prints the failures of one kernel, that which tells most first: each as a block, or one block
/// for each cause. `shown` has its block already; NULL: none has.
void print_failures(std::vector<report::VerdictRow> failures, bool all,
                    const report::VerdictRow* shown = nullptr);

/// Prints which failure to begin with, unless a run has printed at most one block.
void print_where_to_start(const std::vector<report::VerdictRow>& rows, bool all);

/// Prints the block of the failure to begin with, if there is one. For a run that prints no others.
void print_first_failure(const std::vector<report::VerdictRow>& rows);

}  // namespace ropewalk::tools
