// SHA-256 of text. It tells which scripts a page's policy allows, and which results a page was made
// from.
#pragma once
#include <string>
#include <string_view>

namespace ropewalk {

std::string sha256_hex(std::string_view text);     ///< 64 digits, as sha256sum prints them
std::string sha256_base64(std::string_view text);  ///< the form of a Content-Security-Policy

/// Compresses text (zlib) and encodes it in base64, so it may stand anywhere in a page.
std::string packed(std::string_view text);

/// Decodes what packed() made. Throws BadFile in one line for any other text, and for a result of
/// more than `bytes_max` bytes.
std::string unpacked(std::string_view text, std::size_t bytes_max);

}  // namespace ropewalk
