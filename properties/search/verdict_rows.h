// The rows that verify writes.
#pragma once
#include <string>
#include <string_view>

#include "harness/worker/worker.h"
#include "properties/property_run.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

struct Property;

/// Quotes a text for a shell.
std::string quoted(const std::string& text);

/// The words that choose the interpreter of a plugin, unless it is the usual one, and what its
/// kernel is tolerated; each followed by a space.
std::string words_for(const harness::KernelFacts& facts);

/// A row that names the kernel, and nothing else.
report::VerdictRow row_for(const harness::KernelFacts& facts);
/// Its name, claim and group.
void set_property(const Property& property, report::VerdictRow& row);

/// The error of a failure of its shrunk case and the error that is allowed: "1.3e-01 of |x|,
/// allowed 1.3e-07".
std::string error_text(const report::VerdictRow& row);

/// At the beginning of the reason of a row that the suite could not judge. The exit code is 3.
inline constexpr std::string_view suite_error = "an error of the suite, not of the kernel: ";

/// `again`: the command that repeats the whole property.
void fill_verdict(report::VerdictRow& row, const PropertyRun& run,
                  const harness::KernelFacts& facts, const std::string& again);

}  // namespace ropewalk::properties
