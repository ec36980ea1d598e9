// The speeds as data for the templates.
#pragma once
#include <string>

#include "reports/numbers/summary.h"
#include "reports/pages/view.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// What the banner says about the speeds: "valid", "noisy" or "INVALID", and "noise floor 0.8 %,
/// ...". The word is empty if nothing was compared. Both are empty if nothing was timed.
struct SpeedsText {
  Mark mark{"none", ""};
  std::string word, rest;
};
SpeedsText speeds_text(const Summary& summary);

/// Adds leaderboards, heat maps and the disturbances of the rounds.
void add_speeds(const Results& results, const Summary& summary, View& view);

}  // namespace ropewalk::report
