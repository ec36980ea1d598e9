#include "properties/explain/hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "harness/cases/fused.h"
#include "harness/cases/names.h"
#include "harness/cases/stored.h"
#include "kernels/api/half.h"
#include "properties/explain/causes.h"
#include "properties/explain/facts.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

using C = std::complex<double>;

// A head as it is given: its squares and its sum, over all dims or the window alone.
struct GivenHead {
  double sum = 0, squares = 0, window_squares = 0, dims = 0;

  GivenHead(const Facts& k, const Seen& s, std::int64_t head) {
    HeadPlace at = s.at;
    at.h = head;
    const rope_tensor& t = k.tensor(s);
    dims = static_cast<double>(t.head_dim);
    for (std::int64_t d = 0; d < t.head_dim; ++d) {
      const double x = k.element(s, at, d);
      const bool in_window = d >= t.rotary_offset && d < t.rotary_offset + k.asked().rotary_dim;
      sum += x;
      squares += x * x;
      window_squares += in_window ? x * x : 0;
    }
  }
};

double weight_of(const Problem& p, const Seen& s, std::uint32_t tensor, std::int64_t d, bool one) {
  const int weight = p.buffer(Operand::weight, tensor);
  if (weight < 0 || d >= p.asked.tensor[tensor].head_dim) return 1;
  return load(given(p, s.placement, weight), Dtype{p.norm.weight_dtype}, d) + (one ? 1 : 0);
}

using C = std::complex<double>;
using Output = std::optional<C>;

double to_bf16(double value) {
  return double{Bf16{static_cast<float>(value)}};
}
C to_bf16(const C& z) {
  return {to_bf16(z.real()), to_bf16(z.imag())};
}

bool are_wider_than_bf16(const Case& c) {
  return std::ranges::all_of(c.tensors, [&c](const TensorCase& t) {
    const DataType& type = data_type(tensor_dtype(c, t));
    return type.format.mantissa > data_type(Dtype::bf16).format.mantissa;
  });
}

using List = std::vector<Hypothesis>;
using Function = std::function<Output(const Seen&)>;

// A hypothesis that does not apply to a scene keeps its place in the list.
Function only_if(bool applies, Function output) {
  if (applies) return output;
  return [](const Seen&) -> Output { return {}; };
}

// Adds those that turn each pair by another rotation.
struct TurnsBy {
  const Facts& k;
  List& list;
  template <class Rotation>
  void operator()(Cause what, Rotation rotation, bool applies = true) const {
    list.push_back({std::move(what), only_if(applies, [&k = k, rotation](const Seen& s) -> Output {
                      return k.turned(s.x, rotation(s));
                    })});
  }
};

void add_values(const Facts& k, List& list) {
  const double a = k.scale();
  const bool scales = a != 1, table = k.source().contract == ROPE_CONTRACT_TABLE;
  const TurnsBy turns{k, list};
  const auto add = [&list](Cause what, Function output, bool applies = true) {
    list.push_back({std::move(what), only_if(applies, std::move(output))});
  };
  const auto scaled_by = [a](double instead) {
    return [a, instead](const Seen& s) { return s.truth / a * instead; };
  };
  const Cause copies = cause("copies", scales ? ", not scaled either" : " at all");
  add(cause("zeros"), [](const Seen&) { return C{0, 0}; });
  add(copies, [](const Seen& s) { return s.x; });
  add(scales ? cause("scales_alone") : copies, [a](const Seen& s) { return a * s.x; });
  add(cause("no_scale"), scaled_by(1), scales);
  add(cause("scale_twice"), scaled_by(a * a), scales);
  add(cause("scale_sign"), scaled_by(-a), a < 0);
  turns(k.backward() ? cause("forward") : cause("other_way"),
        [](const Seen& s) { return std::conj(s.r); });
  const auto angle = [&k](const Seen& s, bool divides) {
    const double f = k.frequency(s.pair), m = static_cast<double>(s.position);
    return !divides ? turn(m, f) : f > 0 ? Output(turn(m, 1 / f)) : Output();
  };
  turns(
      cause("divides"), [angle](const Seen& s) { return angle(s, true); }, !table);
  turns(
      cause("own_angles"), [angle](const Seen& s) { return angle(s, false); },
      table && k.source().table_apart != 0);
  turns(cause("twice"), [](const Seen& s) { return s.r * s.r; });
  const auto back = [&k](const Seen& s) { return k.turned(s.x, std::conj(s.r)); };
  add(cause("second_sign"), [back](const Seen& s) { return C{s.truth.real(), back(s).imag()}; });
  add(cause("first_sign"), [back](const Seen& s) { return C{back(s).real(), s.truth.imag()}; });
  turns(cause("cos_for_sin"), [](const Seen& s) { return C{s.r.imag(), s.r.real()}; });
}

void add_places(const Facts& k, List& list) {
  const Pairing own = k.source().pairing, other = other_than(own);
  const auto add = [&](const char* name, Pairing read, Pairing written) {
    list.push_back({cause(name, word_of(other), word_of(own)),
                    [&k, read, written](const Seen& s) {
                      return k.rearranged(s, read, written, k.tensor(s).rotary_offset);
                    },
                    [&k, read, written](const Seen& s) {
                      return k.longest(s, read, written, k.tensor(s).rotary_offset);
                    }});
  };
  add("pairs_as", other, other);
  add("writes_as", own, other);
  add("reads_as", other, own);
  list.push_back({cause("far_partner"), [&k](const Seen& s) { return k.with_far_partner(s); },
                  nullptr, [&k](const Seen& s, std::int64_t e) { return k.far_element(s, e); }});
  list.push_back({cause("no_offset"), [&k, own](const Seen& s) -> Output {
                    if (k.tensor(s).rotary_offset == 0) return {};
                    return k.rearranged(s, own, own, 0);
                  }});
  const auto from_head = [&](Cause what, auto head) {
    list.push_back({std::move(what), [&k, head](const Seen& s) -> Output {
                      HeadPlace at = s.at;
                      at.h = head(s);
                      return k.turned(k.pair_of(s, at), s.r);
                    }});
  };
  from_head(cause("head_0"), [](const Seen&) { return 0; });
  from_head(cause("heads_back"), [&k](const Seen& s) { return k.tensor(s).heads - 1 - s.at.h; });
  from_head(cause("next_head"), [&k](const Seen& s) { return (s.at.h + 1) % k.tensor(s).heads; });
  list.push_back({cause("packed_input"), [&k](const Seen& s) -> Output {
                    const rope_tensor& t = k.tensor(s);
                    const auto row = (s.at.b * k.asked().tokens + s.at.t) * t.heads + s.at.h;
                    const auto shift =
                        row * t.head_dim - in_index(k.asked(), s.at.tensor, s.at.b, s.at.t, s.at.h);
                    if (shift >= 0) return {};  // it is contiguous, or outside the buffer
                    const PairIndex e = pair_elements(k.asked(), s.at.tensor, s.pair);
                    return k.turned(
                        {k.element(s, s.at, e.first + shift), k.element(s, s.at, e.second + shift)},
                        s.r);
                  }});
}

void add_axes(const Facts& k, List& list) {
  const auto add = [&k, turns = TurnsBy{k, list}](Cause what, auto axis_for) {
    turns(
        std::move(what),
        [&k, axis_for](const Seen& s) {
          return k.rotation(s,
                            k.position_on(s, axis_for(axis_of(k.source().axis_of_pair, s.pair))));
        },
        k.axes() > 1);
  };
  for (std::size_t a = 0; a < k.axes(); ++a) {
    add(cause("axis_for_all", a), [a](std::size_t) { return a; });
    for (std::size_t b = 0; b < a; ++b)
      add(cause("axes_exchanged", b, a), [a, b](std::size_t own) {
        return own == a ? b : own == b ? a : own;
      });
  }
}

void add_positions(const Facts& k, List& list) {
  const TurnsBy turns{k, list};
  const auto add = [&k, turns](Cause what, auto position, bool applies = true) {
    turns(
        std::move(what), [&k, position](const Seen& s) { return k.rotation(s, position(s)); },
        applies);
  };
  turns(cause("table_of_first"), [&k](Seen s) {
    s.at.tensor = 0;
    return k.rotation(s, s.position);
  });
  const auto row_beside = [&k](std::int64_t step) {
    return [&k, step](const Seen& s) {
      if (k.asked().table_rows_by != ROPE_ROW_BY_TOKEN) return s.position + step;
      const std::int64_t row = s.at.b * k.asked().tokens + s.at.t + step;
      const bool inside = row >= 0 && row < k.asked().batch * k.asked().tokens;
      return inside
                 ? k.position(s.placement, row / k.asked().tokens, row % k.asked().tokens, s.pair)
                 : position_limit;  // no rotation
    };
  };
  const bool table = k.source().contract == ROPE_CONTRACT_TABLE;
  add(cause("row_before"), row_beside(-1), table);
  add(cause("row_behind"), row_beside(1), table);
  add(cause("batch_row_0"),
      [&k](const Seen& s) { return k.position(s.placement, 0, s.at.t, s.pair); });
  add(cause("first_position"),
      [&k](const Seen& s) { return k.position(s.placement, s.at.b, 0, s.pair); });
  add(cause("token_index"), [](const Seen& s) { return s.at.t; });
  add(cause("consecutive"),
      [&k](const Seen& s) { return k.position(s.placement, s.at.b, 0, s.pair) + s.at.t; });
  for (const std::int64_t block : {4, 8, 16, 32, 64})
    add(cause("block_consecutive", block, block - 1), [&k, block](const Seen& s) {
      const std::int64_t first = s.at.t / block * block, last = first + block - 1;
      if (last >= k.asked().tokens) return s.position;
      const std::int64_t from = k.position(s.placement, s.at.b, first, s.pair);
      const bool taken = k.position(s.placement, s.at.b, last, s.pair) - from == block - 1;
      return taken ? from + s.at.t - first : s.position;
    });
  add(cause("position_sign"), [](const Seen& s) { return std::max(s.position, -s.position); });
  add(cause("positions_before"),
      [&k](const Seen& s) { return k.position(0, s.at.b, s.at.t, s.pair); });
  add(cause("positions_bf16"), [](const Seen& s) {
    return static_cast<std::int64_t>(to_bf16(static_cast<double>(s.position)));
  });
  add(cause("positions_f32"),
      [](const Seen& s) { return static_cast<std::int64_t>(static_cast<float>(s.position)); });
  const auto halves = [&k](const Seen& s) {
    const std::int64_t tokens = k.asked().tokens, at = s.at.b * tokens + s.at.t;
    const std::int64_t whole = k.position(s.placement, at / 2 / tokens, at / 2 % tokens, s.pair);
    return at % 2 == 0 ? whole : std::int64_t{whole < 0 ? -1 : 0};
  };
  add(cause("positions_halved"), halves, k.source().position_dtype == Dtype::i64);
  for (int bits = 8; bits <= 24; ++bits) {
    const std::int64_t top = std::int64_t{1} << bits;
    for (const std::int64_t largest : {top - 1, top})
      add(cause("clamps", largest),
          [largest](const Seen& s) { return std::min(s.position, largest); });
    if (bits == 8 || bits == 16)
      add(cause("keeps_bits", bits), [top](const Seen& s) { return s.position & (top - 1); });
  }
}

// The slot of a token holds the row of another one: `row_in` gives its number, or the token's own.
void add_slots(const Facts& k, const Problem& p, List& list) {
  using Slots = std::vector<std::int64_t>;
  const auto add = [&](Cause what, auto row_in) {
    const auto other = [&p, row_in](Seen s) {
      const std::int64_t tokens = p.asked.tokens, own = s.at.b * tokens + s.at.t;
      const auto& slots = s.placement == 1 ? p.other_slots : p.slots;
      const std::int64_t from = marks(&p.append, s.at.tensor) ? row_in(slots, own) : own;
      s.at.b = from / tokens;
      s.at.t = from % tokens;
      s.position = position_of(p, s.placement, s.at.b, s.at.t, s.pair);
      return s;
    };
    list.push_back({std::move(what),
                    [&k, &p, other](const Seen& s) -> Output {
                      const Seen of = other(s);
                      if (of.at.b == s.at.b && of.at.t == s.at.t) return s.truth;
                      return k.turned(as_complex(input_pair(p, s.placement, of.at, s.pair)),
                                      k.rotation(of, of.position));
                    },
                    nullptr,
                    [&k, other](const Seen& s, std::int64_t e) {
                      return std::optional(k.element(s, other(s).at, e));
                    }});
  };
  add(cause("to_slot_0"), [](const Slots& slots, std::int64_t own) {
    const std::int64_t from = slots.rend() - std::find(slots.rbegin(), slots.rend(), -1) - 1;
    return slots[static_cast<std::size_t>(own)] == 0 ? std::max(own, from) : own;
  });
  add(cause("next_slot"), [](const Slots& slots, std::int64_t own) {
    return (own + std::ssize(slots) - 1) % std::ssize(slots);
  });
  add(cause("slots_before"), [&p](const Slots& slots, std::int64_t own) {
    const auto in = std::ranges::find(p.slots, slots[static_cast<std::size_t>(own)]);
    return in == p.slots.end() ? own : in - p.slots.begin();
  });
}

void add_angles(const Facts& k, List& list) {
  const TurnsBy add{k, list};
  const bool own = k.source().contract != ROPE_CONTRACT_TABLE;  // only then it makes angles
  const std::int64_t pairs = k.source().rotary_dim / 2;
  const auto neighbour = [&k, pairs](std::int64_t step) {
    return [&k, pairs, step](const Seen& s) -> std::optional<C> {
      const std::int64_t i = s.pair + step, inside = s.pair - step;
      if (i >= 0 && i < pairs) return k.rotation_of_pair(s, i);
      if (inside < 0 || inside >= pairs) return {};
      const double f = k.frequency(s.pair);  // the geometric sequence continues beyond its ends
      return turn(static_cast<double>(s.position), f * f / k.frequency(inside));
    };
  };
  add(cause("pair_before"), neighbour(-1));
  add(cause("pair_behind"), neighbour(1));
  add(cause("pair_0"), [&k](const Seen& s) { return k.rotation_of_pair(s, 0); });
  const auto own_angle = [](const Seen& s, double f) {
    return turn(static_cast<double>(s.position), f);
  };
  add(cause("head_dim_frequencies"), [&k, own_angle](const Seen& s) {
    const auto dims = static_cast<double>(k.tensor(s).head_dim);
    if (k.tensor(s).head_dim == k.source().rotary_dim) return Output();
    const double exponent = -2 * static_cast<double>(s.pair) / dims;
    return Output(own_angle(s, std::pow(k.source().rope_theta, exponent)));
  });
  add(
      cause("inv_freq_bf16"),
      [&k, own_angle](const Seen& s) { return own_angle(s, to_bf16(k.frequency(s.pair))); }, own);
  add(
      cause("angle_f32"),
      [&k](const Seen& s) {
        return turn(
            1, double{static_cast<float>(s.position) * static_cast<float>(k.frequency(s.pair))});
      },
      own);
  add(cause("table_bf16"), [](const Seen& s) { return to_bf16(s.r); });
  list.push_back({cause("other_expansion"), [&k, pairs](const Seen& s) -> Output {
                    const bool adjacent = k.source().pairing == Pairing::interleaved;
                    const auto first =
                        k.rotation_of_pair(s, adjacent ? 2 * s.pair % pairs : s.pair / 2);
                    const auto second = k.rotation_of_pair(
                        s, adjacent ? (2 * s.pair + 1) % pairs : (s.pair + pairs) / 2);
                    if (!first || !second) return {};
                    return C{k.turned(s.x, *first).real(), k.turned(s.x, *second).imag()};
                  }});
  list.push_back({cause("first_outputs"), [&k](const Seen& s) -> Output {
                    return C{s.truth.real(), k.turned({s.truth.real(), s.x.imag()}, s.r).imag()};
                  }});
}

void add_roundings(const Facts& k, List& list) {
  // Where inputs, or results alone, are flushed, products may be or not: the nearest counts.
  for (const bool inputs : {true, false})
    list.push_back({cause("subnormals"), [&k, inputs](const Seen& s) -> Output {
                      const double least =
                          data_type(tensor_dtype(k.source(), s.at.tensor)).format.normal;
                      const auto f = [least](double v) { return std::abs(v) < least ? 0 : v; };
                      const auto sum = [&](double a, double b, double y) {
                        const double all[] = {a + b, f(a) + b, a + f(b), f(a) + f(b)};
                        return f(k.scale() * *std::ranges::min_element(all, {}, [&](double v) {
                                   return std::abs(f(k.scale() * v) - y);
                                 }));
                      };
                      const C x = inputs ? C{f(s.x.real()), f(s.x.imag())} : s.x;
                      const C r = k.backward() ? std::conj(s.r) : s.r;
                      return C{sum(x.real() * r.real(), -x.imag() * r.imag(), s.y.real()),
                               sum(x.real() * r.imag(), x.imag() * r.real(), s.y.imag())};
                    }});
  // Every correct kernel of bf16 or narrower data rounds this way.
  const bool wider = are_wider_than_bf16(k.source());
  list.push_back({cause("input_bf16"), only_if(wider, [&k](const Seen& s) -> Output {
                    return k.turned(to_bf16(s.x), s.r);
                  })});
  // Takes either neighbour of a value next to a tie, since the rounded value may be off by the
  // bound.
  const auto rounded = [](double truth, double seen, double bound) {
    for (const double moved : {truth - bound, truth + bound})
      if (to_bf16(moved) == seen) return seen;
    return to_bf16(truth);
  };
  list.push_back({cause("output_bf16"), only_if(wider, [rounded](const Seen& s) -> Output {
                    return C{rounded(s.truth.real(), s.y.real(), s.bound),
                             rounded(s.truth.imag(), s.y.imag(), s.bound)};
                  })});
}

std::vector<const Seen*> each_wrong_pair(const Scene& scene) {
  std::vector<const Seen*> wrong;
  for (const Seen& s : scene.pairs)
    if (s.wrong && std::abs(s.truth) > 0) wrong.push_back(&s);
  return wrong;
}

double phase_error(const Seen& s, bool backward) {
  const double d = std::arg(s.y / s.truth);
  return backward ? -d : d;
}

// One factor on all outputs, fitted to the wrong pairs.
std::optional<double> fitted_gain(const std::vector<const Seen*>& wrong) {
  constexpr std::size_t enough = 3;
  if (wrong.size() < enough) return {};
  const auto worst = *std::ranges::max_element(wrong, [](auto a, auto b) {
    return std::abs(a->truth) / a->bound < std::abs(b->truth) / b->bound;
  });
  return std::abs(worst->y) / std::abs(worst->truth);
}

// Pairs that turn by another axis than their own, each in all its tokens.
Hypothesis other_axes(const std::shared_ptr<Facts>& k, const Scene& scene) {
  const auto turned = [k](const Seen& s, std::size_t axis) -> Output {
    return k->turned(s.x, k->rotation(s, k->position_on(s, axis)));
  };
  std::map<std::int64_t, std::set<std::size_t>> axes;  // that fit, of each wrong pair
  for (const Seen& s : scene.pairs) {
    if (!s.wrong) continue;
    const auto [of, is_new] = axes.try_emplace(s.pair);
    for (std::size_t a = 0; is_new && k->axes() > 1 && a < k->axes(); ++a) of->second.insert(a);
    std::erase_if(of->second, [&](std::size_t axis) {
      const Output y = turned(s, axis);
      return !y || !(std::abs(s.y - *y) <= 2 * s.bound);
    });
  }
  std::string words;
  for (const auto& [pair, fit] : axes)
    words +=
        (words.empty() ? "" : ", ") + cause("pair_by_axis", pair, fmt::join(fit, " or ")).words;
  const bool fits = std::ranges::none_of(axes, [](const auto& of) { return of.second.empty(); });
  return {cause("other_axes", words), only_if(fits, [axes, turned](const Seen& s) -> Output {
            const auto of = axes.find(s.pair);
            return of == axes.end() ? Output(s.truth) : turned(s, *of->second.begin());
          })};
}

std::size_t different(const std::vector<const Seen*>& pairs, std::int64_t Seen::*number) {
  std::set<std::int64_t> numbers;
  for (const Seen* s : pairs) numbers.insert(s->*number);
  return numbers.size();
}

// Positions that are off by a constant. It is read off the slowest pair, where no whole turn is
// lost.
std::optional<std::int64_t> fitted_offset(const Facts& k, const std::vector<const Seen*>& wrong) {
  if (different(wrong, &Seen::pair) < 2) return {};
  const Seen& slowest = **std::ranges::min_element(
      wrong, [&](auto a, auto b) { return k.frequency(a->pair) < k.frequency(b->pair); });
  if (!(k.frequency(slowest.pair) > 0)) return {};
  const double offset = std::round(phase_error(slowest, k.backward()) / k.frequency(slowest.pair));
  if (!(std::abs(offset) >= 1 && std::abs(offset) < 0x1p31)) return {};
  return static_cast<std::int64_t>(offset);
}

// Frequencies that are off by a relative d, so the phase error is d m f. It is read off pairs with
// ever larger m f, so that no whole turn is lost.
std::optional<double> fitted_frequency(const Facts& k, std::vector<const Seen*> wrong) {
  const auto angle = [&](const Seen* s) {
    return static_cast<double>(s->position) * k.frequency(s->pair);
  };
  std::ranges::sort(
      wrong, [&](const Seen* a, const Seen* b) { return std::abs(angle(a)) < std::abs(angle(b)); });
  if (different(wrong, &Seen::position) < 3 || angle(wrong.front()) == 0) return {};
  double d = phase_error(*wrong.front(), k.backward()) / angle(wrong.front());
  for (const Seen* s : wrong) {
    const double left = std::remainder(phase_error(*s, k.backward()) - d * angle(s), 2 * M_PI);
    d += left / angle(s);
  }
  return d;
}

Cause frequencies_off(double d) {
  constexpr double plain = 1e-3;
  return cause("frequencies", std::abs(d) >= plain
                                  ? fmt::format("{:.4g} times what they should be", 1 + d)
                                  : fmt::format("too {} by {:.2g} of their value",
                                                d < 0 ? "low" : "high", std::abs(d)));
}

}  // namespace

void add_norm(const Facts& k, const Scene& scene, std::vector<Hypothesis>& list) {
  const Problem& p = scene.problem;
  const double epsilon = p.norm.epsilon;
  const bool plus_one = p.norm.weight_plus_one != 0;
  // factor(head) multiplies every element of a head, weigh(s, d) element d, before the rotation or
  // after it; `head`: -1: its own.
  const auto add = [&](Cause what, auto weigh, auto factor, std::int64_t head = -1,
                       bool after = false) {
    list.push_back({std::move(what), [=, &k, &p](const Seen& s) -> std::optional<C> {
                      if (!marks(&p.norm, s.at.tensor)) return {};
                      const PairIndex e = pair_elements(p.asked, s.at.tensor, s.pair);
                      const auto weighed = [&](const C& x) {
                        return C{x.real() * weigh(s, e.first), x.imag() * weigh(s, e.second)};
                      };
                      const C x =
                          factor(GivenHead(k, s, head < 0 ? s.at.h : head)) * k.pair_of(s, s.at);
                      return after ? weighed(k.turned(x, s.r)) : k.turned(weighed(x), s.r);
                    }});
  };
  const auto right = [epsilon](const GivenHead& h) {
    return 1 / std::sqrt(h.squares / h.dims + epsilon);
  };
  const auto of = [&p](std::uint32_t (*tensor)(const Problem&, const Seen&), bool one) {
    return [=, &p](const Seen& s, std::int64_t d) { return weight_of(p, s, tensor(p, s), d, one); };
  };
  constexpr auto its = [](const Problem&, const Seen& s) { return s.at.tensor; };
  const auto own = of(its, plus_one);
  const auto none = [](const Seen&, std::int64_t) { return 1.0; };
  add(cause("no_norm"), none, [](const GivenHead&) { return 1.0; });
  add(cause("no_weights"), none, right);
  add(cause("no_plus_one"), of(its, false), right);
  add(cause("first_weights"), of([](const Problem&, const Seen&) { return 0U; }, plus_one), right);
  const auto other = [](const Problem& of_all, const Seen& s) {
    return s.at.tensor == 0 && of_all.asked.tensor_count > 1 ? 1U : 0U;
  };
  add(cause("weights_exchanged"), of(other, plus_one), right);
  add(cause("epsilon_outside"), own,
      [epsilon](const GivenHead& h) { return 1 / (std::sqrt(h.squares / h.dims) + epsilon); });
  add(cause("epsilon_1e_6"), own,
      [](const GivenHead& h) { return 1 / std::sqrt(h.squares / h.dims + 1e-6); });
  add(cause("sum_of_squares"), own,
      [epsilon](const GivenHead& h) { return 1 / std::sqrt(h.squares + epsilon); });
  const auto rotary_dim = static_cast<double>(p.asked.rotary_dim);
  add(cause("window_mean"), own,
      [=](const GivenHead& h) { return 1 / std::sqrt(h.window_squares / rotary_dim + epsilon); });
  add(cause("variance"), own, [epsilon](const GivenHead& h) {
    const double mean = h.sum / h.dims;
    return 1 / std::sqrt(h.squares / h.dims - mean * mean + epsilon);
  });
  add(cause("first_head_norm"), own, right, 0);
  add(cause("weights_after"), own, right, -1, true);
}

std::vector<Hypothesis> fixed_hypotheses(const Scene& scene) {
  const auto k = std::make_shared<Facts>(scene);
  List list;
  add_values(*k, list);
  add_places(*k, list);
  add_axes(*k, list);
  add_norm(*k, scene, list);
  add_slots(*k, scene.problem, list);
  add_positions(*k, list);
  add_angles(*k, list);
  add_roundings(*k, list);
  for (Hypothesis& h : list)  // the functions refer to the facts, so the list keeps the facts alive
    h.output = [k, output = std::move(h.output)](const Seen& s) { return output(s); };
  add_table_rows(scene, list);
  return list;
}

std::vector<Hypothesis> fitted_hypotheses(const Scene& scene, const Scene& fitted_to) {
  const auto k = std::make_shared<Facts>(scene);
  const Facts from(fitted_to);
  const std::vector<const Seen*> wrong = each_wrong_pair(fitted_to);
  const auto gain = fitted_gain(wrong);
  auto offset = fitted_offset(from, wrong);
  if (offset && std::abs(*offset) == 1 && scene.problem.source.contract == ROPE_CONTRACT_TABLE)
    offset.reset();  // that is a row of the table beside
  const auto d = fitted_frequency(from, wrong);
  return {other_axes(k, scene),
          {cause("gain", gain.value_or(1)),
           only_if(gain.has_value(), [gain](const Seen& s) -> Output { return *gain * s.truth; })},
          {cause("position_off", offset.value_or(0) < 0 ? '-' : '+', std::abs(offset.value_or(0))),
           only_if(offset.has_value(),
                   [k, offset](const Seen& s) -> Output {
                     return k->turned(s.x, k->rotation(s, s.position + *offset));
                   })},
          {frequencies_off(d.value_or(0)), only_if(d.has_value(), [k, d](const Seen& s) -> Output {
             const double extra = *d * static_cast<double>(s.position) * k->frequency(s.pair);
             return s.truth * std::polar(1.0, k->backward() ? -extra : extra);
           })}};
}

}  // namespace ropewalk::properties
