// A corpus is one file of frames. A frame is a line with a number of bytes in decimal digits, then
// that many bytes of any kind, then a newline:
//   5
//   hello
// The frames stand in ascending order of their bytes, and no input stands twice. So a set of inputs
// has one file, and a new input is one new piece of its diff.
#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace ropewalk::fuzz {

using Inputs = std::set<std::string>;

std::string to_frames(const Inputs& inputs);

/// Throws BadFile in one line for every text but those that to_frames() makes. `file` is the name
/// for the message.
Inputs from_frames(std::string_view text, const std::string& file);

/// The inputs of a file of at most 1 MiB. Throws BadFile, also for a file without frames.
Inputs read_frames(const std::filesystem::path& file);

/// Writes each input to a file of its own, named name_of(), because libFuzzer reads folders.
/// Throws BadFile if the folder already holds something.
void unpack(const std::filesystem::path& file, const std::filesystem::path& folder);

/// Replaces the file by all inputs of a folder. Throws BadFile and leaves the file as it is if the
/// folder is empty, holds anything but files, or does not fit into 1 MiB.
void pack(const std::filesystem::path& file, const std::filesystem::path& folder);

/// The digits of its fingerprint.
std::string name_of(const std::string& input);

}  // namespace ropewalk::fuzz
