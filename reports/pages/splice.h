// Tables of a report inside a document that people write.
#pragma once
#include <string>

#include "reports/record/record.h"

namespace ropewalk::report {

/// The document with what stands between each pair of lines
///   <!-- ropewalk NAME --> ... <!-- ropewalk end -->
/// replaced by the section NAME of report.md ("leaderboards", "ratios", ...) and the command that
/// made it. `document` stands for the file in messages. Throws BadFile for a document without
/// such a pair, with one left open, or with a name that the report does not have.
std::string spliced(const std::string& text, const std::string& document, const Results& results);

}  // namespace ropewalk::report
