#include "benchmarks/cells/recheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/random.h"
#include "benchmarks/workloads/workload_layout.h"
#include "harness/cases/axes.h"
#include "harness/judge/judge.h"

namespace ropewalk::bench {
using namespace harness;
namespace {

// Above, some heads of some tokens are judged. A kernel that leaves one head in a hundred of every
// token out passes with a chance of 0.99^1024, 4e-5.
constexpr std::int64_t most_heads = 1024;
constexpr std::int64_t most_lengths = 1 << 14;  // of heads whose length alone is judged
constexpr std::int64_t most_tokens = 64;

std::int64_t heads_of(const Workload& w) {
  std::int64_t heads = 0;
  for (const TensorCase& t : w.tensors) heads += t.heads;
  return heads;
}

constexpr double a_call_of_many = 1.5;  // bounds of one call, for each of several in place

// A longer element is no result of rotations: inputs begin within [-1, 1), and a rotation keeps the
// length of a pair.
constexpr double longest_input = 0x1p64;

/// The tokens of the whole batch that are judged: all, if they have no more than so many heads.
std::vector<std::int64_t> chosen_tokens(const Workload& w, const WorkloadMemory& data,
                                        std::int64_t heads, std::uint64_t seed) {
  const std::int64_t tokens = w.batch * w.tokens;
  std::vector<std::int64_t> all(static_cast<std::size_t>(tokens));
  std::iota(all.begin(), all.end(), 0);
  if (tokens <= most_tokens || tokens * heads_of(w) <= heads) return all;
  const WorkloadMemory::Changed& changed = data.changes().front();
  std::vector<std::int64_t> chosen{changed.b * w.tokens + changed.t};
  const std::vector<std::int32_t> positions = data.last_positions();
  const std::int64_t quarter = most_tokens / 4;
  for (std::int64_t i = 0; i < quarter; ++i) {
    chosen.push_back(i);
    chosen.push_back(tokens - 1 - i);
    chosen.push_back(random_below(tokens, seed));
  }
  std::partial_sort(
      all.begin(), all.begin() + quarter, all.end(), [&](std::int64_t a, std::int64_t b) {
        return positions[static_cast<std::size_t>(a)] > positions[static_cast<std::size_t>(b)];
      });
  chosen.insert(chosen.end(), all.begin(), all.begin() + quarter);
  return chosen;
}

/// The rotations of a token by all calls that turn it, one a pair.
std::vector<Rotation> token_rotations(const Case& c, const WorkloadMemory& data, const Turns& turns,
                                      const std::vector<double>& inv_freq, Oracle& oracle,
                                      std::int64_t token) {
  const auto half = std::ssize(inv_freq);
  std::vector<Rotation> out(inv_freq.size(), Rotation{1.0, 0.0});
  const auto turn = [&](std::int64_t i, std::int64_t position) -> Rotation {
    const auto cell = [&](const std::byte* table) {
      return load(table, table_dtype(c), position * half + i);
    };
    if (c.contract == ROPE_CONTRACT_TABLE) return {cell(data.cos()), cell(data.sin())};
    return own_rotation(c.contract, oracle, inv_freq[static_cast<std::size_t>(i)], position);
  };
  for (const std::vector<std::int32_t>& positions : turns.by)
    for (std::int64_t i = 0; i < half; ++i) {
      Rotation& r = out[static_cast<std::size_t>(i)];
      const std::size_t plane = axis_of(c.axis_of_pair, i) * positions.size() / std::size_t(c.axes);
      r = rotate(r, turn(i, positions[plane + static_cast<std::size_t>(token)]));
    }
  return out;
}

/// Whether a window can be what calls leave. A broken kernel may have left zeros alone, NaN, or
/// values too large for rotated ones.
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
  /// Few pairs tell nothing: chance moves their length. All forward, each call multiplies it by the
  /// length of a rounded rotation as well (docs/decisions/0036).
  bool differ(std::uint64_t calls) const {
    constexpr std::int64_t fewest_pairs = 2048;
    const double most = 0.01 + static_cast<double>(calls) * 0x1p-22;
    return pairs >= fewest_pairs && !(std::abs(std::sqrt(left_square / given_square) - 1) <= most);
  }
};

/// The facts by which outputs are judged, and the rule of each tensor after some calls.
class HeadJudge {
 public:
  HeadJudge(const rope_kernel& kernel, const Workload& w, const WorkloadMemory& data,
            Oracle& oracle)
      : w_(w), data_(data), oracle_(oracle), case_(w) {
    facts_.flags = kernel.flags;
    facts_.error_bound = kernel.error_bound;
    case_.contract = facts_.angle_contract = kernel.angle_contract;
    // Computed again, since the kernel could write to its own copy.
    inv_freq_ = inv_freq_of(w, case_.contract == ROPE_CONTRACT_F32_ANGLE);
  }

  bool declares_error() const { return facts_.error_bound != 0; }
  std::vector<Rotation> rotations(const Turns& turns, std::int64_t token) const {
    return token_rotations(case_, data_, turns, inv_freq_, oracle_, token);
  }
  /// What is wrong with a head that the turns left.
  std::string fault(const HeadPlace& at, const std::byte* in, const std::byte* out,
                    const Turns& turns, const std::vector<Rotation>& rotations) const {
    Case c = case_;
    if (is_in_place(w_) && turns.calls % 2 == 0) c.attention_scale = 0;  // it is 1 or -1
    const double times = turns.calls == 1 ? 1 : a_call_of_many * static_cast<double>(turns.calls);
    const std::int64_t token = at.b * w_.tokens + at.t;
    const std::function<std::string(std::int64_t)> where = [&](std::int64_t pair) {
      const std::size_t plane = pair == whole_head ? 0 : axis_of(w_.axis_of_pair, pair);
      const std::vector<std::int32_t> positions = data_.last_positions();
      return head_text(w_, at, pair,
                       positions[plane * positions.size() / static_cast<std::size_t>(w_.axes) +
                                 static_cast<std::size_t>(token)]);
    };
    Tally tally(1);  // only a fault is described
    HeadRule rule(facts_, c, times, at.tensor);
    rule.stored_before = a_call_of_many * static_cast<double>(turns.calls - 1);
    compare_head(rule, {data_.given_head(at.tensor, in), out, where}, rotations, tally);
    const Finding& found = tally.finding();
    return found.margin <= 1 ? "" : found.reason + ": " + found.where;
  }

 private:
  const Workload& w_;
  const WorkloadMemory& data_;
  Oracle& oracle_;
  KernelFacts facts_;
  Case case_;
  std::vector<double> inv_freq_;
};

}  // namespace

Turns turns_of(const Workload& w, bool alternates, std::uint64_t calls,
               const PositionsBefore& positions) {
  Turns turns;
  turns.calls = is_in_place(w) ? calls : 1;
  const std::uint64_t turning = !is_in_place(w) ? 1 : alternates ? calls % 2 : calls;
  for (std::uint64_t i = 0; i < turning; ++i)
    turns.by.push_back(positions(static_cast<std::int64_t>(i)));
  return turns;
}

Expected expected_after(const Workload& w, bool alternates, std::uint64_t calls,
                        const PositionsBefore& positions) {
  if (drifts(w, alternates) && calls > static_cast<std::uint64_t>(few_calls))
    return {Expected::Rows::by_length, {{}, calls}, {}};
  return {Expected::Rows::exactly, turns_of(w, alternates, calls, positions), {}};
}

std::string recheck(const rope_kernel& kernel, const Workload& w, const WorkloadMemory& data,
                    const Expected& expected, Oracle& oracle, std::uint64_t seed) {
  using Rows = Expected::Rows;
  const HeadJudge judge(kernel, w, data, oracle);
  const WorkloadMemory::Changed& changed = data.changes().front();
  const std::int64_t bytes = element_bytes(w);
  std::vector<Lengths> lengths(w.tensors.size());
  const auto fault = [&](const HeadPlace& at,
                         const std::vector<Rotation>& rotations) -> std::string {
    const std::byte *const in = data.given(at), *const out = data.left(at);
    const TensorCase& t = w.tensors[at.tensor];
    if (t.norm) return judge.fault(at, in, out, expected.all, rotations);
    const std::int64_t window = t.rotary_offset * bytes,
                       after = t.rotate ? window + w.rotary_dim * bytes : 0;
    const auto same = [&](std::int64_t from, std::int64_t to) {
      return std::memcmp(in + from, out + from, static_cast<std::size_t>(to - from)) == 0;
    };
    const auto wrong = [&](const char* what) {
      return fmt::format("{}: {}", what, place_text(at.tensor, at.b, at.t, at.h));
    };
    if (!same(0, window) || !same(after, t.head_dim * bytes))
      return wrong(t.rotate ? "an element outside the window changed"
                            : "a row that is not rotated is not a copy of its input");
    if (!t.rotate) return {};
    const bool is_changed = expected.since && at == changed;
    if (expected.rows == Rows::exactly)
      return is_changed ? "" : judge.fault(at, in, out, expected.all, rotations);
    if (judge.declares_error()) return {};  // it may grow with each call
    lengths[at.tensor].add(in + window, out + window, w,
                           is_changed ? changed.element - t.rotary_offset : -1);
    return is_input(out + window, w) ? "" : wrong("calls left what no rotation gives");
  };
  const std::int64_t most = expected.rows == Rows::exactly ? most_heads : most_lengths;
  std::vector<std::int64_t> tokens;
  if (expected.rows != Rows::not_at_all) tokens = chosen_tokens(w, data, most, seed);
  const std::int64_t heads = std::ssize(tokens) * heads_of(w);
  for (const std::int64_t token : tokens) {
    const auto rotations = judge.rotations(expected.all, token);
    for (std::size_t tensor = 0; tensor < w.tensors.size(); ++tensor)
      for (std::int64_t head = 0; head < w.tensors[tensor].heads; ++head)
        if (const HeadPlace at = data.place(tensor, token, head);
            random_below(heads, seed) < most ||
            std::ranges::find(data.changes(), at) != data.changes().end())
          if (std::string wrong = fault(at, rotations); !wrong.empty()) return wrong;
  }
  for (std::size_t tensor = 0; tensor < lengths.size(); ++tensor)
    if (lengths[tensor].differ(expected.all.calls))
      return fmt::format("the length of {} is another", tensor_words[tensor]);
  if (!expected.since) return {};
  return judge.fault(changed, data.witness(), data.left(changed), *expected.since,
                     judge.rotations(*expected.since, changed.b * w.tokens + changed.t));
}

}  // namespace ropewalk::bench
