// SHA-256 of text: what a page's policy lets run, and which results a page was made from.
#pragma once
#include <string>
#include <string_view>

namespace ropewalk {

std::string sha256_hex(std::string_view text);     ///< 64 digits, as sha256sum prints them
std::string sha256_base64(std::string_view text);  ///< as a Content-Security-Policy wants it

/// Compressed (zlib) and in base64: text that may stand anywhere in a page.
std::string packed(std::string_view text);

/// The reverse. Throws BadFile in one line for anything that packed() did not make, and for
/// what would grow beyond `bytes_max`.
std::string unpacked(std::string_view text, std::size_t bytes_max);

}  // namespace ropewalk
