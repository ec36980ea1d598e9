// Fuzz targets: what a parser of foreign text promises, as a function of bytes that ends the
// process where the promise is broken. libFuzzer makes the bytes in the preset `fuzz`; in every
// preset the committed ones (corpus/) run as tests (run_corpus.cpp).
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ropewalk::fuzz {

/// Defined once by each target. An exception that leaves it is a finding as well.
void run(std::string_view text);

/// Ends the process with the words unless the claim holds.
inline void claim(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "claim broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// What a user is told: one line of printable ASCII, shorter than tools/ropewalk.cpp cuts it.
inline void claim_message(std::string_view message) {
  bool plain = true;
  for (const char c : message) plain = plain && c >= ' ' && c <= '~';
  claim(!message.empty() && plain && message.size() <= 1000,
        "a message is one line of printable ASCII of at most 1000 bytes");
}

/// The result, or nothing where the text is refused by a Refusal, whose message is looked at.
template <class Refusal, class Parse>
auto unless_refused(Parse&& parse) -> std::optional<decltype(parse())> {
  try {
    return parse();
  } catch (const Refusal& refusal) {
    claim_message(refusal.what());
    return std::nullopt;
  }
}

}  // namespace ropewalk::fuzz
