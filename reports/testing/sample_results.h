// Made-up results, for tests only, in which every part of a report has something to show.
#pragma once
#include "reports/record/record.h"

namespace ropewalk::report {

/// Four kernels that hold, and a plugin that rotates the wrong way, on three workloads.
Results sample_results();

VerdictRow sample_verdict();
TimingRow sample_timing();
CertificateRow sample_certificate();

}  // namespace ropewalk::report
