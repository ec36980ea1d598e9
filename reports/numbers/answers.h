// Which kernel to use: what each board says of each workload, and all of it in a sentence.
#pragma once
#include <string>
#include <vector>

#include "reports/numbers/summary.h"

namespace ropewalk::report {

/// Of each contest of the summary's boards. They point into the summary and the results.
std::vector<KernelAnswer> answers_of(const Summary& summary, const Results& results);

/// An answer in parts, of which any but the first may be empty.
struct AnswerWords {
  std::string kernel;   ///< "avx512", or "nothing resolved"
  std::string time;     ///< "178 ns/token"
  std::string against;  ///< "80.0 % less time than plain [79.6, 81.1]", or "the baseline"
  std::string ceiling;  ///< "51.7 %"
  std::string error;    ///< "2.0 u rho"
  std::string beside;   ///< why nothing is resolved, or what must be said with the kernel
};
AnswerWords answer_words(const KernelAnswer& answer);

/// "avx512, 178 ns/token, 80.0 % less time than plain [79.6, 81.1], 51.7 % of the ceiling, error at
/// most 2.0 u rho", or "nothing resolved: ...".
std::string answer_text(const KernelAnswer& answer);

/// "Decode: tables given: avx512; own angles: avx512_phase.", and the same for the other phases.
/// Contests of several threads are left out. Empty: nothing was timed.
std::vector<std::string> answer_sentences(const std::vector<KernelAnswer>& answers);
/// All of them in one line.
std::string answer_sentence(const std::vector<KernelAnswer>& answers);

}  // namespace ropewalk::report
