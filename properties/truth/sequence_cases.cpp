// The sequences that a run makes: those that every run makes, and drawn ones.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "harness/cases/data.h"
#include "harness/cases/layouts.h"
#include "properties/fixed_cases.h"
#include "properties/truth/sequences.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::size_t usual_calls = 16;

// Adds a call like the one before, with new contents one position on.
Case& add_call(Case& c) {
  Case next = c.calls.empty() ? c : c.calls.back();
  next.calls.clear();
  ++next.seed;
  ++next.position_from;
  return c.calls.emplace_back(std::move(next));
}

// A step is the words of call k (harness::patched), or changes the call where lists are computed.
template <class Step>
Case sequence(Case c, std::size_t count, Step&& step) {
  const auto change = [&](Case& call, std::size_t k) {
    if constexpr (std::is_invocable_v<Step, std::size_t>)
      call = patched(call, step(k));
    else
      step(call, k);
  };
  change(c, 0);
  for (std::size_t k = 1; k < count; ++k) change(add_call(c), k);
  return c;
}

Case at_positions(const Case& c, const std::vector<std::int64_t>& positions) {
  return sequence(c, positions.size(),
                  [&](std::size_t k) { return fmt::format("position_from={}", positions[k]); });
}

// Beyond what tables and caches usually hold at first: 8,192, and 32,768 as 16 bits begin anew.
void add_decode_loops(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  const auto plain = [](std::size_t) { return ""; };
  cases.push_back(sequence(c, 300, plain));  // past 8 bits, and into other blocks of a cache
  cases.push_back(sequence(widened(c, offer), 20, plain));
  if (offer.takes(Factor::operation)) {
    Case back = c;
    turn_back(back);
    cases.push_back(sequence(back, 24, plain));
  }
  cases.push_back(at_positions(c, {3, 4, 5, 6, 7, 8, 9001, 9002, 4, 40000, 40001, 3, 4, 5, 6, 7}));
  cases.push_back(
      at_positions(c, {40001, 40000, 9001, 9002, 3, 4, 5, 6, 7, 40001, 2, 3, 4, 5, 6, 7}));
  cases.push_back(
      at_positions(c, {17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 18, 17, 17, 17, 17, 17}));
  // Jumps of a state that has made 30 steps, 50 and 40.
  cases.push_back(sequence(c, 130, [](std::size_t k) {
    const std::int64_t from = k < 30 ? 5 : k < 80 ? 3000 : k < 120 ? -70 : 9;
    return fmt::format("position_from={}", from + static_cast<std::int64_t>(k));
  }));
  // Neighbours that are equal in 8 or 16 bits, or in f32.
  cases.push_back(
      at_positions(c, {3, 259, 3, 65539, 65540, 4, 260, 4, 516, 3, 65539, 3, 32771, 3, 131, 3}));
  constexpr std::int64_t last = (std::int64_t{1} << 31) - 100, odd = (1 << 24) + 1;
  if (offer.takes_negative_positions())
    cases.push_back(
        at_positions(c, {1, -1, 2, last, last + 1, -last, -last - 1, 70000, -70000, odd - 1, odd,
                         odd + 1, -odd, 1 - odd, 40000000, 40000001, 5, -5}));
}

// True if an entry of a list stays from one call to the next. What changes is what a key made of
// some entries does not see.
bool stays(std::size_t call, std::int64_t entry, std::int64_t entries) {
  constexpr bool (*keys[])(std::int64_t, std::int64_t) = {
      [](auto i, auto) { return i < 2; },        [](auto i, auto) { return i < 8; },
      [](auto i, auto) { return i < 16; },       [](auto i, auto n) { return i == n - 1; },
      [](auto i, auto n) { return i >= n - 8; }, [](auto i, auto n) { return i != n / 2; },
      [](auto i, auto n) { return i != n - 1; }, [](auto i, auto) { return i % 2 == 0; },
      [](auto i, auto) { return i % 8 == 0; },   [](auto i, auto n) { return i < 2 || i >= n - 2; },
  };
  return keys[call % std::size(keys)](entry, entries);
}

// Lists of 40 positions, of tokens or of batch rows, each of which agrees with the one before in
// part.
void add_lists_that_agree(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  constexpr std::int64_t entries = 40;
  for (const bool by_row : {false, true}) {
    if (c.positions_null || !(by_row ? offer.takes(Factor::batch) : offer.takes(Factor::tokens)))
      continue;
    Case list = with(
        c, offer, fmt::format("batch={}; tokens={}", by_row ? entries : 1, by_row ? 1 : entries));
    list.position_rule = PositionRule::list;
    list.positions.resize(static_cast<std::size_t>(list.batch * list.tokens));
    cases.push_back(sequence(list, 30, [](Case& call, std::size_t k) {
      const auto n = std::ssize(call.positions);
      for (std::int64_t i = 0; i < n; ++i)
        if (k == 0 || !stays(k - 1, i, n))
          call.positions[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(hash(k, i) % 300);
    }));
  }
}

// Lists of positions: rows of a batch that step and begin anew, and chunks that continue, jump
// inside, or are scattered.
void add_lists(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  if (c.positions_null || (!offer.takes(Factor::batch) && !offer.takes(Factor::tokens))) return;
  Case list = c;
  list.position_rule = PositionRule::list;
  constexpr std::size_t many = 40;
  if (offer.takes(Factor::batch)) {
    list.batch = 3;
    cases.push_back(sequence(list, many, [](Case& call, std::size_t k) {
      const auto n = static_cast<std::int64_t>(k);
      call.positions = {5 + n, 900 + n - (k < 20 ? 0 : 890), 40 + n % 9};
      call.positions.resize(static_cast<std::size_t>(call.batch * call.tokens), 7);
    }));
  }
  if (!offer.takes(Factor::tokens)) return;
  list.batch = c.batch;
  list.tokens = 6;
  if (offer.any_size) list = resized(list, {6, 6});
  cases.push_back(sequence(list, many, [](Case& call, std::size_t k) {
    const auto from = static_cast<std::int64_t>(6 * k);
    call.positions.clear();
    for (std::int64_t t = 0; t < call.batch * call.tokens; ++t)
      call.positions.push_back(k % 4 < 2    ? from + t
                               : k % 4 == 2 ? from + t - (t % 6 < 3 ? 0 : from + 3)
                                            : static_cast<std::int64_t>(hash(k, t) % 300));
  }));
}

void add_contents(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  constexpr const char* data[] = {"data=zeros", "data=unit",  "data=small", "data=large",
                                  "data=zeros", "data=large", "data=unit",  "data=small"};
  cases.push_back(
      sequence(c, usual_calls, [&](std::size_t k) { return data[k % std::size(data)]; }));
  // Others at old addresses and positions, while outputs hold what the call before left.
  for (const Case& each : {c, with(c, offer, "tokens=3; heads=2")})
    cases.push_back(sequence(each, usual_calls, [](std::size_t k) {
      return fmt::format("position_from={} outputs_kept={:d}", 17 + k / 4, k > 0);
    }));
  if (c.contract != ROPE_CONTRACT_TABLE) return;
  // Tables that differ from the usual one in a single pair.
  for (const Case& each : {c, widened(c, offer)})
    cases.push_back(sequence(each, usual_calls, [pairs = each.rotary_dim / 2](std::size_t k) {
      const std::int64_t which[] = {pairs / 2,     0, pairs - 1, pairs / 4,
                                    3 * pairs / 4, 1, pairs - 2, pairs / 2 - 1};
      return fmt::format("position_from=17 table_apart={} table_apart_pair={}",
                         k % 2 == 0 ? 0 : 1000,
                         std::clamp<std::int64_t>(which[k / 2], 0, pairs - 1));
    }));
  constexpr int apart[] = {0, 0, 0, 5, 5, 9, 0, 3, 0, 6, 6, 2};
  cases.push_back(sequence(c, usual_calls, [&](std::size_t k) {
    const int by = apart[k % std::size(apart)];
    return fmt::format("position_from=17 table_apart={} table_apart_pair={}", by,
                       by % 2 == 0 ? -2 : -1);
  }));
}

// The buffers of all states begin at equal addresses.
template <class Differ>
Case of_states(const Case& c, const std::vector<std::int64_t>& states, Differ&& differ) {
  return sequence(c, states.size(), [&](Case& call, std::size_t k) {
    const std::int64_t at = call.position_from;
    const std::uint64_t seed = call.seed;
    call = c;
    call.position_from = at;
    call.seed = seed;
    call.state = states[k];
    call.moved = -1;
    differ(call, states[k]);
  });
}

// Prompts of `tokens`, each with its decode steps. Those after the first begin at `next`.
Case session(const Case& c, std::int64_t tokens, std::int64_t steps, std::int64_t next) {
  const auto calls = static_cast<std::size_t>(2 * steps + 4);
  return sequence(c, calls, [&](std::size_t k) {
    const std::int64_t at = static_cast<std::int64_t>(k) % (steps + 1);
    const std::int64_t from = static_cast<std::int64_t>(k) > steps ? next : 0;
    return at == 0 ? fmt::format("state=0 tokens={} position_from={} moved=-1", tokens, from)
                   : fmt::format("state=1 tokens={} position_from={} moved=-1", c.tokens,
                                 from + tokens + at - 1);
  });
}

void add_sizes(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  if (offer.takes(Factor::tokens)) {
    cases.push_back(session(c, 12, 7, 0));
    cases.push_back(session(c, 64, 33, 500));
    cases.push_back(session(c, 640, 90, 0));
  }
  const auto size = [&](Case& call, std::int64_t state) {
    constexpr std::int64_t tokens[] = {1, 3, 33, 9}, heads[] = {0, 1, 0, 4}, batch[] = {1, 1, 1, 2};
    call = with(call, offer, fmt::format("batch={}; tokens={}", batch[state], tokens[state]));
    for (TensorCase& t : call.tensors)
      if (offer.takes(Factor::heads)) t.heads += heads[state];
  };
  cases.push_back(of_states(c, {0, 0, 1, 1, 3, 3, 2, 2, 0, 1, 3, 2, 0, 1, 3, 2}, size));
  cases.push_back(of_states(c, {2, 2, 3, 3, 1, 1, 0, 0, 2, 3, 1, 0, 2, 0, 2, 0}, size));
  if (!offer.takes(Factor::tokens)) return;
  // Others at one place, all with one first token.
  Case prompt = with(c, offer, "tokens=5");
  prompt.data = DataPattern::prompt;
  cases.push_back(sequence(prompt, 8, [](std::size_t) { return "position_from=0"; }));
  if (!offer.takes(Factor::heads)) return;
  // Chunks of a prompt: calls that are worth more code.
  const Case chunk = with(c, offer, "tokens=64; heads=4");
  cases.push_back(
      sequence(chunk, 6, [](std::size_t k) { return fmt::format("position_from={}", 64 * k); }));
}

// More states than a pool may hold, of other frequencies. Then one that is released while its equal
// is alive, before a third is made.
void add_states(std::vector<Case>& cases, const Case& c) {
  const auto other_base = [](Case& call, std::int64_t state) {
    call.rope_theta = 100.0 * static_cast<double>(state + 1);
  };
  std::vector<std::int64_t> in_turn;
  for (std::int64_t k = 0; k < 40; ++k) in_turn.push_back(k % 20);
  cases.push_back(of_states(c, in_turn, other_base));
  cases.push_back(of_states(c, {0, 1, 0, 2, 1, 2}, [&](Case& call, std::int64_t state) {
    other_base(call, state == 2 ? 1 : 0);
  }));
}

// States that are all prepared before one of them is called. They are released in the same order,
// in the opposite one, and while others are called.
void add_states_together(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  const std::vector<std::int64_t> orders[] = {{0, 1, 2, 2, 0, 1, 0, 2, 1, 0, 1, 0, 1, 2},
                                              {0, 1, 2, 1, 2, 0, 2, 1, 0, 1, 2, 2, 1, 0},
                                              {2, 0, 1, 0, 1, 2, 1, 0, 2, 1, 2, 0, 2, 1}};
  for (const bool equal : {false, true})
    for (const std::vector<std::int64_t>& order : orders) {
      Case all = of_states(c, order, [&](Case& call, std::int64_t state) {
        if (equal) return;
        call.rope_theta = 100.0 * static_cast<double>(state + 1);
        call = with(
            call, offer,
            fmt::format("heads={}; scale={}", state + 1, 1 + 0.5 * static_cast<double>(state)));
      });
      all.apply = all.calls[0].apply = all.calls[1].apply = false;
      for (std::size_t last = 10; last < 13; ++last) all.calls[last].apply = equal;
      cases.push_back(all);
    }
}

// Weights that agree with those before in part. Slots that step by one, over a page, and then jump.
// States that are alive together and differ in epsilon, in 1 + w, or in the strides of their
// caches.
void add_fused(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  const auto together = [&](const Case& from, auto&& differ) {
    Case all = of_states(from, {0, 1, 2, 1, 0, 2, 2, 0, 1, 0, 2, 1}, differ);
    all.apply = all.calls[0].apply = all.calls[1].apply = false;
    cases.push_back(all);
  };
  if (offer.takes(Factor::norm)) {
    Case normed = c;
    give_norm(normed);
    together(normed, [](Case& call, std::int64_t state) {
      constexpr double epsilons[] = {1e-6, 1, 0.1};
      call.epsilon = epsilons[state];
    });
    together(normed, [](Case& call, std::int64_t state) { call.weight_plus_one = state == 1; });
    Case weighted = widened(c, offer);
    give_norm(weighted);
    cases.push_back(sequence(weighted, 24, [](Case& call, std::size_t k) {
      for (TensorCase& t : call.tensors) {
        t.weights.resize(static_cast<std::size_t>(t.norm && t.weight ? t.head_dim : 0));
        if (k % 8 == 7) std::ranges::reverse(t.weights);  // the sum stays
        for (std::int64_t d = 0; d < std::ssize(t.weights) && k % 8 < 7; ++d)
          if (k == 0 || !stays(k - 1, d, t.head_dim))
            t.weights[static_cast<std::size_t>(d)] = static_cast<double>(hash(k, d) % 31) / 8 - 1.5;
      }
    }));
  }
  if (!offer.takes(Factor::append) || c.batch * c.tokens != 1) return;
  Case cached = c;
  give_append(cached);
  cached.page_size = 16;
  cached.pages = 4;
  cases.push_back(sequence(
      cached, 24, [](std::size_t k) { return fmt::format("slots={}", k < 20 ? k : 60 - k); }));
  // A page ends and the next lies elsewhere; none has a slot; steps back; a jump inside a page.
  constexpr std::int64_t slots[] = {0,  1,  2,  3, 20, 21, 22, 23, 8, 9,  -1, 10, 9,
                                    10, 11, 16, 4, 5,  -1, 6,  7,  5, 12, 13, 15, 14};
  cached.page_size = 4;
  cached.pages = 8;
  cases.push_back(sequence(cached, std::size(slots),
                           [&](std::size_t k) { return fmt::format("slots={}", slots[k]); }));
  cached.slots = {6};
  together(with(cached, offer, "heads=2"), [](Case& call, std::int64_t state) {
    if (state == 0) call.page_size = 2;
    for (TensorCase& t : call.tensors) {
      const std::int64_t apart = 4 * state;
      t.cache.head = t.head_dim + (state == 2 ? apart : 0);
      t.cache.token = t.heads * t.cache.head + (state == 1 ? apart : 0);
      t.cache.batch = call.page_size * t.cache.token + 2 * apart;
    }
  });
}

void add_forms(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  const std::vector<std::int64_t> in_turn{0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1};
  if (offer.takes(Factor::operation))
    cases.push_back(of_states(c, in_turn, [](Case& call, std::int64_t state) {
      if (state == 1) turn_back(call);
    }));
  if (offer.takes_gaps() && offer.takes(Factor::tokens))
    cases.push_back(of_states(c, in_turn, [&](Case& call, std::int64_t state) {
      call.tokens = 3;
      for (TensorCase& t : call.tensors)
        if (state == 1) t.in = t.out = padded_strides(call, t, 5);
    }));
  cases.push_back(sequence(c, usual_calls, [](std::size_t k) {
    return k % 4 >= 2 ? "moved=-1" : "moved=0";  // two calls at each of two places
  }));
  // One buffer at a time, for two calls each.
  const Case two = with(c, offer, "tensors=2");
  constexpr std::size_t most_buffers = 8;
  cases.push_back(sequence(two, 4 * most_buffers, [](std::size_t k) {
    return fmt::format("moved={}", 1 << k / 2 % most_buffers);
  }));
}

// The drawn change of one call.
void change(Case& call, const Offer& offer, std::uint64_t bits) {
  constexpr DataPattern patterns[] = {DataPattern::zeros, DataPattern::small, DataPattern::large,
                                      DataPattern::unit};
  const bool table = call.contract == ROPE_CONTRACT_TABLE;
  const bool by_position = table && call.rows_by == ROPE_ROW_BY_POSITION;
  const auto drawn = static_cast<std::int64_t>(bits >> 8);
  switch (bits % 8) {
    case 0:
    case 1:
      call.data = patterns[drawn % 4];
      // 1,000 times the largest drawn scale is no number of f16
      if (call.data == DataPattern::large && !has_wide_range(call.dtype))
        call.data = DataPattern::unit;
      break;
    case 2:
      if (!table) break;
      call.table_apart = drawn % 7;
      call.table_apart_pair = drawn % 2 != 0   ? (drawn >> 3) % (call.rotary_dim / 2)
                              : drawn % 4 == 0 ? -2
                                               : -1;
      break;
    case 3:
      call.moved = drawn % 3 == 0 ? 0 : drawn % 3 == 1 ? -1 : drawn >> 2 & 0xff;
      break;
    case 4:  // near or far
      call.position_from = drawn % (by_position || drawn % 2 == 0 ? 2048 : 1 << 30);
      if (offer.takes_negative_positions() && drawn % 4 == 0)
        call.position_from = -call.position_from;
      if (call.position_rule == PositionRule::random)
        call.position_to = call.position_from + 1 + drawn % 100;
      break;
    default:
      break;  // one step on
  }
}

// Entries take the values of others, apart from those that stay.
void change_list(std::vector<std::int64_t>& positions, std::uint64_t bits) {
  const std::vector<std::int64_t> before = positions;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!stays(bits, static_cast<std::int64_t>(i), std::ssize(before)))
      positions[i] = before[hash(bits, i) % before.size()];
}

// The problem of a second state: backward, longer, or equal.
Case of_other_state(Case c, const Offer& offer, std::uint64_t bits) {
  c.state = 1;
  Case plain = c;
  lay_plainly(plain);
  if (offer.takes(Factor::operation) && bits % 3 == 0) turn_back(c);
  if (offer.takes(Factor::tokens) && bits % 3 == 1 && plain == c &&
      c.position_rule != PositionRule::list)
    c.tokens += 1 + static_cast<std::int64_t>(bits >> 8 & 7);
  return c;
}

}  // namespace

std::vector<Case> sequence_cases(const Offer& offer) {
  const Case c = with(offer.base, offer, "position_from=5; batch=1; tokens=1");
  std::vector<Case> cases;
  add_decode_loops(cases, c, offer);
  add_lists(cases, c, offer);
  add_lists_that_agree(cases, c, offer);
  add_contents(cases, c, offer);
  add_states(cases, c);
  add_states_together(cases, c, offer);
  add_sizes(cases, c, offer);
  add_fused(cases, c, offer);
  add_forms(cases, c, offer);
  return cases;
}

Case large_calls(const Offer& offer) {
  const Case prompt =
      with(widened(offer.base, offer), offer, "position_from=5; batch=1; tokens=272; heads=4");
  return sequence(prompt, most_calls, [](std::size_t) { return "position_from=5"; });
}

void draw_calls(Case& c, const Offer& offer) {
  keep_room_for_shift(c);  // positions count on, from any position
  c.position_step = 1;
  c.fresh = false;
  const std::uint64_t kind = hash(c.seed, 0x517) % 8, size = hash(c.seed, 0x517e);
  if (kind < 4) return make_first_of_process(c, offer);
  Case plain = c;
  lay_plainly(plain);
  const bool counts = c.position_rule == PositionRule::consecutive;
  if (kind == 4 && offer.takes(Factor::tokens) && plain == c && counts) {
    c = session(with(c, offer, "tokens=1"), 64 + static_cast<std::int64_t>(size % 937),
                32 + static_cast<std::int64_t>(size >> 10) % 69, c.position_from / 2);
    return;
  }
  const bool lists = kind == 5 && c.batch * c.tokens <= 64 && c.position_batch_stride != 0 &&
                     c.position_token_stride != 0 && c.position_axis_stride != 0;
  if (lists) c = listed_positions(c);
  Case last[] = {c, of_other_state(c, offer, hash(c.seed, 0x57a7e))};
  const std::uint64_t count = 8 + hash(c.seed, 0xca115) % 33;
  for (std::uint64_t k = 1; k < count; ++k) {
    const std::uint64_t bits = hash(c.seed, 0xca11, k);
    Case& call = last[bits % 4 == 0 ? 1 : 0];
    call.seed = c.seed + k;
    call.outputs_kept = size % 3 == 0;
    if (call.position_rule == PositionRule::consecutive) ++call.position_from;
    if (lists) change_list(call.positions, bits >> 40);
    change(call, offer, bits >> 8);
    c.calls.push_back(call);
  }
}

}  // namespace ropewalk::properties
