// A run as a document, part by part.
#pragma once
#include <string>
#include <vector>

#include "reports/document/document.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

Document report_of(const Results& results, const Summary& summary);

/// The kernel to use for each workload and board.
Table answer_table(const Summary& summary);

/// What is said first about speeds: a word ("valid", "noisy", "INVALID"; empty: nothing was
/// compared), and "noise floor 0.8 %, ...". Both are empty if nothing was timed.
struct SpeedsText {
  Tone tone = Tone::none;
  std::string word, rest;
};
SpeedsText speeds_text(const Summary& summary);

Part leaderboards(const Summary& summary);

}  // namespace ropewalk::report
