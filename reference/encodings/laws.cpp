#include "reference/encodings/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>

namespace ropewalk {
namespace {

using Fault = std::optional<std::string>;

constexpr Position last_position = 8;

Vector zero(std::size_t dim) {
  return Vector(dim, Real(0));
}

Vector basis(std::size_t dim, std::size_t at, int value = 1) {
  Vector out = zero(dim);
  out[at] = value;
  return out;
}

/// 0 and the basis vectors: a score is affine in x and in y, so equal there is equal everywhere.
std::vector<Vector> corners(std::size_t dim) {
  std::vector<Vector> out = {zero(dim)};
  for (std::size_t i = 0; i < dim; ++i) out.push_back(basis(dim, i));
  return out;
}

/// The same for functions of x that are quadratic.
std::vector<Vector> quadratic_corners(std::size_t dim) {
  std::vector<Vector> out = corners(dim);
  for (std::size_t i = 0; i < dim; ++i) {
    out.push_back(basis(dim, i, -1));
    for (std::size_t j = 0; j < i; ++j) out.push_back(sum(basis(dim, j), basis(dim, i)));
  }
  return out;
}

struct Pair {
  Position m, n;
};

/// All m, n <= 8, the largest of the two first smallest.
std::vector<Pair> position_pairs(const Encoding& encoding) {
  std::vector<Pair> out;
  for (Position last = 0; last <= last_position; ++last)
    for (Position m = 0; m <= last; ++m)
      for (Position n = 0; n <= last; ++n)
        if (std::max(m, n) == last && (n <= m || !encoding.causal)) out.push_back({m, n});
  return out;
}

std::string at(Position m, Position n, const Real& score) {
  return fmt::format("s({}, {}) = {}", m, n, shown(score));
}

/// The draw, the contents, what `found` says, and then the learned parts that it asked for.
std::string example(Learned learned, const std::string& contents,
                    const std::function<std::string(const Learned&)>& found) {
  std::vector<std::string> used;
  learned.used = &used;
  const std::string what = found(learned);
  std::string out =
      fmt::format("d = {}, {}", learned.dim, learned.all_identity() ? "W = I" : "W drawn");
  if (learned.seed > 0) out += fmt::format(", seed {}", learned.seed);
  std::ranges::sort(used);  // compilers evaluate arguments in different orders
  for (const std::string& text : used) out += ", " + text;
  return out + (contents.empty() ? "" : ", " + contents) + ": " + what;
}

std::string two_scores(const Encoding& e, const Learned& learned, const Vector& x, const Vector& y,
                       Pair first, Pair second) {
  return example(learned, "x = " + shown(x) + ", y = " + shown(y), [&](const Learned& l) {
    return at(first.m, first.n, score_of(e, l, x, first.m, y, first.n)) + ", " +
           at(second.m, second.n, score_of(e, l, x, second.m, y, second.n));
  });
}

/// The first fault of the draws: d = 2 and 4, the seeds 0 to 3.
LawCell every_draw(const std::function<Fault(const Learned&)>& fault_of) {
  for (const std::size_t dim : {2U, 4U})
    for (std::uint32_t seed = 0; seed < 4; ++seed)
      if (const Fault fault = fault_of({.dim = dim, .seed = seed})) return {LawCell::fails, *fault};
  return {};
}

// ---- 1, 6 and 7

struct ScoreChange {
  Vector x, y;
  Pair at;
};

/// The first positions and contents, with `equal` those with x = y, at which the score is another
/// than at the positions that `moved` gives.
std::optional<ScoreChange> first_change(const Encoding& e, const Learned& learned, bool equal,
                                        Pair (*moved)(Pair)) {
  const auto contents = equal ? quadratic_corners(learned.dim) : corners(learned.dim);
  for (const Pair& here : position_pairs(e))
    for (const Vector& x : contents)
      for (const Vector& y : equal ? std::vector<Vector>{x} : contents) {
        const auto [m, n] = moved(here);
        if (order(score_of(e, learned, x, here.m, y, here.n), score_of(e, learned, x, m, y, n)) !=
            0)
          return ScoreChange{x, y, here};
      }
  return {};
}

Pair shifted(Pair pair) {
  return {pair.m + 1, pair.n + 1};
}

Pair swapped(Pair pair) {
  return {pair.n, pair.m};
}

LawCell relative(const Encoding& e) {
  return every_draw([&](const Learned& learned) -> Fault {
    const auto found = first_change(e, learned, false, shifted);
    if (!found) return {};
    return two_scores(e, learned, found->x, found->y, found->at, shifted(found->at));
  });
}

LawCell tells_direction(const Encoding& e, bool equal) {
  if (e.causal) return {LawCell::causal, "s(m, n) is not defined for n > m"};
  return every_draw([&](Learned learned) -> Fault {
    learned.same_weights = equal;
    if (first_change(e, learned, equal, swapped)) return {};
    const Vector x = basis(learned.dim, 0), y = equal ? x : basis(learned.dim, 1);
    return two_scores(e, learned, x, y, {1, 0}, {0, 1}) + ", and so for all " +
           (equal ? "x = y" : "x, y") + " and m, n <= 8";
  });
}

// ---- 2

bool same(const Vector& a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (order(a[i], b[i]) != 0) return false;
  return true;
}

bool turns_no_query(const Encoding& e) {
  const Learned learned{.dim = 4, .seed = 1};
  for (const Vector& x : corners(4))
    for (Position m = 0; m <= last_position; ++m)
      if (!same(e.query(learned, x, m), learned.times("W_q", x))) return false;
  return true;
}

LawCell keeps_norms(const Encoding& e) {
  if (turns_no_query(e)) return {LawCell::not_of_vectors, "f_q takes no position"};
  return every_draw([&](const Learned& learned) -> Fault {
    for (Position m = 0; m <= last_position; ++m)
      for (const Vector& x : quadratic_corners(learned.dim)) {
        const Vector q = e.query(learned, x, m), plain = learned.times("W_q", x);
        if (order(dot(q, q), dot(plain, plain)) != 0)
          return example(learned, "x = " + shown(x), [&](const Learned& l) {
            return fmt::format("f_q(x, {}) = {} of length {}, W_q x of length {}", m,
                               shown(e.query(l, x, m)), shown(sqrt(dot(q, q))),
                               shown(sqrt(dot(plain, plain))));
          });
      }
    return {};
  });
}

// ---- 3

LawCell neutral(const Encoding& e) {
  return every_draw([&](const Learned& learned) -> Fault {
    const auto contents = corners(learned.dim);
    for (const Vector& x : contents)
      for (const Vector& y : contents) {
        const Real plain =
            scaled(dot(learned.times("W_q", x), learned.times("W_k", y)), e.factor, learned.dim);
        if (order(score_of(e, learned, x, 0, y, 0), plain) != 0)
          return example(learned, "x = " + shown(x) + ", y = " + shown(y), [&](const Learned& l) {
            return at(0, 0, score_of(e, l, x, 0, y, 0)) + ", without positions " + shown(plain);
          });
      }
    return {};
  });
}

// ---- 4

/// The largest score of x = (cos angle, sin angle) at D and any y of length 1 at 0. A score is
/// affine in y, so the best y lies along its slope.
Real best_of_angle(const Encoding& e, const Learned& learned, Position distance,
                   const Real& angle) {
  const Vector x = {cos(angle), sin(angle)};
  const Real level = score_of(e, learned, x, distance, zero(2), 0);
  Vector slope;
  for (std::size_t i = 0; i < 2; ++i)
    slope.push_back(score_of(e, learned, x, distance, basis(2, i), 0) - level);
  return level + sqrt(dot(slope, slope));
}

/// The top of a hill, by golden section, to 10^-45 in the angle, which is 10^-90 in height.
Real top_between(Real low, Real high, const std::function<Real(const Real&)>& height) {
  const Real golden = (sqrt(Real(5)) - 1) / 2;
  while (high - low > Real("1e-45")) {
    const Real step = golden * (high - low);
    if (height(high - step) > height(low + step))
      high = low + step;
    else
      low = high - step;
  }
  return height((low + high) / 2);
}

/// The largest score over all angles: the top of each hill of a grid.
Real largest_score(const Encoding& e, const Learned& learned, Position distance) {
  constexpr std::size_t grid = 64;
  const Real step = 2 * boost::math::constants::pi<Real>() / grid;
  const auto height = [&](const Real& angle) { return best_of_angle(e, learned, distance, angle); };
  Vector heights;
  for (std::size_t i = 0; i < grid; ++i) heights.push_back(height(step * i));
  Real out = *std::ranges::max_element(heights);
  for (std::size_t i = 0; i < grid; ++i)
    if (order(heights[i], heights[(i + grid - 1) % grid]) > 0 &&
        order(heights[i], heights[(i + 1) % grid]) >= 0)
      out = std::max(out, top_between(step * i - step, step * i + step, height));
  return out;
}

LawCell falls(const Encoding& e) {
  const Learned learned;
  Real before = largest_score(e, learned, 0);
  for (Position far = 1; far <= 2 * last_position; ++far) {
    const Real now = largest_score(e, learned, far);
    if (order(now, before) >= 0)
      return {LawCell::fails, example(learned, "", [&](const Learned& l) {
                for (const Position used : {far - 1, far}) (void)best_of_angle(e, l, used, 0);
                return fmt::format("the largest score is {} at D = {}, {} at D = {}", shown(before),
                                   far - 1, shown(now), far);
              })};
    before = now;
  }
  return {};
}

// ---- 5

/// The mean of s(D, 0) over [first, end). None: the encoding is not defined there.
std::optional<Real> mean_score(const Encoding& e, const Learned& learned, Position first,
                               Position end) {
  const Vector x(learned.dim, 1 / sqrt(Real(2)));
  const Vector k = e.key(learned, x, 0, 0);
  const bool moves = !same(k, e.key(learned, x, 0, first));
  Real total = 0;
  try {
    for (Position far = first; far < end; ++far)
      total +=
          e.score(learned, e.query(learned, x, far), moves ? e.key(learned, x, 0, far) : k, far, 0);
  } catch (const std::out_of_range&) {
    return {};
  }
  return total / (end - first);
}

LawCell falls_in_the_mean(const Encoding& e) {
  for (std::uint32_t seed = 0; seed < (e.has_parameters ? 8U : 1U); ++seed) {
    const Learned learned{.dim = 128, .seed = seed, .identity = true};
    std::optional<Real> before = mean_score(e, learned, 1, 4);
    for (Position first = 4; first < 4096 && before; first *= 4) {
      const auto now = mean_score(e, learned, first, 4 * first);
      if (now && order(*now, *before) >= 0)
        return {LawCell::fails,
                fmt::format("d = 128, W = I, seed {}: the mean is {} over {} <= D < {}, {} over "
                            "{} <= D < {}",
                            seed, shown(*before), first / 4, first, shown(*now), first, 4 * first)};
      before = now;
    }
  }
  return {};
}

// ---- 8

std::vector<Vector> score_matrix(const Encoding& e, const Learned& learned, Position length,
                                 bool exponential) {
  Vector x(learned.dim, Real(1)), y;
  for (std::size_t i = 0; i < learned.dim; ++i) y.emplace_back(i + 1);
  std::vector<Vector> out;
  for (Position m = 0; m < length; ++m) {
    Vector& row = out.emplace_back();
    for (Position n = 0; n < length; ++n) {
      const Real s = score_of(e, learned, x, m, y, n);
      row.push_back(exponential ? exp(s) : s);
    }
  }
  return out;
}

LawCell linear(const Encoding& e) {
  constexpr Position lengths[] = {8, 12, 16};  // beyond d and beyond the limits of a draw
  return every_draw([&](const Learned& learned) -> Fault {
    std::vector<std::string> ranks;
    for (const bool exponential : {false, true}) {
      std::vector<int> found;
      for (const Position length : lengths)
        found.push_back(rank_of(score_matrix(e, learned, length, exponential)));
      if (found[0] >= found[2]) return {};
      ranks.push_back(fmt::format("{}, {}, {}", found[0], found[1], found[2]));
    }
    return example(learned, learned.dim == 2 ? "x = (1, 1), y = (1, 2)" : "x = 1, y = (1, 2, 3, 4)",
                   [&](const Learned& l) {
                     (void)score_matrix(e, l, lengths[2], false);
                     return fmt::format("at N = 8, 12, 16 the rank is {}; of exp(s) {}", ranks[0],
                                        ranks[1]);
                   });
  });
}

// ---- 9 and 10

LawCell cacheable(const Encoding& e) {
  return every_draw([&](const Learned& learned) -> Fault {
    for (const Pair& pair : position_pairs(e))
      for (const Vector& y : corners(learned.dim))
        for (const bool key : {true, false}) {
          const Position m = pair.m, n = pair.n;
          const auto f = key ? e.key : e.value;
          if (same(f(learned, y, n, m), f(learned, y, n, n))) continue;
          return example(learned, "y = " + shown(y), [&](const Learned& l) {
            const char* const name = key ? "f_k" : "f_v";
            return fmt::format("{}(y, {}) = {} for m = {}, {} for m = {}", name, n,
                               shown(f(l, y, n, n)), n, shown(f(l, y, n, m)), m);
          });
        }
    return {};
  });
}

LawCell any_length(const Encoding& e) {
  return every_draw([&](const Learned& learned) -> Fault {
    const Vector x = basis(learned.dim, 0);
    for (const Position m : {learned.trained, learned.trained << 14}) try {
        if (!isfinite(score_of(e, learned, x, m, x, 0)))
          return fmt::format("s({}, 0) is not finite", m);
      } catch (const std::out_of_range& error) {
        return fmt::format("trained to {} positions, s({}, 0) is not defined: {}", learned.trained,
                           m, error.what());
      }
    return {};
  });
}

}  // namespace

int order(const Real& a, const Real& b) {
  const Real size = std::max({Real(1), Real(abs(a)), Real(abs(b))}), apart = abs(a - b) / size;
  if (apart < Real("1e-80")) return 0;
  if (apart < Real("1e-20"))
    throw std::logic_error("neither equal nor apart: " + a.str(40) + " and " + b.str(40));
  return a < b ? -1 : 1;
}

Real score_of(const Encoding& e, const Learned& learned, const Vector& x, Position m,
              const Vector& y, Position n) {
  return e.score(learned, e.query(learned, x, m), e.key(learned, y, n, m), m, n);
}

const std::vector<EncodingLaw>& all_laws() {
  static const std::vector<EncodingLaw> laws = {
      {"relative", "s(m + t, n + t) = s(m, n): the score depends on m - n only", relative},
      {"keeps norms", "|f_q(x, m)| = |W_q x|; \"not of vectors\" where f_q takes no position",
       keeps_norms},
      {"neutral at 0",
       "s(0, 0) is (W_q x).(W_k y) with the paper's factor: position 0 changes nothing", neutral},
      {"falls",
       "the largest s(D, 0) of contents of length 1 falls from each distance D >= 0 to the "
       "next (d = 2, W = I)",
       falls},
      {"falls in the mean",
       "the mean of s(D, 0) over 4^j <= D < 4^(j+1) falls from each window to the next, up to 4096 "
       "or the trained length (d = 128, W = I, x = y with all elements 1/sqrt(2))",
       falls_in_the_mean},
      {"tells direction",
       "swapping m and n, and not the contents, changes the score of some x, y, m, n <= 8",
       [](const Encoding& e) { return tells_direction(e, false); }},
      {"tells direction, q = k", "the same with x = y and W_q = W_k",
       [](const Encoding& e) { return tells_direction(e, true); }},
      {"linear",
       "with one content for all queries and one for all keys, the N x N matrix of s(m, n), or "
       "that of exp(s(m, n)), has a rank that does not grow with N; a causal formula goes on for "
       "n > m",
       linear},
      {"cacheable", "f_k and f_v do not depend on the query's position m", cacheable},
      {"any length", "s(m, n) is defined beyond the trained length", any_length}};
  return laws;
}

}  // namespace ropewalk
