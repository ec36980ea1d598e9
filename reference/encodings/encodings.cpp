// The ten encodings, sorted by name. Each has its source, what this file leaves out, and its
// formulas.
#include <algorithm>

#include "reference/encodings/encoding.h"

namespace ropewalk {
namespace {

/// W P[delta(a, b)], delta from 0 to 2k - 1.
Vector place(const Learned& learned, std::string_view matrix, Position a, Position b) {
  const std::int64_t k = learned.clip;
  return learned.times(matrix, learned.vector("P", std::clamp(a - b, -k, k - 1) + k));
}

Real deberta_score(const Learned& learned, const Vector& q, const Vector& k, Position m,
                   Position n) {
  return scaled(
      dot(q, k) + dot(q, place(learned, "W_kr", m, n)) + dot(k, place(learned, "W_qr", n, m)), 3,
      learned.dim);
}

Vector of_distance(const Learned& learned, std::string_view table, Position distance) {
  return learned.vector(table, std::clamp(distance, -learned.clip, learned.clip));
}

Real transformer_xl_score(const Learned& learned, const Vector& q, const Vector& k, Position m,
                          Position n) {
  const Vector place = learned.times("W_kR", sinusoid(learned.dim, m - n));
  return scaled(dot(q, k) + dot(q, place) + dot(learned.vector("u", 0), k) +
                    dot(learned.vector("v", 0), place),
                1, learned.dim);
}

Real tupe_score(const Learned& learned, const Vector& q, const Vector& k, Position m, Position n) {
  const Real places = dot(learned.times("U_q", learned.of_position("p", m)),
                          learned.times("U_k", learned.of_position("p", n)));
  return scaled(dot(q, k) + places, 2, learned.dim) +
         learned.number("b", t5_bucket(n - m, learned.buckets, learned.last_bucket));
}

Vector scaled_pairs(Vector x, std::int64_t exponent) {
  const std::size_t pairs = x.size() / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    // zeta_i = (i / (d/2) + 0.4) / 1.4
    const Real zeta = Real(5 * i + 2 * pairs) / Real(7 * pairs);
    const Real factor = pow(zeta, exponent);
    x[2 * i] *= factor;
    x[2 * i + 1] *= factor;
  }
  return x;
}

const Encoding encodings[] = {
    {// The slopes are those of a number of heads that is a power of two. The paper interleaves two
     // such rows for other numbers.
     .name = "alibi",
     .title = "ALiBi: a slope on the distance",
     .source = "Press et al. 2022, arXiv:2108.12409, section 3",
     .formula = "q.k / sqrt(d) - 2^(-8h/H) (m - n) for n <= m, head h = 1 .. H",
     .note =
         "Head 1 of 8 here: its slope is 1/2. Law 8 is of the formula without the mask: at fixed "
         "contents exp(s) is a constant times exp(-slope m) exp(slope n).",
     .causal = true,
     .score = [](const Learned& l, const Vector& q, const Vector& k, Position m,
                 Position n) -> Real {
       return scaled(dot(q, k), 1, l.dim) - pow(Real(2), Real(-8 * l.head) / l.heads) * (m - n);
     }},
    {// RoFormer's equation 10 has p_{m-n} in both terms and no projections for it.
     .name = "deberta",
     .title = "DeBERTa: content meets distance, from both sides",
     .source = "He et al. 2021, arXiv:2006.03654, equations 2 to 4",
     .formula = "(q.k + q.(W_kr P[delta(m, n)]) + k.(W_qr P[delta(n, m)])) / sqrt(3d), "
                "delta(a, b) = clip(a - b, -r, r - 1) + r, P learned",
     .note =
         "The limit r is 2 here. The absolute positions of its decoder are left out. Law 7 depends "
         "on the draw and on the code: it holds where W_kr and W_qr differ, and with delta(m, n) "
         "in both terms, as the released code has it.",
     .has_parameters = true,
     .factor = 3,
     .score = deberta_score},
    {.name = "learned",
     .title = "Learned, added to x",
     .source = "Gehring et al. 2017, arXiv:1705.03122, section 3.1; BERT, arXiv:1810.04805",
     .f_q = "W_q (x_m + p_m), p a learned table with a row for each trained position",
     .f_k = "W_k (x_n + p_n)",
     .f_v = "W_v (x_n + p_n)",
     .note = "BERT normalizes the sum and adds segments; both are left out.",
     .has_parameters = true,
     .query = [](const Learned& l, const Vector& x,
                 Position m) { return l.times("W_q", sum(x, l.of_position("p", m))); },
     .key = [](const Learned& l, const Vector& x, Position n,
               Position) { return l.times("W_k", sum(x, l.of_position("p", n))); },
     .value = [](const Learned& l, const Vector& x, Position n,
                 Position) { return l.times("W_v", sum(x, l.of_position("p", n))); }},
    {// The pairs are (2i, 2i + 1), i from 0.
     .name = "rope",
     .title = "RoPE: queries and keys turned",
     .source = "Su et al. 2021, arXiv:2104.09864, equations 14 to 16",
     .f_q = "R_m W_q x_m, R_m turns pair i = 0 .. d/2 - 1 by the angle m 10000^(-2i/d)",
     .f_k = "R_n W_k x_n",
     .formula = "q.k / sqrt(d) = (W_q x_m).(R_(n-m) W_k x_n) / sqrt(d)",
     .query = [](const Learned& l, const Vector& x,
                 Position m) { return turned(l.times("W_q", x), m); },
     .key = [](const Learned& l, const Vector& x, Position n,
               Position) { return turned(l.times("W_k", x), n); }},
    {// The vector is added behind W_k and W_v. RoFormer's equation 5 adds it to x instead.
     .name = "shaw",
     .title = "Shaw: vectors of the distance on keys and values",
     .source = "Shaw et al. 2018, arXiv:1803.02155, equations 3 and 4",
     .f_k = "W_k x_n + aK[c], c = clip(n - m, -r, r), aK learned",
     .f_v = "W_v x_n + aV[c], aV learned",
     .note = "The limit r is 2 here.",
     .has_parameters = true,
     .key = [](const Learned& l, const Vector& x, Position n,
               Position m) { return sum(l.times("W_k", x), of_distance(l, "aK", n - m)); },
     .value = [](const Learned& l, const Vector& x, Position n,
                 Position m) { return sum(l.times("W_v", x), of_distance(l, "aV", n - m)); }},
    {// The factor sqrt(d) on x that section 3.4 of the paper adds is part of x here.
     .name = "sinusoidal",
     .title = "Sinusoidal, added to x",
     .source = "Vaswani et al. 2017, arXiv:1706.03762, section 3.5",
     .f_q = "W_q (x_m + p_m), p_m[2i] = sin(m 10000^(-2i/d)), p_m[2i+1] = cos(m 10000^(-2i/d)), "
            "i = 0 .. d/2 - 1",
     .f_k = "W_k (x_n + p_n)",
     .f_v = "W_v (x_n + p_n)",
     .note = "Law 5 depends on x here: the mean rises for x = -3 (1, .., 1) / sqrt(2).",
     .query = [](const Learned& l, const Vector& x,
                 Position m) { return l.times("W_q", sum(x, sinusoid(l.dim, m))); },
     .key = [](const Learned& l, const Vector& x, Position n,
               Position) { return l.times("W_k", sum(x, sinusoid(l.dim, n))); },
     .value = [](const Learned& l, const Vector& x, Position n,
                 Position) { return l.times("W_v", sum(x, sinusoid(l.dim, n))); }},
    {// T5 does not divide by sqrt(d). Its decoder has buckets for one direction; those of the
     // encoder are taken.
     .name = "t5",
     .title = "T5: a number for each bucket of distances",
     .source = "Raffel et al. 2020, arXiv:1910.10683, section 2.1, and its code",
     .formula = "q.k + b[bucket(n - m)], b learned",
     .note =
         "Released models have 32 buckets up to distance 128; here 8 up to 8, so buckets 0 to 3 "
         "are n - m = 0, -1, -2 and -3, -4 and less; 5 to 7 the same ahead.",
     .has_parameters = true,
     .factor = 0,
     .score = [](const Learned& l, const Vector& q, const Vector& k, Position m, Position n)
         -> Real { return dot(q, k) + l.number("b", t5_bucket(n - m, l.buckets, l.last_bucket)); }},
    {// Its memory of earlier segments is left out. It looks back only, and this formula goes on for
     // n > m as XLNet's does.
     .name = "transformer_xl",
     .title = "Transformer-XL: a sinusoid of the distance",
     .source = "Dai et al. 2019, arXiv:1901.02860, section 3.3",
     .f_k = "W_kE x_n",
     .formula = "(q.k + q.(W_kR R[m-n]) + u.k + v.(W_kR R[m-n])) / sqrt(d), R[j] the sinusoidal "
                "vector of j; u, v learned",
     .note = "The factor is that of its code. The paper looks back only (n <= m); here the formula "
             "goes on. u and v are u[0] and v[0] below, W_kE is W_k.",
     .has_parameters = true,
     .score = transformer_xl_score},
    {// This is TUPE-R. The paper's normalization of p is left out.
     .name = "tupe",
     .title = "TUPE: positions with projections of their own",
     .source = "Ke et al. 2021, arXiv:2006.15595, equations 7 and 8",
     .formula = "(q.k + (U_q p_m).(U_k p_n)) / sqrt(2d) + b[bucket(n - m)], p and b learned",
     .note = "The separate scores of the token [CLS] are left out. Buckets as in t5.",
     .has_parameters = true,
     .factor = 2,
     .score = tupe_score},
    {// gamma = 0.4, as in algorithm 1 of the paper. The released code (torchscale) counts positions
     // from the middle of the text, which changes no score. Its attention in blocks is left out.
     .name = "xpos",
     .title = "xPos: RoPE with a scale that falls with the distance",
     .source = "Sun et al. 2022, arXiv:2212.10554, section 3",
     .f_q = "Z^m R_m W_q x_m, Z scales pair i by zeta_i = (i / (d/2) + 0.4) / 1.4",
     .f_k = "Z^-n R_n W_k x_n",
     .note = "The released code has zeta^(1/512) in place of zeta: it falls 512 times slower.",
     .query = [](const Learned& l, const Vector& x,
                 Position m) { return scaled_pairs(turned(l.times("W_q", x), m), m); },
     .key = [](const Learned& l, const Vector& x, Position n,
               Position) { return scaled_pairs(turned(l.times("W_k", x), n), -n); }},
};

}  // namespace

const std::vector<const Encoding*>& all_encodings() {
  static const std::vector<const Encoding*> all = [] {
    std::vector<const Encoding*> out;
    for (const Encoding& each : encodings) out.push_back(&each);
    return out;
  }();
  return all;
}

}  // namespace ropewalk
