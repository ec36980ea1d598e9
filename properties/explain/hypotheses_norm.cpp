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
  // factor(head) multiplies every element of a head, weigh(s, d) element d, before the rotation or
  // after it; `head`: -1: its own.
  const auto add = [&](std::string name, auto weigh, auto factor, std::int64_t head = -1,
                       bool after = false) {
    list.push_back({std::move(name), [=, &k, &p](const Seen& s) -> std::optional<C> {
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

}  // namespace ropewalk::properties
