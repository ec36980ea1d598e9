// Puts tables of a report into a document that people write.
#pragma once
#include <string>

#include "reports/record/record.h"

namespace ropewalk::report {

/// Returns the document with new text between each pair of lines
///   <!-- ropewalk NAME --> ... <!-- ropewalk end -->
/// The new text is the section NAME of report.md ("leaderboards", "ratios", ...) and the command
/// that made it. `document` stands for the file in messages. Throws BadFile if the document has no
/// such pair, if a pair is left open, or if the report has no section of that name.
std::string spliced(const std::string& text, const std::string& document, const Results& results);

}  // namespace ropewalk::report
