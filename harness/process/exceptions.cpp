#include "harness/process/exceptions.h"

#include <fmt/format.h>

#include <vector>

#include "harness/protocol.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {
namespace {

struct ExceptionWord {
  std::uint32_t exceptions;
  std::string_view word;
};
constexpr ExceptionWord shown[] = {{ROPE_ALLOCATES, "allocates"},
                                   {ROPE_USES_THREADS, "uses threads"},
                                   {ROPE_KEEPS_THREADS, "keeps threads"},
                                   {ROPE_PRINTS, "prints"},
                                   {protocol::leaves_changed, "leaves the process changed"},
                                   {protocol::at_strides, "raises at strides"}};
constexpr ExceptionWord tolerances[] = {{ROPE_ALLOCATES, "allocates"},
                                        {ROPE_USES_THREADS | ROPE_KEEPS_THREADS, "threads"},
                                        {ROPE_PRINTS, "prints"}};

template <std::size_t N>
std::vector<std::string> words_of(const ExceptionWord (&words)[N], std::uint32_t exceptions) {
  std::vector<std::string> out;
  for (const ExceptionWord& w : words)
    if ((exceptions & w.exceptions) != 0) out.emplace_back(w.word);
  return out;
}

}  // namespace

std::string exception_words(std::uint32_t exceptions, std::uint32_t reads_past) {
  std::vector<std::string> words = words_of(shown, exceptions);
  if (reads_past > 0) words.push_back(fmt::format("reads {} bytes past", reads_past));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::optional<std::uint32_t> tolerated_by(std::string_view words) {
  std::uint32_t all = 0;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    std::uint32_t found = 0;
    for (const ExceptionWord& w : tolerances)
      if (w.word == words.substr(begin, end - begin)) found = w.exceptions;
    if (found == 0) return {};
    all |= found;
    begin = end + 1;
  }
  return all;
}

std::string tolerance_words(std::uint32_t exceptions) {
  return fmt::format("{}", fmt::join(words_of(tolerances, exceptions), ","));
}

}  // namespace ropewalk::harness
