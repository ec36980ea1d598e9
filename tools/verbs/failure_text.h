// What a run prints of failures: one block for each cause, at most 20 lines of at most 100 columns.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::tools {

/// Breaks a text into lines of at most 100 columns, and begins all but the first with `indent`
/// spaces. A line ends before `least` only if the text does. A word that is longer than a line is
/// broken after commas alone.
std::vector<std::string> wrapped(std::string_view text, std::size_t indent = 6,
                                 std::size_t least = 0);
void print_lines(const std::vector<std::string>& lines);

/// The cell of a row: "half_split f32 table".
std::string cell_of(const report::VerdictRow& row);

/// The cell, what a verdict on it rests on if that is not the host's own code, and an error that
/// the kernel declares beyond what its data type needs.
std::string cell_and_words(const report::VerdictRow& row, std::string_view between = ", ",
                           std::string_view end = "");

/// The error of a failure and the error that is allowed: "1.3e-01 of |x|, allowed 1.3e-07". The
/// case is that of the row's margin.
std::string error_text(const report::VerdictRow& row, const std::string& case_text);

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

/// Prints a failed claim as a block of lines. `more` are further failures of the same cause. `all`
/// prints all lines, and the replay line of the largest margin.
void print_failure(const report::VerdictRow& row, const std::vector<report::VerdictRow>& more = {},
                   bool all = false);

/// Prints the failures of one kernel, that which tells most first: each as a block, or one block
/// for each cause. `shown` has its block already; NULL: none has.
void print_failures(std::vector<report::VerdictRow> failures, bool all,
                    const report::VerdictRow* shown = nullptr);

/// Prints which failure to begin with, unless a run has printed at most one block.
void print_where_to_start(const std::vector<report::VerdictRow>& rows, bool all);

/// Prints the block of the failure to begin with, if there is one. For a run that prints no others.
void print_first_failure(const std::vector<report::VerdictRow>& rows);

}  // namespace ropewalk::tools
