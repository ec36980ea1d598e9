// Which kernel to use: what each board says of each workload, and all of it in a sentence.
#pragma once
#include <string>
#include <vector>

#include "reports/numbers/summary.h"

namespace ropewalk::report {

/// Of each contest of the summary's boards. They point into the summary and the results.
std::vector<KernelAnswer> answers_of(const Summary& summary, const Results& results);

/// "avx512, 178 ns/token, 80.0 % less time than plain [79.6, 81.1], 51.7 % of the ceiling, error at
/// most 2.0 u rho", or "nothing resolved: ...".
std::string answer_text(const KernelAnswer& answer);

/// "Decode: tables given: avx512; own angles: avx512_phase. Prefill: ...". Contests of several
/// threads are left out. Empty: nothing was timed.
std::string answer_sentence(const std::vector<KernelAnswer>& answers);

}  // namespace ropewalk::report
