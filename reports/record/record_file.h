// Reads the whole lines of a results file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace ropewalk::report {

/// Every row begins with these bytes. If the unfinished last line begins otherwise, the file is
/// foreign and is not repaired.
inline constexpr std::string_view record_line_start = R"({"schema":)";

/// Calls visit(line, number) for each line that ends in a newline. Numbers start at 1. Bytes after
/// the last newline are dropped. Returns the number of lines. Throws BadFile if the file cannot be
/// read or a line is longer than 16 MiB.
std::int64_t for_each_whole_line(
    const std::filesystem::path& file,
    const std::function<void(std::string_view line, std::int64_t number)>& visit);

/// True if a run has begun in the file. False if the file does not exist or a kill left no whole
/// line. Throws BadFile as above.
bool has_whole_line(const std::filesystem::path& file);

}  // namespace ropewalk::report
