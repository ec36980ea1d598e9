// The rows that verify writes.
#pragma once
#include <string>

#include "harness/worker/worker.h"
#include "properties/property_run.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// Quotes a text for a shell.
std::string quoted(const std::string& text);

/// The words that choose the interpreter of a plugin, unless it is the usual one, and what its
/// kernel is tolerated; each followed by a space.
std::string words_for(const harness::KernelFacts& facts);

/// A row that names the kernel, and nothing else.
report::VerdictRow row_for(const harness::KernelFacts& facts);

/// `again`: the command that repeats the whole property.
void fill_verdict(report::VerdictRow& row, const PropertyRun& run,
                  const harness::KernelFacts& facts, const std::string& again);

}  // namespace ropewalk::properties
