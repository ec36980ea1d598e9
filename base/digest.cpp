// The only file that knows OpenSSL and zlib (docs/decisions/0021).
#include "base/digest.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/bad_file.h"

namespace ropewalk {
namespace {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view text) {
  Digest digest{};
  unsigned int size = 0;
  const bool done =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1;
  if (!done || size != digest.size())
    throw std::runtime_error("the OpenSSL library here has no SHA-256");
  return digest;
}

constexpr std::size_t block_bytes = 3 << 20;  // a multiple of 3, so only the end is padded

std::string base64(const unsigned char* data, std::size_t size) {
  std::string out;
  std::vector<unsigned char> block(block_bytes / 3 * 4 + 1);
  for (std::size_t at = 0; at < size; at += block_bytes) {
    const auto part = static_cast<int>(std::min(block_bytes, size - at));
    const int made = EVP_EncodeBlock(block.data(), data + at, part);
    out.append(reinterpret_cast<const char*>(block.data()), static_cast<std::size_t>(made));
  }
  return out;
}

[[noreturn]] void damaged() {
  throw BadFile("the results inside this page are damaged; make it again from its results.jsonl");
}

std::vector<unsigned char> from_base64(std::string_view text) {
  std::vector<unsigned char> out(text.size() / 4 * 3 + 3);
  const auto* in = reinterpret_cast<const unsigned char*>(text.data());
  if (text.empty() || text.size() % 4 != 0 || text.size() > std::numeric_limits<int>::max())
    damaged();
  const int made = EVP_DecodeBlock(out.data(), in, static_cast<int>(text.size()));
  if (made < 0) damaged();
  const auto padding = static_cast<std::size_t>(std::count(text.end() - 2, text.end(), '='));
  out.resize(static_cast<std::size_t>(made) - padding);
  return out;
}

}  // namespace

std::string sha256_hex(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : sha256(text)) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string sha256_base64(std::string_view text) {
  const Digest digest = sha256(text);
  return base64(digest.data(), digest.size());
}

std::string packed(std::string_view text) {
  // Level 1 compresses a results file nearly as much as level 9, in a fifth of the time.
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::vector<unsigned char> bytes(size);
  const auto* in = reinterpret_cast<const Bytef*>(text.data());
  if (compress2(bytes.data(), &size, in, static_cast<uLong>(text.size()), 1) != Z_OK)
    throw std::runtime_error("the results could not be compressed");
  return base64(bytes.data(), size);
}

std::string unpacked(std::string_view text, std::size_t bytes_max) {
  const std::vector<unsigned char> bytes = from_base64(text);
  std::string out;
  std::vector<char> block(std::size_t{1} << 18);
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) damaged();
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(block.data(), block.size() - stream.avail_out);
    if (out.size() > bytes_max) state = Z_MEM_ERROR;
  }
  const bool all_used = stream.avail_in == 0;
  inflateEnd(&stream);
  if (state != Z_STREAM_END || !all_used) damaged();
  return out;
}

}  // namespace ropewalk
