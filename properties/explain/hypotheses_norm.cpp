// What a kernel may have done wrong in the norm before the rotation.
#include <cmath>

#include "harness/cases/fused.h"
#include "harness/cases/stored.h"
#include "properties/explain/causes.h"
#include "properties/explain/facts.h"
#include "properties/explain/hypotheses.h"

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
  const int weight = p.tensor[tensor].weight;
  if (weight < 0 || d >= p.asked.tensor[tensor].head_dim) return 1;
  return load(given(p, s.placement, weight), Dtype{p.norm.weight_dtype}, d) + (one ? 1 : 0);
}

}  // namespace

void add_norm(const Facts& k, const Scene& scene, std::vector<Hypothesis>& list) {
  const Problem& p = scene.problem;
  const double epsilon = p.norm.epsilon;
  const bool plus_one = p.norm.weight_plus_one != 0;
  // factor(head) multiplies every element of a head, weigh(s, d) element d; `head`: -1: its own.
  const auto add = [&](std::string name, auto factor, auto weigh, std::int64_t head = -1) {
    list.push_back({std::move(name), [=, &k, &p](const Seen& s) -> std::optional<C> {
                      if (!marks(&p.norm, s.at.tensor)) return {};
                      const double by = factor(GivenHead(k, s, head < 0 ? s.at.h : head));
                      const PairIndex e = pair_elements(p.asked, s.at.tensor, s.pair);
                      const C x = k.pair_of(s, s.at);
                      return k.turned(
                          {x.real() * by * weigh(s, e.first), x.imag() * by * weigh(s, e.second)},
                          s.r);
                    }});
  };
  const auto right = [epsilon](const GivenHead& h) {
    return 1 / std::sqrt(h.squares / h.dims + epsilon);
  };
  const auto own = [&p, plus_one](const Seen& s, std::int64_t d) {
    return weight_of(p, s, s.at.tensor, d, plus_one);
  };
  const auto none = [](const Seen&, std::int64_t) { return 1.0; };
  add(
      cause("no_norm"), [](const GivenHead&) { return 1.0; }, none);
  add(cause("no_weights"), right, none);
  add(cause("no_plus_one"), right,
      [&p](const Seen& s, std::int64_t d) { return weight_of(p, s, s.at.tensor, d, false); });
  add(cause("first_weights"), right,
      [&p, plus_one](const Seen& s, std::int64_t d) { return weight_of(p, s, 0, d, plus_one); });
  add(cause("weights_exchanged"), right, [&p, plus_one](const Seen& s, std::int64_t d) {
    return weight_of(p, s, s.at.tensor == 0 && p.asked.tensor_count > 1 ? 1 : 0, d, plus_one);
  });
  add(
      cause("epsilon_outside"),
      [epsilon](const GivenHead& h) { return 1 / (std::sqrt(h.squares / h.dims) + epsilon); }, own);
  add(
      cause("epsilon_1e_6"),
      [](const GivenHead& h) { return 1 / std::sqrt(h.squares / h.dims + 1e-6); }, own);
  add(
      cause("sum_of_squares"),
      [epsilon](const GivenHead& h) { return 1 / std::sqrt(h.squares + epsilon); }, own);
  const auto rotary_dim = static_cast<double>(p.asked.rotary_dim);
  add(
      cause("window_mean"),
      [=](const GivenHead& h) { return 1 / std::sqrt(h.window_squares / rotary_dim + epsilon); },
      own);
  add(
      cause("variance"),
      [epsilon](const GivenHead& h) {
        const double mean = h.sum / h.dims;
        return 1 / std::sqrt(h.squares / h.dims - mean * mean + epsilon);
      },
      own);
  add(cause("first_head_norm"), right, own, 0);
  list.push_back({cause("weights_after"), [=, &k, &p](const Seen& s) -> std::optional<C> {
                    if (!marks(&p.norm, s.at.tensor)) return {};
                    const double by = right(GivenHead(k, s, s.at.h));
                    const PairIndex e = pair_elements(p.asked, s.at.tensor, s.pair);
                    const C y = k.turned(by * k.pair_of(s, s.at), s.r);
                    return C{y.real() * own(s, e.first), y.imag() * own(s, e.second)};
                  }});
}

}  // namespace ropewalk::properties
