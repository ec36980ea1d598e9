#include "properties/explain/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/cases/names.h"
#include "properties/explain/diagnosis.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

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
  return joined({std::string(only_outside), scope_of(shows).text});
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
