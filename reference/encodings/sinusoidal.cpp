// sinusoidal: a fixed vector of sines and cosines is added to x before the projections.
//
// Source: "Attention Is All You Need" (arXiv:1706.03762), section 3.5. The factor sqrt(d) on x that
// its section 3.4 adds is part of x here.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

const RegisteredEncoding sinusoidal({
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
                Position) { return l.times("W_v", sum(x, sinusoid(l.dim, n))); },
});

}  // namespace
}  // namespace ropewalk
