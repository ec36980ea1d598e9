// The exceptions of rope_kernel.h in words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ropewalk::harness {

inline constexpr std::uint32_t most_read_past = 64;  ///< bytes, of rope_kernel.reads_past

/// "allocates, keeps threads, reads 32 bytes past"; empty: no exception. Of broken
/// rules (protocol::Conduct), their identifier.
std::string exception_words(std::uint32_t exceptions, std::uint32_t reads_past);

/// What --tolerate may say: allocates, threads, prints, joined by commas. Empty: it says something
/// else.
std::optional<std::uint32_t> tolerated_by(std::string_view words);

/// The reverse, for the command line of a worker.
std::string tolerance_words(std::uint32_t exceptions);

}  // namespace ropewalk::harness
