// Writes text and numbers for reports. Kernel names and messages come from strangers, so each
// format has its own escape here.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ropewalk {

/// Valid UTF-8 without control characters (newline and tab stay) and without characters that are
/// invisible or turn the direction of writing. Each of these becomes U+FFFD.
std::string clean_text(std::string_view text);

/// The same on one line: newlines and tabs become spaces.
std::string clean_line(std::string_view text);

/// A Markdown code span, which is not interpreted: no link, no mention, no HTML, no new cell.
std::string markdown_code(std::string_view text);

/// A fenced block that its content cannot end.
std::string markdown_block(std::string_view text);

/// One CSV cell on one line, quoted if needed (RFC 4180). Text that a spreadsheet would run as a
/// formula gets an apostrophe in front.
std::string csv_text(std::string_view text);

/// A JSON string with its quotes, on one line.
std::string json_text(std::string_view text);

/// Text for XML 1.0 content and for attributes in double quotes.
std::string xml_text(std::string_view text);

/// Writes three digits or the whole integer part: 0.942, 92.4, 612, 10,480.
std::string number_text(double value);
/// Writes error / bound with two or three digits. Values beside 1 get more digits. "inf" and "nan"
/// are words.
std::string margin_text(double margin);
std::string ratio_text(double ratio);        ///< 0.652, 12.4
std::string percent_text(double percent);    ///< 0.52 %, 9.3 %, 74 %, more than 1,000 %
std::string count_text(std::int64_t count);  ///< 1,234,567
std::string bytes_text(std::int64_t bytes);  ///< 20.5 kB, 172 MB: powers of 1000
std::string seconds_text(double seconds);

}  // namespace ropewalk
