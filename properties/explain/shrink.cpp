// A greedy search in a fixed order. The result depends on the clock only if `most_time` does not
// suffice. A refusal is no failure, so the case stays inside what the kernel offers. A step to a
// case that the property cannot check (BadCase, Property::shape) is skipped.
#include "properties/explain/shrink.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <set>
#include <vector>

#include "harness/cases/fields.h"
#include "harness/cases/problem.h"
#include "properties/explain/check_case.h"
#include "properties/explain/shrink_steps.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

using Clock = std::chrono::steady_clock;
constexpr int most_tries = 1000, most_crashes = 200, most_hangs = 2;
constexpr std::chrono::milliseconds most_time{2000}, most_time_of_large{6000};
// A try of as many elements takes milliseconds. The search for as high a number is made once.
constexpr std::int64_t large = 1 << 17, high = 4096;

bool fails_like(const Finding& f, const Finding& first) {
  return f.kind == first.kind && fails(f);
}

// Of all calls.
std::int64_t elements(const Case& c) {
  std::int64_t later = 0;
  for (const Case& call : c.calls) later += elements(call);
  return c.batch * c.tokens * elements_of_token(c.tensors) + later;
}

bool rotates(const Case& c) {
  return std::ranges::any_of(c.tensors, [](const auto& t) { return t.rotate; });
}

// True if rows of two tensors share elements of their input, which then has the values of one.
bool inputs_overlap(const Case& c) {
  if (!c.fused) return false;
  const rope_problem p = without_positions(c);
  std::vector<std::array<std::int64_t, 2>> rows;  // where each begins, and of which tensor
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t t = 0; t < p.tokens; ++t)
        for (std::int64_t h = 0; h < p.tensor[i].heads; ++h)
          rows.push_back({c.tensors[i].in_at + in_index(p, i, b, t, h), i});
  std::ranges::sort(rows);
  std::int64_t ends[ROPE_MAX_TENSORS] = {};
  for (const auto& [begin, tensor] : rows) {
    for (std::int64_t other = 0; other < p.tensor_count; ++other)
      if (other != tensor && ends[other] > begin) return true;
    ends[tensor] = std::max(ends[tensor], begin + p.tensor[tensor].head_dim);
  }
  return false;
}

// Property::shape may undo what a step removed.
bool larger(const Case& a, const Case& b) {
  const std::int64_t size_a = elements(a), size_b = elements(b);
  return size_a != size_b ? size_a > size_b : largest_position(a) > largest_position(b);
}

// ---- the search

struct Search {
  Subject& subject;
  const Property& property;
  const Offer& offer;
  const Finding& first;
  bool fresh_each;  // each try in a fresh process
  Shrunk best = {};
  std::set<std::string> seen = {};
  std::set<std::int64_t> found = {};  // high numbers
  int tries = 0, hangs = 0;
  Clock::time_point start = Clock::now();
  std::chrono::milliseconds time = most_time;

  Shrunk run(const Case& failing) {
    best = {failing, first, false, failing, first.margin};
    if (elements(failing) >= large) time = most_time_of_large;
    for (bool changed = true; changed && !tired();) {
      const Case before = best.smallest;
      take_calls_out();
      for (const CaseSource source : step_sources())
        while (take_any(in_every_call(source, best.smallest))) {
        }
      make_sizes_small();
      make_strides_small();
      make_positions_small();
      take_any(in_every_call(with_listed_slots, best.smallest));
      while (take_any(with_fewer_words(best.smallest), true)) {
      }
      take_any(basis_vectors(best.smallest), true);
      changed = !(best.smallest == before);
    }
    for (TensorCase& t : best.smallest.tensors)  // the same problem in fewer words
      for (Strides* const s : {&t.in, &t.out})
        if (s->head == t.head_dim) s->head = contiguous;
    best.smallest = with_listed_positions(best.smallest);
    return best;
  }

  bool tired() const {
    const int most = fresh_each || first.kind == Finding::Kind::crash ? most_crashes : most_tries;
    return tries >= most || hangs >= most_hangs || Clock::now() - start > time;
  }

  // Takes calls out of a sequence: half of them, a quarter, and at last one at a time.
  void take_calls_out() {
    const auto count = [&] { return best.smallest.calls.size() + 1; };
    for (std::size_t part = count() / 2; part > 0; part /= 2)
      for (std::size_t at = 0; at + part <= count() && part < count();)
        if (!take(without_calls(best.smallest, at, part))) at += part;
  }

  bool take_any(const std::vector<Case>& cases, bool again = false) {
    for (const Case& c : cases)
      if (take(c, again)) return true;
    return false;
  }

  // True if the case still fails; then it is the best so far. `again`: it may have been tried.
  bool take(Case c, bool again = false) {
    if (tired()) return false;
    if (property.shape != nullptr) property.shape(c, offer);
    if (c == best.smallest || (!seen.insert(to_text(c)).second && !again)) return false;
    ++tries;
    try {
      validate(c);
      if (larger(c, best.smallest)) return false;
      // Rows may share data only in the manner of the failing case, such as a broadcast.
      if ((shared_rows(c) & ~shared_rows(best.smallest)) != 0) return false;
      if (inputs_overlap(c) && !inputs_overlap(best.smallest)) return false;
      // A crash needs no comparison. But once the crash is mended, its replay line should compare
      // something.
      if (rotates(best.smallest) && !rotates(c)) return false;
      if (fresh_each) subject.worker.restart();
      const Finding f = check_case(property, subject, c);
      if (f.kind == Finding::Kind::hang) ++hangs;
      if (!fails_like(f, first)) return false;
      if (f.margin > best.worst_margin) {
        best.worst = c;
        best.worst_margin = f.margin;
      }
      best.smallest = c;
      best.finding = f;
      return true;
    } catch (const BadCase&) {
      return false;  // the property cannot check it
    }
  }

  // Gives each call of a sequence the number.
  void minimize_in_each(std::int64_t least, std::int64_t now,
                        const std::function<Case(const Case&, std::int64_t)>& with) {
    minimize(least, now, [&](std::int64_t n) {
      Case out = with(best.smallest, n);
      for (Case& call : out.calls) call = with(call, n);
      return out;
    });
  }

  // Finds the smallest number from `least` up that still fails, by powers of two and halving. Where
  // a search ended before, the number below is tried first.
  void minimize(std::int64_t least, std::int64_t now,
                const std::function<Case(std::int64_t)>& with) {
    if (now <= least || take(with(least))) return;
    if (found.contains(now) && !take(with(now - 1))) return;
    std::int64_t passes = least, fails = now;
    const std::int64_t base = least == 1 ? 0 : least;  // 2, 4, 8... suit an error of blocks
    for (std::int64_t step = 1; base + step < now; step *= 2) {
      if (take(with(base + step))) {
        fails = base + step;
        break;
      }
      passes = base + step;
    }
    while (fails - passes > 1 && !tired()) {
      const std::int64_t middle = passes + (fails - passes) / 2;
      (take(with(middle)) ? fails : passes) = middle;
    }
    if (fails >= high) found.insert(fails);
  }

  void make_sizes_small() {
    const auto& c = best.smallest;
    for (const bool last : {false, true}) {
      minimize_in_each(1, c.batch, [last](const Case& of, std::int64_t n) {
        n = std::min(n, of.batch);
        return part_of(of, last ? of.batch - n : 0, n, 0, of.tokens);
      });
      minimize_in_each(1, c.tokens, [last](const Case& of, std::int64_t n) {
        n = std::min(n, of.tokens);
        return part_of(of, 0, of.batch, last ? of.tokens - n : 0, n);
      });
    }
    std::int64_t heads = 1;
    for (const TensorCase& t : c.tensors) heads = std::max(heads, t.heads);
    minimize_in_each(1, heads, with_heads);
    minimize_in_each(1, c.rotary_dim / 2, with_pairs);
    for (std::size_t i = 0; i < c.tensors.size(); ++i) {
      const auto sized = [&, i](std::int64_t TensorCase::*field) {
        return [i, field](Case out, std::int64_t n) {
          drop_values(out);
          out.tensors[i].*field = n;
          return out;
        };
      };
      const bool rotated = c.tensors[i].rotate;
      minimize_in_each(0, c.tensors[i].rotary_offset, sized(&TensorCase::rotary_offset));
      minimize_in_each(rotated ? c.rotary_dim + c.tensors[i].rotary_offset : 1,
                       c.tensors[i].head_dim, sized(&TensorCase::head_dim));
    }
    make_numbers_small();
  }

  // Numbers without steps of their own come nearer to their plain value.
  void make_numbers_small() {
    static const Case plain;
    for_each_field(case_fields, [&](const auto& field) {
      if constexpr (std::is_same_v<decltype(field.get), std::int64_t Case::*const>)
        if (!stays_in_steps(field.word))
          minimize_in_each(plain.*field.get, best.smallest.*field.get,
                           [&](Case out, std::int64_t n) {
                             out.*field.get = std::min(out.*field.get, n);
                             return out;
                           });
    });
  }

  // Keeps the strides that the failure needs, as small as possible.
  void make_strides_small() {
    for (std::size_t i = 0; i < best.smallest.tensors.size(); ++i)
      for (Strides TensorCase::*side : {&TensorCase::in, &TensorCase::out})
        for (std::int64_t Strides::*axis : {&Strides::batch, &Strides::token, &Strides::head})
          minimize_in_each(0, best.smallest.tensors[i].*side.*axis, [&](Case out, std::int64_t n) {
            TensorCase& t = out.tensors[i];
            t.*side.*axis = n;
            if (t.in_place) t.in = t.out = t.*side;
            return out;
          });
  }

  void make_all_positions_small() {
    const Case c = best.smallest;
    const std::int64_t largest = largest_position(c);
    minimize(0, largest, [&](std::int64_t n) { return nearer_to_zero(c, largest - n); });
  }

  // Tries all positions from 0 on, then each position alone, then all of them together. A negative
  // position keeps its sign if the positive one does not fail.
  void make_positions_small() {
    if (!best.smallest.calls.empty()) return make_positions_of_calls_small();
    Case counted = best.smallest;
    counted.position_rule = PositionRule::consecutive;
    counted.positions.clear();
    counted.position_from = counted.position_to = 0;
    counted.position_step = 1;
    take(counted);
    best.smallest = with_listed_positions(best.smallest);
    if (best.smallest.position_rule == PositionRule::list) make_few_positions_small();
    make_all_positions_small();
  }

  // Makes one position small, which position(c) is in a case c.
  template <class Position>
  void make_position_small(Position position) {
    const std::int64_t now = position(best.smallest), sign = now < 0 ? -1 : 1;
    minimize(0, sign * now, [&](std::int64_t n) {
      Case out = best.smallest;
      position(out) = sign * n;
      return out;
    });
  }

  void make_few_positions_small() {
    constexpr std::size_t few = 8;
    for (std::size_t i = 0; i < best.smallest.positions.size() && i < few; ++i) {
      Case positive = best.smallest;
      positive.positions[i] *= -1;
      if (positive.positions[i] > 0) take(positive);
      make_position_small([i](Case& c) -> std::int64_t& { return c.positions[i]; });
    }
  }

  // All positions together, then the first position of each call alone.
  void make_positions_of_calls_small() {
    make_all_positions_small();
    for (std::size_t k = 0; k <= best.smallest.calls.size() && !tired(); ++k)
      make_position_small(
          [k](Case& c) -> std::int64_t& { return (k == 0 ? c : c.calls[k - 1]).position_from; });
  }
};

Finding check_in_a_fresh_process(Subject& subject, const Property& property, const Case& c) {
  subject.worker.restart();
  try {
    return check_case(property, subject, c);
  } catch (const BadCase&) {
    return {};  // the earlier failure hid that this is no case of the property
  }
}

}  // namespace

Shrunk shrink(Subject& subject, const Property& property, const Offer& offer, const Case& failing,
              const Finding& first) {
  Shrunk out = Search{subject, property, offer, first, false}.run(failing);
  // A hang ends the process, so every hang after the first happened in a fresh process.
  const bool fresh = first.kind == Finding::Kind::hang && !(out.smallest == failing);
  if (fresh) return out;
  if (const Finding f = check_in_a_fresh_process(subject, property, out.smallest);
      fails_like(f, first)) {
    out.finding = f;
    return out;
  }
  // The earlier tries left something in the process that misled the search. It runs again, with a
  // fresh process for each try.
  if (first.kind != Finding::Kind::hang &&
      fails_like(check_in_a_fresh_process(subject, property, failing), first)) {
    return Search{subject, property, offer, first, true}.run(failing);
  }
  out.only_after_others = true;
  return out;
}

}  // namespace ropewalk::properties
