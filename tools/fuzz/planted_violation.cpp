// The negative control of run_corpus.cpp: a target with a claim that is broken by inputs with this
// beginning.
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {

void run(std::string_view text) {
  claim(!text.starts_with("bug"), "no input begins with the planted word");
}

}  // namespace ropewalk::fuzz
