#include "base/printable.h"

namespace ropewalk {
namespace {

/// True for C0, DEL and C1 controls, line separators, and marks of writing direction.
bool steers(std::uint32_t c) {
  const auto within = [c](std::uint32_t low, std::uint32_t high) { return c >= low && c <= high; };
  return c < 0x20 || within(0x7F, 0x9F) || c == 0x061C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069);
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto value = static_cast<std::uint8_t>(c);
    out += {'\\', 'x', digits[value >> 4], digits[value & 15]};
  }
}

std::string escaped(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    const std::string_view bytes = text.substr(0, c.bytes == 0 ? 1 : c.bytes);
    const bool kept = keep_lines && (bytes == "\n" || bytes == "\t");
    if (!kept && bytes == "\n")
      out += "\\n";
    else if (!kept && (c.bytes == 0 || steers(c.value)))
      append_escaped(out, bytes);
    else
      out += bytes;
    text.remove_prefix(bytes.size());
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, false);
}

std::string printable_lines(std::string_view text) {
  return escaped(text, true);
}

std::string printable_start(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return printable(text);
  // A cut inside a character would leave bytes that are escaped.
  std::size_t end = bytes_max;
  while (end > 0 && bytes_max - end < 3 && (static_cast<std::uint8_t>(text[end]) & 0xC0) == 0x80)
    --end;
  return printable(text.substr(0, end)) + "...";
}

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  std::uint32_t value = first & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < smallest[bytes] || value > 0x10FFFF || surrogate) return {};
  return {value, bytes};
}

}  // namespace ropewalk
