// The lines of a results file that are whole.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace ropewalk::report {

/// Every row begins so; a file whose unfinished last line does not is not ours to repair.
inline constexpr std::string_view record_line_start = R"({"schema":)";

/// Calls visit(line, number) for each line that ends in a newline, numbered from 1; what follows
/// the last newline is dropped. Returns how many lines there were. Throws BadFile when the file
/// cannot be read or a line is longer than 16 MiB.
std::int64_t for_each_whole_line(
    const std::filesystem::path& file,
    const std::function<void(std::string_view line, std::int64_t number)>& visit);

/// Whether a run has begun in the file: false where it is not there, or a kill left no whole line.
/// Throws BadFile as above.
bool has_whole_line(const std::filesystem::path& file);

/// The JSON parser is iterative, but nothing that deep is a row.
bool nests_too_deep(std::string_view line);

}  // namespace ropewalk::report
