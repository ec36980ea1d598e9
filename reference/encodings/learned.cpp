// learned: a learned vector for each position is added to x before the projections.
//
// Source: Gehring et al. 2017 (arXiv:1705.03122), section 3.1; BERT (arXiv:1810.04805), section 3.
// BERT's segment embeddings and its normalization behind the sum are left out.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

const RegisteredEncoding learned({
    .name = "learned",
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
                Position) { return l.times("W_v", sum(x, l.of_position("p", n))); },
});

}  // namespace
}  // namespace ropewalk
