#include "tools/fuzz/frames.h"

#include <charconv>
#include <system_error>

#include "base/fingerprint.h"
#include "base/text_file.h"
#include "base/whole_file.h"

namespace ropewalk::fuzz {

std::string to_frames(const Inputs& inputs) {
  std::string text;
  for (const std::string& input : inputs)
    text += std::to_string(input.size()) + '\n' + input + '\n';
  return text;
}

Inputs from_frames(std::string_view text, const std::string& file) {
  Inputs inputs;
  const auto refuse = [&](const std::string& what) {
    throw BadFile(file + ": frame " + std::to_string(inputs.size() + 1) + ": " + what);
  };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view digits = text.substr(0, end);
    std::size_t bytes = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
    // A word that is no number, or a number that does not fit, leaves 0. to_string() writes no
    // sign, blank or leading zero, so these are refused too.
    if (end == text.npos || digits != std::to_string(bytes))
      refuse("'" + shown(digits, 20) + "' is not a line with a number of bytes");
    text.remove_prefix(end + 1);
    const std::string count = std::to_string(bytes) + " bytes";
    if (bytes >= text.size()) refuse("the file ends before " + count + " and a newline");
    if (text[bytes] != '\n') refuse("no newline after its " + count);
    std::string input(text.substr(0, bytes));
    text.remove_prefix(bytes + 1);
    if (!inputs.empty() && input <= *inputs.rbegin())
      refuse("not above the frame before it: make the file with --pack");
    inputs.insert(inputs.end(), std::move(input));
  }
  return inputs;
}

Inputs read_frames(const std::filesystem::path& file) {
  Inputs inputs = from_frames(read_text_file(file), shown_path(file));
  if (inputs.empty()) throw BadFile(shown_path(file) + ": no frame");
  return inputs;
}

void unpack(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const Inputs inputs = read_frames(file);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_empty(folder, error) || error)
    throw BadFile(shown_path(folder) + ": not an empty folder");
  for (const std::string& input : inputs) write_whole_file(folder / name_of(input), input);
}

void pack(const std::filesystem::path& file, const std::filesystem::path& folder) {
  std::error_code error;
  Inputs inputs;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    inputs.insert(read_text_file(entry->path()));
  if (error || inputs.empty()) throw BadFile(shown_path(folder) + ": not a folder with inputs");
  const std::string text = to_frames(inputs);
  if (text.size() > std::size_t{1} << 20)
    throw BadFile(shown_path(folder) + ": its inputs are larger than 1 MiB");
  write_whole_file(file, text);
}

std::string name_of(const std::string& input) {
  Fingerprint print;
  print.add(input);
  return print.digits();
}

}  // namespace ropewalk::fuzz
