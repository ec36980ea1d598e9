// Made-up results, for tests only, in which every part of a report has something to show.
#pragma once
#include "reports/record/record.h"

namespace ropewalk::report {

/// Four kernels that hold, and a plugin that rotates the wrong way, on three workloads.
Results sample_results();
/// The same with kernels that were timed on a device, in six workloads.
Results sample_device_results();

/// A whole run with these rows alone.
Results results_of(std::vector<VerdictRow> verdicts, std::vector<TimingRow> timings = {});

VerdictRow sample_verdict();
TimingRow sample_timing();
TimingRow sample_device_timing();  ///< the same of kernel `cuda` on a device
CertificateRow sample_certificate();

}  // namespace ropewalk::report
