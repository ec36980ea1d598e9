// The function by which libFuzzer and run_corpus.cpp call a target.
#include "tools/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ropewalk::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
