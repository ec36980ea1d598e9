// Fuzz targets: what a parser of foreign text promises, as a function of bytes. The function ends
// the process if the promise is broken. In the preset `fuzz`, libFuzzer makes the bytes. In every
// preset the committed ones (corpus/) run as tests (run_corpus.cpp).
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace ropewalk::fuzz {

/// Each target defines this once. An exception that leaves it is a finding too.
void run(std::string_view text);

/// The function by which libFuzzer calls a target.
extern "C" [[gnu::used]] inline int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                                           std::size_t size) {
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}

/// Ends the process with these words unless the claim holds.
inline void claim(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "claim broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// Checks a message for users: one line of printable ASCII that tools/ropewalk.cpp does not cut.
inline void claim_message(std::string_view message) {
  bool plain = true;
  for (const char c : message) plain = plain && c >= ' ' && c <= '~';
  claim(!message.empty() && plain && message.size() <= 1000,
        "a message is one line of printable ASCII of at most 1000 bytes");
}

/// The result, or nothing if the text is refused by a Refusal. The Refusal's message is checked.
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
