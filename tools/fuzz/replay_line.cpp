// A replay line is refused by BadCase or means a case. A case writes itself as a line with the same
// meaning. It is laid out in at most 2 GiB or refused.
#include <algorithm>
#include <vector>

#include "harness/cases/checked.h"
#include "harness/cases/problem.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {
using namespace harness;
namespace {

double elements(const Case& c, const TensorCase& t, const Strides& s, std::int64_t at) {
  const auto row = static_cast<double>(t.heads) * static_cast<double>(t.head_dim);
  const auto span = [](std::int64_t count, std::int64_t stride, double derived) {
    return static_cast<double>(count) *
           (stride == contiguous ? derived : static_cast<double>(stride));
  };
  return static_cast<double>(at) + span(c.batch, s.batch, static_cast<double>(c.tokens) * row) +
         span(c.tokens, s.token, row) + span(t.heads, s.head, static_cast<double>(t.head_dim));
}

// The approximate size of each buffer, from sizes that may not fit yet.
std::vector<double> sizes_of(const Case& c) {
  const auto number = [](std::int64_t v) { return static_cast<double>(v); };
  const double tokens = number(c.batch) * number(c.tokens), dim = number(c.rotary_dim);
  std::vector<double> sizes{tokens, dim, tokens * dim,
                            number(c.batch) * number(c.position_batch_stride),
                            number(c.tokens) * number(c.position_token_stride)};
  double rows = std::max({tokens, number(c.position_to), number(c.position_from),
                          number(c.position_from) + tokens * number(c.position_step)});
  for (const std::int64_t p : c.positions) rows = std::max(rows, number(p));
  rows += number(c.table_spare_rows);
  if (c.contract == ROPE_CONTRACT_TABLE)
    sizes.push_back(rows * std::max(dim, number(c.table_row_stride)));
  for (const TensorCase& t : c.tensors) {
    sizes.push_back(tokens * number(t.heads) * number(t.head_dim));
    sizes.push_back(elements(c, t, t.in, t.in_at));
    sizes.push_back(elements(c, t, t.out, t.out_at));
  }
  return sizes;
}

// Cases small enough to lay out thousands of times a second, or so large that they must be refused
// before memory is requested. Cases between them are right, but slow.
bool quick(const Case& c) {
  constexpr double small = 1 << 12, huge = 4.0 * largest_case_bytes;
  const auto sizes = sizes_of(c);
  if (!std::ranges::all_of(c.calls, quick)) return false;
  return std::ranges::all_of(sizes, [](double size) { return size <= small || size >= huge; });
}

void lay_out(const Case& c) {
  static Oracle oracle(std::size_t{1} << 24);
  const auto problem = unless_refused<BadCase>([&] { return make_problem(c, oracle); });
  if (!problem) return;
  std::int64_t bytes = 0;
  for (const Buffer& buffer : problem->buffers) bytes += std::ssize(buffer.content);
  claim(bytes <= largest_case_bytes, "a case is at most 2 GiB");
  claim(std::ssize(problem->positions) == c.batch * c.tokens, "a position for each token");
  claim(std::ssize(problem->inv_freq) == c.rotary_dim / 2, "a frequency for each pair");
}

}  // namespace

void run(std::string_view text) {
  const auto c = unless_refused<BadCase>([&] { return case_from_text(std::string(text)); });
  if (!c) return;
  const std::string line = to_text(*c);
  for (const char letter : line) claim(letter >= ' ' && letter <= '~', "a line is printable ASCII");
  const Case again = case_from_text(line);
  const bool has_nan = line.find("nan") != std::string::npos;  // a NaN equals nothing
  claim(to_text(again) == line && (has_nan || again == *c), "a line means the case it was made of");
  if (quick(*c)) lay_out(*c);
}

}  // namespace ropewalk::fuzz
