#include "base/digest.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/bad_file.h"

namespace ropewalk {
namespace {

constexpr std::size_t room = std::size_t{1} << 24;

TEST(Digest, IsSha256) {
  // The examples of FIPS 180-4: a message of one block, and the empty message.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_base64(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
  EXPECT_NE(sha256_hex("abd"), sha256_hex("abc"));
}

TEST(Packed, ReadsBackBitForBit) {
  std::string text;
  for (std::int64_t i = 0; i < 700'000; ++i) text += static_cast<char>((i * 7919 / 13) & 0xff);
  for (const std::string& each : {std::string(), std::string("a"), std::string("ab\n"), text}) {
    const std::string inside = packed(each);
    EXPECT_EQ(inside.find_first_of("<>&\"'"), std::string::npos);
    EXPECT_EQ(unpacked(inside, room), each);
  }
}

TEST(Packed, RefusesWhatItDidNotMake) {
  const std::string good = packed("some rows\nsome rows\n");
  for (const std::string& bad :
       {std::string(), std::string("AAAA"), std::string("?"), good.substr(4), good.substr(0, 8),
        good + "AAAA", good.substr(0, good.size() - 1)})
    EXPECT_THROW(unpacked(bad, room), BadFile) << bad;
  std::string edited = good;
  edited[edited.size() / 2] = edited[edited.size() / 2] == 'A' ? 'B' : 'A';
  EXPECT_THROW(EXPECT_NE(unpacked(edited, room), "some rows\nsome rows\n"), BadFile);
}

TEST(Packed, DoesNotGrowWithoutEnd) {
  const std::string bomb = packed(std::string(1 << 20, '0'));
  EXPECT_LT(bomb.size(), 10'000u);
  EXPECT_THROW(unpacked(bomb, 1 << 19), BadFile);
  EXPECT_EQ(unpacked(bomb, 1 << 20).size(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace ropewalk
