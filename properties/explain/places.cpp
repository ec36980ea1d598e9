#include "properties/explain/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "harness/cases/names.h"
#include "properties/explain/causes.h"
#include "properties/explain/diagnosis.h"
#include "properties/explain/facts.h"
#include "properties/explain/hypotheses.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Shifts: the wrong outputs are right ones of another place. Where they belong is an observation
// and not a cause, so it needs only enough bits to be no chance.

using C = std::complex<double>;

// The index of a pair's entries in the given table, if its rows were so many elements apart.
std::int64_t entry_of(const Problem& p, const Seen& s, std::int64_t distance) {
  const bool by_token = p.asked.table_rows_by == ROPE_ROW_BY_TOKEN;
  const std::int64_t row = by_token ? s.at.b * p.asked.tokens + s.at.t : s.position;
  const auto axis = static_cast<std::int64_t>(axis_of(p.source.axis_of_pair, s.pair));
  return (p.asked.table_rows > 1 ? row * distance : 0) + axis * p.axes.table_axis_stride + s.pair;
}

// The rotation at this index of the given table, if its elements are of this type; empty: it lies
// behind the table.
std::optional<C> entries_at(const Problem& p, const Seen& s, std::int64_t at, Dtype type) {
  const auto &cos = given(p, s.placement, p.buffer(Operand::cos, s.at.tensor)),
             &sin = given(p, s.placement, p.buffer(Operand::sin, s.at.tensor));
  if ((at + 1) * data_type(type).bytes > std::min(std::ssize(cos), std::ssize(sin))) return {};
  return C{load(cos, type, at), load(sin, type, at)};
}

bool in_one_row(const Seen& a, const Seen& b) {
  return a.placement == b.placement && a.at.tensor == b.at.tensor && a.at.b == b.at.b &&
         a.at.t == b.at.t && a.at.h == b.at.h;
}

// The wrong pairs of the first row that has some.
std::vector<const Seen*> wrong_row(const Scene& scene) {
  std::vector<const Seen*> row;
  for (const Seen& s : scene.pairs)
    if (s.wrong && (row.empty() || in_one_row(s, *row[0]))) row.push_back(&s);
  return row;
}

// True if these are the outputs of a row, and plainly not those that it should have: an error of a
// few bounds is one of rounding.
bool are(const std::vector<const Seen*>& row, const std::function<C(const Seen&)>& output) {
  constexpr double plain = 1000;  // bounds
  const bool fit = std::ranges::all_of(row, [&](const Seen* s) {
    return s->bound > 0 && std::abs(s->y - output(*s)) <= 2 * s->bound;
  });
  return fit && std::ranges::any_of(row, [&](const Seen* s) {
           return std::abs(output(*s) - s->truth) > plain * s->bound;
         });
}

// An element of a wrong pair that is that of another pair of its row.
std::string of_other_pair(const Scene& scene, const std::vector<const Seen*>& row) {
  constexpr double plain = 1000;  // bounds; a smaller value may be that of many pairs
  const auto same = [](double got, double own, double truth, double bound) {
    return bound > 0 && std::abs(got - truth) <= 2 * bound && std::abs(truth) > plain * bound &&
           std::abs(own - truth) > plain * bound;
  };
  for (const Seen* wrong : row)
    for (const Seen& s : scene.pairs) {
      if (s.pair == wrong->pair || !in_one_row(s, *wrong)) continue;
      const bool first = same(wrong->y.real(), wrong->truth.real(), s.truth.real(), s.bound);
      if (first || same(wrong->y.imag(), wrong->truth.imag(), s.truth.imag(), s.bound))
        return fmt::format("the {} element of pair {} is that of pair {}",
                           first ? "first" : "second", wrong->pair, s.pair);
    }
  return {};
}

struct Axis {
  const char *one, *many;
  std::int64_t (*value)(const Seen&);
};
constexpr Axis axes[] = {
    {"batch row", "batch rows", [](const Seen& s) { return s.at.b; }},
    {"token", "tokens", [](const Seen& s) { return s.at.t; }},
    {"head", "heads", [](const Seen& s) { return s.at.h; }},
    {"pair", "pairs", [](const Seen& s) { return s.pair; }},
};

// Returns a text like "only in heads from 2 on"; empty if no rule fits.
std::string along(const Axis& axis, const std::set<std::int64_t>& wrong,
                  const std::set<std::int64_t>& all) {
  if (wrong.size() == 1) return fmt::format("only in {} {}", axis.one, *wrong.begin());
  const auto part = static_cast<std::ptrdiff_t>(wrong.size());
  if (std::equal(wrong.begin(), wrong.end(), std::prev(all.end(), part)))
    return fmt::format("only in {} from {} on", axis.many, *wrong.begin());
  if (std::equal(wrong.begin(), wrong.end(), all.begin()))
    return fmt::format("only in {} up to {}", axis.many, *wrong.rbegin());
  return {};
}

// The products of counts along which a kernel may number its rows.
struct Rows {
  const char* words;
  std::int64_t (*row)(const rope_problem&, const HeadPlace&);
};
constexpr Rows row_kinds[] = {
    {"batch x tokens",
     [](const rope_problem& p, const HeadPlace& at) { return at.b * p.tokens + at.t; }},
    {"batch x heads",
     [](const rope_problem& p, const HeadPlace& at) { return at.b * p.tensor[0].heads + at.h; }},
    {"tokens x heads",
     [](const rope_problem& p, const HeadPlace& at) { return at.t * p.tensor[0].heads + at.h; }},
    {"batch x tokens x heads", [](const rope_problem& p, const HeadPlace& at) {
       return (at.b * p.tokens + at.t) * p.tensor[0].heads + at.h;
     }}};

// The first wrong row if exactly the rows from it on are wrong; else -1.
std::int64_t first_of_rows(const Rows& kind, const Scene& scene) {
  std::int64_t first = -1, last_right = -1;
  for (const Seen& s : scene.pairs) {
    const std::int64_t row = kind.row(scene.problem.asked, s.at);
    if (!s.wrong)
      last_right = std::max(last_right, row);
    else if (first < 0 || row < first)
      first = row;
  }
  return first > last_right ? first : -1;
}

// The case with other counts, packed, at its last position.
Case with_counts(const Case& c, std::int64_t batch, std::int64_t tokens, std::int64_t heads) {
  Case out = listed_positions(c);
  out.positions.assign(static_cast<std::size_t>(batch * tokens), out.positions.back());
  out.batch = batch;
  out.tokens = tokens;
  for (TensorCase& t : out.tensors) {
    t.heads = heads;
    t.values.clear();
    t.in = t.out = {};
  }
  return out;
}

// In which of the two calls elements are wrong.
std::array<bool, 2> wrong_calls(const Scene& scene) {
  std::array<bool, 2> out{};
  for (const Seen& s : scene.pairs)
    if (s.wrong) out[static_cast<std::size_t>(s.placement)] = true;
  for (const Copied& e : scene.copies)
    if (e.wrong) out[static_cast<std::size_t>(e.placement)] = true;
  return out;
}

}  // namespace

void add_table_rows(const Scene& scene, std::vector<Hypothesis>& list) {
  const Problem& p = scene.problem;
  const Dtype own{p.asked.table_dtype};
  const auto reads = [&](Cause what, bool applies, auto rotation) {
    list.push_back({std::move(what), [k = Facts(scene), applies, rotation](const Seen& s) {
                      return k.turned(s.x, applies ? rotation(s) : std::nullopt);
                    }});
  };
  const bool table = p.source.contract == ROPE_CONTRACT_TABLE;
  for (const Dtype type : tensor_dtypes)
    reads(cause("table_type", data_type(own).word, data_type(type).word), table && type != own,
          [&p, type](const Seen& s) {
            return entries_at(p, s, entry_of(p, s, p.asked.table_row_stride), type);
          });
  const auto add = [&](const char* distance, auto elements) {
    reads(cause("row_distance", distance), table && p.asked.table_rows > 1,
          [&p, own, elements](const Seen& s) {
            const std::int64_t last = (p.asked.table_rows - 1) * p.asked.table_row_stride + s.pair;
            const std::int64_t at = entry_of(p, s, elements(p.asked.tensor[s.at.tensor].head_dim));
            return entries_at(p, s, std::min(at, last), own);  // behind the table: its last row
          });
  };
  add("rotary_dim / 2", [&p](std::int64_t) { return p.asked.rotary_dim / 2; });
  add("rotary_dim", [&p](std::int64_t) { return p.asked.rotary_dim; });
  add("head_dim / 2", [](std::int64_t head_dim) { return head_dim / 2; });
  add("head_dim", [](std::int64_t head_dim) { return head_dim; });
}

Elsewhere right_elsewhere(const Scene& scene, bool whole_pairs) {
  const Problem& p = scene.problem;
  const Case& c = p.source;
  const std::vector<const Seen*> row = wrong_row(scene);
  if (row.empty()) return {};
  const HeadPlace& at = row[0]->at;
  const Facts k(scene);
  if (std::string other = of_other_pair(scene, row); !other.empty() || !whole_pairs) return {other};
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t)
      for (std::int64_t h = 0; h < p.asked.tensor[at.tensor].heads; ++h) {
        const HeadPlace from{at.tensor, b, t, h};
        const auto output = [&](const Seen& s) { return k.turned(k.pair_of(s, from), s.r); };
        if (are(row, output)) return {"right for the input of " + place_text(at.tensor, b, t, h)};
      }
  // By chance an angle is that of one of n positions with probability n times its part of a turn.
  constexpr std::int64_t near = 64;
  double chance = 2 * near + 1;
  for (const Seen* s : row)
    chance *=
        std::abs(s->truth) == 0 ? 1 : std::min(1.0, 4 * s->bound / (2 * M_PI * std::abs(s->truth)));
  if (!(chance < 1e-3)) return {};
  const bool table = c.contract == ROPE_CONTRACT_TABLE;
  const std::int64_t own = row[0]->position;
  std::vector<std::int64_t> tried;  // the nearest first, and 0, which leaves the input as it is
  for (std::int64_t step = 1; step <= near; ++step)
    tried.insert(tried.end(), {own + step, own - step});
  tried.push_back(0);
  for (const std::int64_t position : tried) {
    if (table && (position < 0 || position >= p.asked.table_rows)) continue;
    const bool fit = k.rotation(*row[0], position) && are(row, [&](const Seen& s) {
                       return k.turned(s.x, *k.rotation(s, position));
                     });
    if (!fit) continue;
    Elsewhere out{fmt::format("right at position {} instead of {}", position, own), {}, own};
    if (table && p.asked.table_rows_by == ROPE_ROW_BY_POSITION) out.row = position;
    return out;
  }
  return {};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : ", ") + part;
  return out;
}

Scope scope_of(const std::vector<const Seen*>& shows) {
  constexpr Axis tensor{"tensor", "tensors",
                        [](const Seen& s) -> std::int64_t { return s.at.tensor; }};
  std::vector<std::string> parts;
  std::vector<const Seen*> there = shows;  // pairs in the places named so far
  int call = -1;
  const auto name = [&](const Axis& axis, auto words) {
    std::set<std::int64_t> wrong, all;
    for (const Seen* s : there) {
      all.insert(axis.value(*s));
      if (s->wrong) wrong.insert(axis.value(*s));
    }
    if (wrong.empty() || wrong.size() == all.size()) return;
    const std::string text = words(wrong, all);
    if (text.empty()) return;
    parts.push_back(text);
    std::erase_if(there, [&](const Seen* s) { return wrong.count(axis.value(*s)) == 0; });
  };
  name(tensor, [](const auto& wrong, const auto&) {
    const auto only = static_cast<std::size_t>(*wrong.begin());
    return wrong.size() == 1 ? fmt::format("only in {}", tensor_words[only]) : std::string();
  });
  for (const Axis& axis : axes)
    name(axis, [&](const auto& wrong, const auto& all) { return along(axis, wrong, all); });
  // The calls differ in contents and positions, so this is no text. call_of_state() tells more.
  std::set<int> calls;
  for (const Seen* s : there)
    if (s->wrong) calls.insert(s->placement);
  if (calls.size() == 1) call = *calls.begin();
  std::erase_if(there, [&](const Seen* s) { return call >= 0 && s->placement != call; });
  return {fmt::format("{}", fmt::join(parts, ", ")),
          std::ranges::all_of(there, [](const Seen* s) { return s->wrong; }), call};
}

std::string place_of(const Scene& scene) {
  std::vector<const Seen*> shows;
  const bool at_zero =
      std::ranges::any_of(scene.pairs, [](const Seen& s) { return s.wrong && s.position == 0; });
  for (const Seen& s : scene.pairs)  // pairs that a wrong rotation would change
    if (s.wrong || (std::abs(s.x) > 0 && (at_zero || s.position != 0))) shows.push_back(&s);
  if (std::ranges::any_of(shows, [](const Seen* s) { return s->wrong; }))
    return scope_of(shows).text;
  std::vector<Seen> copies;
  for (const Copied& e : scene.copies) {
    copies.emplace_back();
    copies.back().at = e.at;
    copies.back().wrong = e.wrong;
  }
  shows.clear();
  for (const Seen& s : copies) shows.push_back(&s);
  return joined({sentence_of("only_outside"), scope_of(shows).text});
}

std::string rows_from_on(const Look& look, const Case& c, const Scene& small) {
  constexpr std::int64_t fewest = 16;  // fewer rows are a place of their own
  if (c.tensors.size() != 1 || !c.calls.empty()) return {};
  std::int64_t from = -1;
  std::vector<Rows> left;
  for (const Rows& kind : row_kinds)
    if (const std::int64_t first = first_of_rows(kind, small); first >= fewest) {
      from = first;
      left.push_back(kind);
    }
  const std::int64_t part = from / 2 + 1;
  const Case cuts[] = {with_counts(c, 2, 1, part), with_counts(c, 1, 2, part),
                       with_counts(c, part, 2, 1)};
  for (const Case& cut : cuts) {
    const auto scene = left.empty() ? std::nullopt : look(cut, Calls::as_judged);
    if (!scene) return {};
    std::erase_if(left, [&](const Rows& kind) {
      const HeadPlace last{0, cut.batch - 1, cut.tokens - 1, cut.tensors[0].heads - 1};
      const bool reaches = kind.row(scene->problem.asked, last) >= from;
      return first_of_rows(kind, *scene) != (reaches ? from : -1);
    });
  }
  return left.size() == 1 ? fmt::format("rows from {} on of {}", from, left[0].words) : "";
}

std::string call_of_state(const Look& look, const Case& c, const Scene& small) {
  const auto seen = wrong_calls(small);
  if (seen[0] == seen[1]) return {};
  const auto again = look(c, Calls::alike);
  if (!again || wrong_calls(*again) != seen) return {};
  return seen[0] ? "only in the first call of a prepared state"
                 : "only in the second call of a prepared state";
}

}  // namespace ropewalk::properties
