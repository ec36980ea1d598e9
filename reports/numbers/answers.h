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
  std::string kernel;   ///< "avx512", "avx512 or avx2", "4 kernels" or "no answer"
  std::string time;     ///< "178 ns/token"
  std::string against;  ///< "80.0 % less time than plain [79.6, 81.1]", or "the baseline"
  std::string ceiling;  ///< its share: "51.7 %" or "at the ceiling"
  std::string error;    ///< "1.2e-07 of |x|"
  std::string beside;   ///< why no kernel is named, or what must be said with it
};
AnswerWords answer_words(const KernelAnswer& answer);

/// "avx512, 178 ns/token, 80.0 % less time than plain [79.6, 81.1], 51.7 % of the ceiling, error at
/// most 1.2e-07 of |x|", or "avx512 or avx2: not distinguishable by more than 1.0 %".
std::string answer_text(const KernelAnswer& answer);

/// "Decode (cos/sin table given): avx512.", and the same for the other phases and groups. A kernel
/// is named alone only if its rounds tell it from every other. If two copies of one kernel differed
/// by more than `useful_floor`, the first sentence says so, and it is the only one if no kernel is
/// named alone. Contests of several threads are left out. Empty: nothing was timed.
std::vector<std::string> answer_sentences(const std::vector<KernelAnswer>& answers);
/// All of them in one line.
std::string answer_sentence(const std::vector<KernelAnswer>& answers);

}  // namespace ropewalk::report
