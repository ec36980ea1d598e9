// Feeds the inputs of a file of frames to a fuzz target, with any compiler. It names each input
// before it runs it, so the last one named is the one that broke. --unpack and --pack turn the file
// into a folder, which libFuzzer reads, and back. The exit code is 2 if the file cannot be used.
//
// A frame is a line with a number of bytes in decimal digits, then that many bytes of any kind,
// then a newline. So a set of inputs has one file, and a new input is one new piece of its diff.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/fingerprint.h"
#include "base/text_file.h"
#include "tools/fuzz/target.h"

namespace {

using namespace ropewalk;
using Inputs = std::set<std::string>;

std::string name_of(const std::string& input) {
  Fingerprint print;
  print.add(input);
  return print.digits();
}

Inputs read_frames(const std::string& file) {
  const std::string text = read_text_file(file);
  std::string_view rest = text;
  Inputs inputs;
  while (!rest.empty()) {
    const std::size_t line = rest.find('\n');
    const std::string_view digits = rest.substr(0, line);
    std::size_t bytes = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
    rest.remove_prefix(digits.size());
    if (read.ec != std::errc() || !rest.starts_with('\n') || read.ptr != rest.data() ||
        bytes >= rest.size() - 1 || rest[1 + bytes] != '\n')
      throw BadFile(shown_path(file) + ": frame " + std::to_string(inputs.size() + 1) +
                    " is not a line with a number of bytes, as many bytes and a newline");
    inputs.emplace(rest.substr(1, bytes));
    rest.remove_prefix(bytes + 2);
  }
  if (inputs.empty()) throw BadFile(shown_path(file) + ": no frame");
  return inputs;
}

void unpack(const std::string& file, const std::filesystem::path& folder) {
  const Inputs inputs = read_frames(file);
  std::filesystem::create_directories(folder);
  if (!std::filesystem::is_empty(folder)) throw BadFile(shown_path(folder) + ": is not empty");
  for (const std::string& input : inputs) write_whole_file(folder / name_of(input), input);
}

void pack(const std::string& file, const std::filesystem::path& folder) {
  Inputs inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    inputs.insert(read_text_file(entry.path()));
  std::string text;
  for (const std::string& input : inputs)
    text += std::to_string(input.size()) + '\n' + input + '\n';
  write_whole_file(file, text);
}

/// What is to be run: nothing if the words ask for --unpack or --pack, which are done here.
Inputs inputs_for(const std::vector<std::string>& words) {
  if (words.size() == 1) return read_frames(words[0]);
  if (words.size() == 3 && words[1] == "--unpack")
    unpack(words[0], words[2]);
  else if (words.size() == 3 && words[1] == "--pack")
    pack(words[0], words[2]);
  else
    throw BadFile("give FILE.frames, and no more or --unpack FOLDER or --pack FOLDER");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Inputs inputs;
  try {
    inputs = inputs_for({argv + 1, argv + argc});
  } catch (const std::runtime_error& refusal) {
    std::fprintf(stderr, "run_corpus: %s\n", refusal.what());
    return 2;
  }
  std::size_t number = 0;
  for (const std::string& input : inputs) {
    std::printf("input %zu of %zu, %s\n", ++number, inputs.size(), name_of(input).c_str());
    std::fflush(stdout);
    fuzz::run(input);
  }
  if (number > 0) std::printf("%zu inputs\n", number);
  return 0;
}
