#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/printable.h"

namespace ropewalk {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_harmful(std::uint32_t c) {
  const auto within = [c](std::uint32_t low, std::uint32_t high) { return c >= low && c <= high; };
  if (c == '\n' || c == '\t') return false;
  return c < 0x20 || within(0x7F, 0x9F) || c == 0x061C || within(0x200B, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2060, 0x206F) || c == 0xFEFF || c >= 0xE0000 ||
         (c & 0xFFFE) == 0xFFFE;
}

std::size_t longest_run(std::string_view text, char c) {
  std::size_t longest = 0, run = 0;
  for (const char each : text) {
    run = each == c ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

/// A code span cannot hold a pipe inside a table. So this writes HTML with each special character
/// as a number.
std::string html_code(std::string_view line) {
  std::string out = "<code>";
  for (const char c : line) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == ' ' || static_cast<unsigned char>(c) >= 0x80;
    out += plain ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
  }
  return out + "</code>";
}

/// A spreadsheet may skip blanks, quotes and unknown characters before a formula. It also reads the
/// wide forms of = + - @ as the narrow ones.
bool begins_a_formula(std::string_view line) {
  while (!line.empty()) {
    const CodePoint point = first_code_point(line);
    const std::uint32_t c = point.value;
    const std::uint32_t narrow = c >= 0xFF01 && c <= 0xFF5E ? c - 0xFEE0 : c;
    if (narrow < 0x80 && narrow != ' ' && narrow != '"')
      return std::string_view("=+-@'|%").find(static_cast<char>(narrow)) != std::string_view::npos;
    line.remove_prefix(std::max<std::size_t>(point.bytes, 1));
  }
  return false;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::size_t bytes = std::max<std::size_t>(point.bytes, 1);
    if (point.bytes == 0 || is_harmful(point.value))
      out += replacement;
    else
      out += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return out;
}

std::string clean_line(std::string_view text) {
  std::string out = clean_text(text);
  std::ranges::replace_if(
      out, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return out;
}

std::string markdown_code(std::string_view text) {
  const std::string line = clean_line(text);
  if (line.find_first_not_of(' ') == std::string::npos) return "";
  if (line.find('|') != std::string::npos) return html_code(line);
  const std::string fence(longest_run(line, '`') + 1, '`');
  const bool padded = line.front() == '`' || line.back() == '`';
  const std::string pad = padded ? " " : "";
  return fence + pad + line + pad + fence;
}

std::string markdown_block(std::string_view text) {
  const std::string body = clean_text(text);
  const std::string fence(std::max<std::size_t>(longest_run(body, '`') + 1, 3), '`');
  return fence + "\n" + body + "\n" + fence;
}

std::string csv_text(std::string_view text) {
  std::string line = clean_line(text);
  if (begins_a_formula(line)) line.insert(0, 1, '\'');
  if (line.find_first_of("\",") == std::string::npos) return line;
  std::string out = "\"";
  for (const char c : line) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : clean_line(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string xml_text(std::string_view text) {
  constexpr std::string_view special = "&<>\"";
  constexpr const char* escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : clean_text(text))
    if (const std::size_t at = special.find(c); at == special.npos)
      out += c;
    else
      out += escaped[at];
  return out;
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::fabs(value);
  if (size >= 1e15) return fmt::format("{:.3g}", value);
  if (size >= 999.5) return count_text(std::llround(value));
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995 || size == 0) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string ratio_text(double ratio) {
  return ratio < 9.995 ? fmt::format("{:.3f}", ratio) : number_text(ratio);
}

std::string percent_text(double percent) {
  if (std::isnan(percent)) return "unknown";
  if (percent > 1000) return "more than 1,000 %";
  const int decimals = percent < 0.995 ? 2 : percent < 9.95 ? 1 : 0;
  return fmt::format("{:.{}f} %", percent, decimals);
}

std::string margin_text(double margin) {
  if (!std::isfinite(margin)) return fmt::format("{}", margin);
  const double size = std::fabs(margin);
  if (size == 0) return "0";
  if (size >= 999.5 || size < 0.001) {
    std::string text = fmt::format("{:.1e}", margin);  // 4.1e+03 -> 4.1e3
    const std::size_t e = text.find('e');
    const int exponent = std::stoi(text.substr(e + 1));
    return text.substr(0, e + 1) + std::to_string(exponent);
  }
  if (std::fabs(size - 1) < 0.05) return fmt::format("{:.4f}", margin);
  if (size >= 99.5) return fmt::format("{:.0f}", margin);
  if (size >= 9.95) return fmt::format("{:.1f}", margin);
  return size >= 0.0995 ? fmt::format("{:.2f}", margin) : fmt::format("{:.2g}", margin);
}

std::string count_text(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array units = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fmt::format("{} {}", number_text(value), units[unit]);
}

std::string seconds_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "an unknown time";
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  const std::int64_t whole = std::llround(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace ropewalk
