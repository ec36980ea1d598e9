// Feeds the inputs of a file of frames to a fuzz target, with any compiler. It names each input
// before it runs it, so the last one named is the one that broke. --unpack and --pack turn the file
// into a folder and back. The exit code is 2 if the file cannot be used.
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "base/bad_file.h"
#include "tools/fuzz/frames.h"
#include "tools/fuzz/target.h"

namespace {

using namespace ropewalk;

/// What is to be run: nothing if the words ask for --unpack or --pack, which are done here.
fuzz::Inputs inputs_for(const std::vector<std::string>& words) {
  if (words.size() == 1) return fuzz::read_frames(words[0]);
  if (words.size() == 3 && words[1] == "--unpack")
    fuzz::unpack(words[0], words[2]);
  else if (words.size() == 3 && words[1] == "--pack")
    fuzz::pack(words[0], words[2]);
  else
    throw BadFile("give FILE.frames, and no more or --unpack FOLDER or --pack FOLDER");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  fuzz::Inputs inputs;
  try {
    inputs = inputs_for({argv + 1, argv + argc});
  } catch (const std::runtime_error& refusal) {
    std::fprintf(stderr, "run_corpus: %s\n", refusal.what());
    return 2;
  }
  std::size_t number = 0;
  for (const std::string& input : inputs) {
    std::printf("input %zu of %zu, %s\n", ++number, inputs.size(), fuzz::name_of(input).c_str());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
  if (number > 0) std::printf("%zu inputs\n", number);
  return 0;
}
