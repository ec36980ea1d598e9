// Shifts: the wrong outputs are right ones of another place. Where they belong is an observation
// and not a cause, so it needs only enough bits to be no chance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "properties/explain/causes.h"
#include "properties/explain/facts.h"
#include "properties/explain/hypotheses.h"
#include "properties/explain/places.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

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
  const TensorPlaces& t = p.tensor[s.at.tensor];
  const auto &cos = given(p, s.placement, t.cos), &sin = given(p, s.placement, t.sin);
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

}  // namespace

void add_table_rows(const Scene& scene, std::vector<Hypothesis>& list) {
  const Problem& p = scene.problem;
  const Dtype own{p.asked.table_dtype};
  const auto reads = [&](std::string name, bool applies, auto rotation) {
    list.push_back({std::move(name), [k = Facts(scene), applies, rotation](const Seen& s) {
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

}  // namespace ropewalk::properties
