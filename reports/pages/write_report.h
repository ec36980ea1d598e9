// Writes a report as files.
#pragma once
#include <filesystem>
#include <string>

#include "reports/record/record.h"

namespace ropewalk::report {

/// Writes report.md, report.html, results.csv and junit.xml into out_dir, each whole or not at all.
/// Makes out_dir if it is missing. Throws std::runtime_error with one line that names the file.
void write_report(const Results& results, const std::filesystem::path& out_dir);

}  // namespace ropewalk::report
