// Greedy and in a fixed order: which case comes out depends on the clock only where two seconds do
// not suffice. A refusal is no failure, so the case stays inside what the kernel offers; a step
// that a property cannot check (BadCase, Property::shape) is none.
#include "properties/shrink.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

namespace ropewalk {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int most_tries = 1000, most_crashes = 200, most_hangs = 2;
constexpr std::chrono::milliseconds most_time{2000};

bool fails_like(const Finding& f, const Finding& first) {
  const bool vacuous = f.kind == Finding::Kind::measured && f.compared == 0;
  return f.kind == first.kind && !f.holds() && !vacuous;
}

std::int64_t elements(const Case& c) {
  std::int64_t heads = 0;
  for (const TensorCase& t : c.tensors) heads += t.heads * t.head_dim;
  return c.batch * c.tokens * heads;
}

std::int64_t largest_position(const Case& c) {
  std::int64_t largest = 0;
  for (const std::int64_t p : positions_of(c)) largest = std::max({largest, p, -p});
  return largest;
}

// Property::shape may put back what a step took away.
bool larger(const Case& a, const Case& b) {
  const std::int64_t size_a = elements(a), size_b = elements(b);
  return size_a != size_b ? size_a > size_b : largest_position(a) > largest_position(b);
}

// ---- steps: each is a case that is simpler in one way, or in many at once

void drop_values(Case& c) {
  for (TensorCase& t : c.tensors) t.values.clear();
}

// Batch rows [row, row + rows) and tokens [token, token + tokens).
Case part_of(const Case& c, std::int64_t row, std::int64_t rows, std::int64_t token,
             std::int64_t tokens) {
  Case out = c;
  drop_values(out);
  out.batch = rows;
  out.tokens = tokens;
  if (c.position_rule == PositionRule::consecutive && c.position_token_stride != 0) {
    out.position_from = c.position_from + c.position_step * token;
    return out;
  }
  const std::vector<std::int64_t> positions = positions_of(c);
  out.position_rule = PositionRule::list;
  out.positions.clear();
  for (std::int64_t b = row; b < row + rows; ++b)
    for (std::int64_t t = token; t < token + tokens; ++t)
      out.positions.push_back(positions[static_cast<std::size_t>(b * c.tokens + t)]);
  return out;
}

Case one_tensor(const Case& c, std::size_t kept) {
  Case out = c;
  out.tensors = {c.tensors[kept]};
  out.own_tables = out.own_tables && kept > 0;
  return out;
}

Case with_heads(const Case& c, std::int64_t heads) {
  Case out = c;
  drop_values(out);
  for (TensorCase& t : out.tensors) t.heads = std::min(t.heads, heads);
  return out;
}

// Fewer pairs, with what lies beside the window as it is.
Case with_pairs(const Case& c, std::int64_t pairs) {
  Case out = c;
  drop_values(out);
  out.rotary_dim = 2 * pairs;
  if (!out.inv_freq.empty()) out.inv_freq.resize(static_cast<std::size_t>(pairs));
  for (TensorCase& t : out.tensors)
    if (t.rotate) t.head_dim += out.rotary_dim - c.rotary_dim;
  if (out.table_row_stride >= 0) out.table_row_stride += (out.rotary_dim - c.rotary_dim) / 2;
  return out;
}

Case with_whole_heads(const Case& c) {
  Case out = c;
  drop_values(out);
  for (TensorCase& t : out.tensors) {
    t.head_dim = c.rotary_dim;
    t.rotary_offset = 0;
  }
  return out;
}

Case with_plain_memory(const Case& c) {
  Case out = c;
  if (c.position_batch_stride == 0 || c.position_token_stride == 0)
    out = part_of(c, 0, c.batch, 0, c.tokens);
  out.fused = false;
  out.position_batch_stride = out.position_token_stride = contiguous;
  out.table_row_stride = contiguous;
  for (TensorCase& t : out.tensors) {
    t.in = t.out = {};
    t.in_at = t.out_at = 0;
  }
  return out;
}

// Single simplifications that leave sizes, positions and data alone.
using Step = void (*)(Case&);
constexpr Step plain_steps[] = {
    [](Case& c) { c.attention_scale = 0; },
    [](Case& c) { c.operation = ROPE_FORWARD; },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in_place = false;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.rotate = true;
    },
    [](Case& c) { c.position_dtype = ROPE_I32; },
    [](Case& c) { c.positions_null = false; },
    [](Case& c) {
      constexpr std::int64_t few_rows = 4096;  // a table by position has all rows up to the largest
      if (largest_position(c) > few_rows) return;
      c.positions_null = false;
      c.rows_by = ROPE_ROW_BY_POSITION;
    },
    [](Case& c) { c.own_tables = false; },
    [](Case& c) { c.table_spare_rows = 0; },
    [](Case& c) { c.inv_freq.clear(); },
    [](Case& c) { c.rope_theta = 10000; },
    [](Case& c) { c.data = DataPattern::unit; },
    [](Case& c) { c.seed = 1; },
};
// The same for memory, each alone: the first that a layout bug needs stays.
constexpr Step memory_steps[] = {
    [](Case& c) { c.fused = false; },
    [](Case& c) { c.table_row_stride = contiguous; },
    [](Case& c) { c.position_token_stride = contiguous; },
    [](Case& c) { c.position_batch_stride = contiguous; },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in_at = t.out_at = 0;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in = t.out;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.out = t.in;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in = {};
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.out = {};
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in.batch = t.out.batch = contiguous;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in.token = t.out.token = contiguous;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in.head = t.out.head = contiguous;
    },
};

template <std::size_t N>
std::vector<Case> each_of(const Step (&steps)[N], const Case& c) {
  std::vector<Case> out;
  for (const Step step : steps) {
    out.push_back(c);
    step(out.back());
  }
  return out;
}

Case with_all_plain(Case c) {
  for (const Step step : plain_steps) step(c);
  return c;
}

// The first guesses: all at once, for errors that any call shows.
std::vector<Case> simplest_cases(const Case& c) {
  const Case calm = with_all_plain(with_plain_memory(c));
  const auto smallest = [](const Case& from, std::int64_t tokens) {
    return with_heads(part_of(one_tensor(from, 0), 0, 1, 0, std::min(from.tokens, tokens)), 1);
  };
  return {with_pairs(with_whole_heads(smallest(calm, 1)), 1),
          with_whole_heads(smallest(calm, 1)),
          smallest(calm, 1),
          smallest(calm, 2),
          smallest(c, 1),
          calm};
}

std::vector<Case> with_fewer_tensors(const Case& c) {
  std::vector<Case> out;
  for (std::size_t i = 0; i < c.tensors.size() && c.tensors.size() > 1; ++i)
    out.push_back(one_tensor(c, i));
  if (c.tensors.size() > 2) {
    out.push_back(c);
    out.back().tensors.pop_back();
  }
  return out;
}

std::vector<Case> halves(const Case& c) {
  std::vector<Case> out;
  const std::int64_t row = c.batch / 2, token = c.tokens / 2;
  if (c.batch > 1) {
    out.push_back(part_of(c, 0, row, 0, c.tokens));
    out.push_back(part_of(c, row, c.batch - row, 0, c.tokens));
  }
  if (c.tokens > 1) {
    out.push_back(part_of(c, 0, c.batch, 0, token));
    out.push_back(part_of(c, 0, c.batch, token, c.tokens - token));
  }
  return out;
}

// Inputs of one 1 among zeros, where there are few.
std::vector<Case> basis_vectors(const Case& c) {
  constexpr std::int64_t few = 8;
  std::vector<Case> out;
  if (c.tensors.size() != 1 || !c.tensors[0].values.empty() || c.data != DataPattern::unit)
    return out;
  const std::int64_t count = c.batch * c.tokens * c.tensors[0].heads * c.tensors[0].head_dim;
  for (std::int64_t i = 0; i < count && count <= few; ++i) {
    out.push_back(c);
    out.back().tensors[0].values.assign(static_cast<std::size_t>(count), 0.0);
    out.back().tensors[0].values[static_cast<std::size_t>(i)] = 1;
  }
  return out;
}

using Source = std::vector<Case> (*)(const Case&);
constexpr Source sources[] = {
    simplest_cases,
    with_fewer_tensors,
    halves,
    [](const Case& c) {
      return std::vector<Case>{with_plain_memory(c), with_whole_heads(c)};
    },
    [](const Case& c) { return each_of(plain_steps, c); },
    [](const Case& c) { return each_of(memory_steps, c); },
};

// Few positions, by name: easier to read, and what is made smaller one by one.
Case with_listed_positions(const Case& c) {
  constexpr std::int64_t few = 32;
  if (c.position_rule == PositionRule::list || c.batch * c.tokens > few) return c;
  Case listed = c;
  listed.positions = positions_of(c);
  listed.position_rule = PositionRule::list;
  listed.position_from = listed.position_to = 0;
  listed.position_step = 1;
  return listed;
}

// ---- the search

class Search {
 public:
  Search(Subject& subject, const Property& property, const Offer& offer, const Finding& first,
         bool each_in_a_fresh_process)
      : subject_(subject),
        property_(property),
        offer_(offer),
        first_(first),
        fresh_each_(each_in_a_fresh_process) {}

  Shrunk run(const Case& failing) {
    best_ = {failing, first_, false};
    for (bool changed = true; changed && !tired();) {
      const Case before = best_.smallest;
      for (const Source source : sources)
        while (take_any(source(best_.smallest))) {
        }
      make_sizes_small();
      make_strides_small();
      make_positions_small();
      take_any(basis_vectors(best_.smallest));
      changed = !(best_.smallest == before);
    }
    return best_;
  }

 private:
  bool tired() const {
    const int most = fresh_each_ || first_.kind == Finding::Kind::crash ? most_crashes : most_tries;
    return tries_ >= most || hangs_ >= most_hangs || Clock::now() - start_ > most_time;
  }

  bool take_any(const std::vector<Case>& cases) {
    for (const Case& c : cases)
      if (take(c)) return true;
    return false;
  }

  // Whether the case still fails: then it is the best.
  bool take(Case c) {
    if (tired()) return false;
    if (property_.shape != nullptr) property_.shape(c, offer_);
    if (c == best_.smallest || !seen_.insert(to_text(c)).second) return false;
    ++tries_;
    try {
      validate(c);
      if (larger(c, best_.smallest)) return false;
      if (fresh_each_) subject_.worker.restart();
      const Finding f = property_.check(subject_, c);
      if (f.kind == Finding::Kind::hang) ++hangs_;
      if (!fails_like(f, first_)) return false;
      best_ = {c, f, false};
      return true;
    } catch (const BadCase&) {
      return false;  // not a case of this property
    }
  }

  // The smallest number from `least` up that still fails, as powers of two and halving find it.
  void minimize(std::int64_t least, std::int64_t now,
                const std::function<Case(std::int64_t)>& with) {
    if (now <= least || take(with(least))) return;
    std::int64_t passes = least, fails = now;
    for (std::int64_t step = 1; least + step < now; step *= 2) {
      if (take(with(least + step))) {
        fails = least + step;
        break;
      }
      passes = least + step;
    }
    while (fails - passes > 1 && !tired()) {
      const std::int64_t middle = passes + (fails - passes) / 2;
      (take(with(middle)) ? fails : passes) = middle;
    }
  }

  void make_sizes_small() {
    const auto& c = best_.smallest;
    minimize(1, c.batch, [&](std::int64_t n) { return part_of(c, 0, n, 0, c.tokens); });
    minimize(1, c.tokens, [&](std::int64_t n) { return part_of(c, 0, c.batch, 0, n); });
    std::int64_t heads = 1;
    for (const TensorCase& t : c.tensors) heads = std::max(heads, t.heads);
    minimize(1, heads, [&](std::int64_t n) { return with_heads(c, n); });
    minimize(1, c.rotary_dim / 2, [&](std::int64_t n) { return with_pairs(c, n); });
    for (std::size_t i = 0; i < c.tensors.size(); ++i) {
      const auto sized = [&, i](std::int64_t TensorCase::*field) {
        return [&, i, field](std::int64_t n) {
          Case out = c;
          drop_values(out);
          out.tensors[i].*field = n;
          return out;
        };
      };
      const bool rotated = c.tensors[i].rotate;
      minimize(0, c.tensors[i].rotary_offset, sized(&TensorCase::rotary_offset));
      minimize(rotated ? c.rotary_dim + c.tensors[i].rotary_offset : 1, c.tensors[i].head_dim,
               sized(&TensorCase::head_dim));
    }
    minimize(0, c.shift, [&](std::int64_t n) {
      Case out = c;
      out.shift = n;
      return out;
    });
  }

  // Strides that must be there, as close as they may lie.
  void make_strides_small() {
    for (std::size_t i = 0; i < best_.smallest.tensors.size(); ++i)
      for (Strides TensorCase::*side : {&TensorCase::in, &TensorCase::out})
        for (std::int64_t Strides::*axis : {&Strides::batch, &Strides::token, &Strides::head})
          minimize(0, best_.smallest.tensors[i].*side.*axis, [&](std::int64_t n) {
            Case out = best_.smallest;
            TensorCase& t = out.tensors[i];
            t.*side.*axis = n;
            if (t.in_place) t.in = t.out = t.*side;
            return out;
          });
  }

  // All from 0 on, then each alone. A negative one keeps its sign if the other will not do.
  void make_positions_small() {
    Case counted = best_.smallest;
    counted.position_rule = PositionRule::consecutive;
    counted.positions.clear();
    counted.position_from = counted.position_to = 0;
    counted.position_step = 1;
    take(counted);
    const Case listed = with_listed_positions(best_.smallest);
    if (listed.position_rule != PositionRule::list) return;
    best_.smallest = listed;
    constexpr std::size_t few = 4;
    const auto at = [&](std::size_t i, std::int64_t position) {
      Case out = best_.smallest;
      out.positions[i] = position;
      return out;
    };
    for (std::size_t i = 0; i < listed.positions.size() && i < few; ++i) {
      const std::int64_t p = listed.positions[i];
      if (p < 0) take(at(i, -p));
      const std::int64_t now = best_.smallest.positions[i], sign = now < 0 ? -1 : 1;
      minimize(0, sign * now, [&](std::int64_t n) { return at(i, sign * n); });
    }
  }

  Subject& subject_;
  const Property& property_;
  const Offer& offer_;
  const Finding& first_;
  bool fresh_each_;
  Shrunk best_;
  std::set<std::string> seen_;
  int tries_ = 0, hangs_ = 0;
  Clock::time_point start_ = Clock::now();
};

Finding check_in_a_fresh_process(Subject& subject, const Property& property, const Case& c) {
  subject.worker.restart();
  return property.check(subject, c);
}

}  // namespace

Shrunk shrink(Subject& subject, const Property& property, const Offer& offer, const Case& failing,
              const Finding& first) {
  Shrunk out = Search(subject, property, offer, first, false).run(failing);
  out.smallest = with_listed_positions(out.smallest);
  // A hang ends the process: whatever hung after the first did so in a fresh one.
  const bool fresh = first.kind == Finding::Kind::hang && !(out.smallest == failing);
  if (fresh) return out;
  if (const Finding f = check_in_a_fresh_process(subject, property, out.smallest);
      fails_like(f, first)) {
    out.finding = f;
    return out;
  }
  // What the tries before left in the process misled the search: again, each in a fresh one.
  if (first.kind != Finding::Kind::hang &&
      fails_like(check_in_a_fresh_process(subject, property, failing), first)) {
    out = Search(subject, property, offer, first, true).run(failing);
    out.smallest = with_listed_positions(out.smallest);
    return out;
  }
  out.only_after_others = true;
  return out;
}

std::vector<Case> smaller_cases(const Case& c) {
  std::vector<Case> out;
  for (const Source source : sources)
    for (Case& smaller : source(c)) out.push_back(std::move(smaller));
  for (Case& smaller : basis_vectors(c)) out.push_back(std::move(smaller));
  out.push_back(with_heads(c, 1));
  out.push_back(with_pairs(c, 1));
  out.push_back(with_listed_positions(c));
  return out;
}

}  // namespace ropewalk
