#include "benchmarks/engine/recheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "benchmarks/engine/rounds.h"
#include "benchmarks/workloads/workload_layout.h"
#include "harness/judge/judge.h"

namespace ropewalk::bench {
using namespace harness;
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 20;  // above: some tokens are judged
constexpr std::int64_t most_tokens = 64;

// Each of several calls in place adds this many bounds of one call (docs/decisions/0036).
constexpr double a_call_of_many = 1.5;

// A longer element is no result of rotations: inputs begin within [-1, 1), and a rotation keeps the
// length of a pair.
constexpr double longest_input = 0x1p64;

/// The tokens of the whole batch that are judged.
std::vector<std::int64_t> chosen_tokens(const Workload& w, const WorkloadData& data,
                                        std::uint64_t seed) {
  const std::int64_t tokens = w.batch * w.tokens;
  std::vector<std::int64_t> all(static_cast<std::size_t>(tokens));
  std::iota(all.begin(), all.end(), 0);
  std::int64_t row = 0;
  for (const TensorCase& t : w.tensors) row += t.heads * t.head_dim;
  if (tokens <= most_tokens || tokens * row <= most_elements) return all;
  std::vector<std::int64_t> chosen{data.last_change().token};
  const std::vector<std::int32_t> positions = data.positions();
  const std::int64_t quarter = most_tokens / 4;
  for (std::int64_t i = 0; i < quarter; ++i) {
    chosen.push_back(i);
    chosen.push_back(tokens - 1 - i);
    chosen.push_back(
        static_cast<std::int64_t>(next_random(seed) % static_cast<std::uint64_t>(tokens)));
  }
  std::partial_sort(
      all.begin(), all.begin() + quarter, all.end(), [&](std::int64_t a, std::int64_t b) {
        return positions[static_cast<std::size_t>(a)] > positions[static_cast<std::size_t>(b)];
      });
  chosen.insert(chosen.end(), all.begin(), all.begin() + quarter);
  return chosen;
}

/// The rotations of a token by all calls that turn it, one a pair.
std::vector<Rotation> token_rotations(const Case& c, const WorkloadData& data,
                                      const Expected& expected, const std::vector<double>& inv_freq,
                                      Oracle& oracle, std::int64_t token) {
  const auto half = std::ssize(inv_freq);
  std::vector<Rotation> out(inv_freq.size(), Rotation{1.0, 0.0});
  const auto turn = [&](std::int64_t i, std::int64_t position) -> Rotation {
    const auto cell = [&](const std::byte* table) {
      return load(table, table_dtype(c), position * half + i);
    };
    if (c.contract == ROPE_CONTRACT_TABLE) return {cell(data.cos()), cell(data.sin())};
    return own_rotation(c.contract, oracle, inv_freq[static_cast<std::size_t>(i)], position);
  };
  for (const std::vector<std::int32_t>& positions : expected.turned_by)
    for (std::int64_t i = 0; i < half; ++i) {
      Rotation& r = out[static_cast<std::size_t>(i)];
      r = rotate(r, turn(i, positions[static_cast<std::size_t>(token)]));
    }
  return out;
}

/// Whether a window can be the input of a call. In place, earlier calls left the input. A broken
/// kernel may have left zeros alone, NaN, or values too large for rotated ones.
bool is_input(const std::byte* window, const Case& c) {
  bool any = false;
  for (std::int64_t i = 0; i < c.rotary_dim; ++i) {
    const double length = std::abs(load(window, c.dtype, i));
    if (!(length <= longest_input)) return false;
    any = any || length > 0;
  }
  return any;
}

/// The lengths of all judged windows of a tensor, given and left.
struct Lengths {
  double given_square = 0, left_square = 0;
  std::int64_t pairs = 0;
  /// `but`: an element of a pair to leave out, if any.
  void add(const std::byte* in, const std::byte* out, const Case& c, std::int64_t but) {
    const std::int64_t half = c.rotary_dim / 2;
    const auto pair_of = [&](std::int64_t i) {
      return c.pairing == Pairing::interleaved ? i / 2 : i % half;
    };
    for (std::int64_t i = 0; i < c.rotary_dim; ++i) {
      if (but >= 0 && pair_of(i) == pair_of(but)) continue;
      const double x = load(in, c.dtype, i), y = load(out, c.dtype, i);
      given_square += x * x;
      left_square += y * y;
    }
    pairs += half;
  }
  /// Few pairs tell nothing: chance moves their length. All forward, each call multiplies it by
  /// that of a rounded table row as well (docs/decisions/0036).
  bool differ(std::uint64_t calls) const {
    constexpr std::int64_t fewest_pairs = 64;
    const double most = 0.01 + static_cast<double>(calls) * 0x1p-24;
    return pairs >= fewest_pairs && !(std::abs(std::sqrt(left_square / given_square) - 1) <= most);
  }
};

}  // namespace

std::string recheck(const rope_kernel& kernel, const Workload& w, const WorkloadData& data,
                    const Expected& expected, Oracle& oracle, std::uint64_t seed) {
  KernelFacts facts;
  facts.flags = kernel.flags;
  facts.error_bound = kernel.error_bound;
  Case c;
  c.contract = facts.angle_contract = kernel.angle_contract;
  c.operation = w.operation;
  c.pairing = w.pairing;
  c.dtype = w.dtype;
  c.table_dtype = w.table_dtype;
  c.rotary_dim = w.rotary_dim;
  c.attention_scale = w.attention_scale;
  // Computed again, since the kernel could write to its own copy.
  const auto inv_freq = inv_freq_of(w, c.contract == ROPE_CONTRACT_F32_ANGLE);
  const double times =
      expected.calls == 1 ? 1 : a_call_of_many * static_cast<double>(expected.calls);
  const HeadRule rule(facts, c, times);
  const std::int64_t bytes = element_bytes(w);
  const std::function<std::string(std::int64_t)> where = [](std::int64_t pair) {
    return fmt::format("pair {} is not rotated", pair);
  };
  Tally tally;
  Lengths lengths[2];  // of Q and K, after many calls of 16-bit data
  const auto fault = [&](std::size_t tensor, std::int64_t token, std::int64_t head,
                         const std::vector<Rotation>& rotations) -> std::string {
    const std::int64_t at = data.row(tensor, token, head) * bytes;
    const std::byte *const in = data.input(tensor) + at, *const out = data.output(tensor) + at;
    const TensorCase& t = w.tensors[tensor];
    const std::int64_t window = t.rotary_offset * bytes, after = window + w.rotary_dim * bytes;
    const auto same = [&](std::int64_t from, std::int64_t to) {
      return std::memcmp(in + from, out + from, static_cast<std::size_t>(to - from)) == 0;
    };
    if (!same(0, window) || !same(after, t.head_dim * bytes))
      return "an element outside the window changed";
    if (!is_input(in + window, c)) return "earlier calls left an input that no rotation gives";
    if (expected.drifted && kernel.error_bound != 0) return {};  // it may grow with each call
    if (expected.drifted) {
      const auto& changed = data.last_change();
      const bool is_here =
          changed.tensor == tensor && changed.token == token && changed.head == head;
      lengths[tensor].add(in + window, out + window, c,
                          is_here ? changed.element - t.rotary_offset : -1);
      return is_input(out + window, c) ? "" : "calls left what no rotation gives";
    }
    compare_head(rule, {w.pairing, in + window, out + window, where}, rotations, tally);
    return tally.finding().margin <= 1 ? "" : tally.finding().where;
  };
  const std::vector<std::int32_t> positions = data.positions();
  for (const std::int64_t token : chosen_tokens(w, data, seed)) {
    const auto rotations = token_rotations(c, data, expected, inv_freq, oracle, token);
    for (const std::size_t tensor : {std::size_t{0}, std::size_t{1}})
      for (std::int64_t head = 0; head < w.tensors[tensor].heads; ++head)
        if (const std::string wrong = fault(tensor, token, head, rotations); !wrong.empty())
          return fmt::format("{}, {}, token {}, head {}, position {}", wrong,
                             tensor == 0 ? "q" : "k", token, head,
                             positions[static_cast<std::size_t>(token)]);
  }
  for (const std::size_t tensor : {std::size_t{0}, std::size_t{1}})
    if (lengths[tensor].differ(expected.calls))
      return fmt::format("the length of {} is another", tensor == 0 ? "q" : "k");
  return {};
}

}  // namespace ropewalk::bench
