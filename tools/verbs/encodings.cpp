// The page docs/encodings.md: which laws hold for which encoding of positions, with
// counterexamples, and what notes on RoFormer misprint.
#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "reference/encodings/laws.h"
#include "tools/command/session.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
namespace {

constexpr const char* head =
    R"(# RoPE beside nine other encodings of positions

Attention without positions and without a causal mask sees a bag of words. An encoding says where
each word stands. This page asks ten encodings for ten laws, and shows why models use RoPE.

- RoPE puts positions into queries and keys, and still its scores depend on m - n only (law 1). It
  keeps norms (2) and changes nothing at position 0 (3). Its keys can be cached (9).
- Its scores have a bounded rank, so it goes with linear attention (8). It is defined at any length
  (10). No other encoding here does all of that: xPos changes norms, and ALiBi changes no vector.
- RoPE does not make the largest score fall with the distance (4). Only a mean over many pairs falls
  (5). With q = k it does not tell before from behind (7).

The command `ropewalk encodings` computes and prints this page, and a test holds the page to it.
Each encoding is a file of [reference/encodings](../reference/encodings). Numbers have 100 digits,
so "equal" and "falls" are decided and not guessed.

)";

constexpr const char* about_laws = R"(## The laws

A query at position m has content x, a key at position n has content y, both of width d. f_q, f_k
and f_v make query, key and value of them; s(m, n) is the score before the softmax.

)";

constexpr const char* about_draws = R"(
W_q, W_k, W_v and everything learned are parameters, drawn as integers from -2 to 2 for d = 2 and 4;
"W = I" means that all matrices are the identity. A law **holds** if it holds for every draw tried,
and **fails** if one draw breaks it. Laws 1 to 3, 6, 7 and 9 are decided for all contents, law 4 for
all of length 1. Laws 5, 8 and 10 are of the contents that they name. With all of its length in one
pair, the mean of law 5 rises for rope, xpos and sinusoidal too.

The smallest counterexample of a law that fails stands below, with all that is needed to compute it
by hand. Law 5 names the seed of its 128-wide draws alone. Laws 1, 6 and 7 are tried at all m, n <=
8, law 4 up to D = 16 and law 8 at N = 8, 12 and 16, which is beyond the limits of clips and buckets
here.

)";

struct Misprint {
  const char* printed;
  const char* taken;
};

// The tests in reference/encodings compute both sides of those that are formulas of a score.
constexpr Misprint formulas[] = {
    {"`k_n = f_q(x_n, n)`, `v_n = f_q(x_n, n)`",
     "`f_k` and `f_v`. With `f_q` for all three there would be one projection."},
    {"`p_(i,2t) = sin(k / 10000^(2t/d))`",
     "`sin(i / 10000^(2t/d))`, with t from 0: i is the position, and k is nothing. RoFormer itself "
     "prints k."},
    {"`(W_q (x_m + p_n))^T W_k (x_n + p_n)`",
     "`p_m` in the query. The expansion printed behind it has it."},
    {"`r = clip(m - n, r_min, r_max)` (Shaw)",
     "`clip(n - m, -r, r)`: Shaw's index grows with the key's position. With m - n the same table "
     "is "
     "learned in the opposite order."},
    {"`f_k(x_n, n) = W_k (x_n + p_r^k)`, `f_v(x_n, n) = W_v (x_n + p_v^k)`, p in R^b",
     "`f_k(x_n, n; m) = W_k x_n + aK[clip(n - m)]`, for the value `aV`, both in R^d. The index of "
     "the value is r too. The key depends on m, so it cannot be cached. Shaw adds behind W."},
    {"`... + x_m^T W_q^T W_k p_(m-n) + p_(m-n)^T W_q^T W_k x_n` (DeBERTa)",
     "Positions have projections of their own, and in the paper the last term has the distance the "
     "other way round, delta(n, m). With p_(m-n) in both it is another score, which RoFormer "
     "prints and DeBERTa's released code computes."},
    {"`... + x_m^T W_q^T W_k p_(m-n) + u^T W_q^T W_k x_n + v^T W_q^T W_k p_(m-n)` (Transformer-XL)",
     "`W_kR` in place of `W_k` before p, and `u.(W_kE x_n)`, `v.(W_kR p)`: u and v replace "
     "`W_q p_m` and get no `W_q`."},
    {"`b_(n,m)` (T5, TUPE), without a factor",
     "One number for each bucket of n - m. TUPE divides the two products by sqrt(2d)."},
    {"`q_m^T k_n = x^T W_q R_(n-m) W_k x_n`",
     "`x_m^T W_q^T R_(n-m) W_k x_n`: W_q transposed, x of m. RoFormer's equation 16 prints it "
     "without. It is right only if W_q is symmetric."},
    {"`q_m^T k_n = x_m^T W_q^T R_(m-n) W_k x_n`, \"since R is orthogonal\"",
     "`R_(n-m)`, as R_m^T R_n = R_(-m) R_n = R_(n-m). Orthogonal alone is not enough: angles must "
     "add. `Re[(W_q x_m) (W_k x_n)^* e^(i(m-n) theta)]` has m - n and is the same number, because "
     "the conjugate turns the sign."},
    {"`(W_q x_m)^T (W_k x_n) e^(i(m-n) theta)`",
     "`Re[(W_q x_m) (W_k x_n)^* e^(i(m-n) theta)]`, a product of complex numbers. The real product "
     "of two vectors keeps q.k and loses what the sine multiplies."},
    {"`theta_i = 10000^(-2(i-1)/d)`, and in the same text `10000^(-2i/d)`",
     "`10000^(-2i/d)`, i = 0 .. d/2 - 1, which is the other form for i = 1 .. d/2. The second form "
     "beside a matrix of theta_1 .. theta_(d/2) makes the first pair slower: 10000^(-2/d) in place "
     "of 1."},
    {"a matrix of `theta_0 .. theta_(d/2)`",
     "`theta_0 .. theta_(d/2-1)`: d/2 pairs have d/2 angles."},
    {"`(cos m theta_1, cos m theta_2, cos m theta_2, ...)` in the form with two products",
     "Each cosine and each sine stands twice: `(cos m theta_1, cos m theta_1, cos m theta_2, "
     "...)`."},
    {"the sign for tensor products between x and the cosines",
     "Element by element. RoFormer prints it so too."},
    {"`R_m` with the rows `cos, -sin sin, cos`",
     "A line break is lost: `(cos, -sin)`, `(sin, cos)`."},
    {"`-(W_q x_m e^(i m theta)) (W_k x_n e^(i n theta))^*`", "Without the minus, and Re of it."},
    {"\"rotate x_m\", \"by a degree theta\", \"W is the query or the key\"",
     "W_q x_m is the query, and it is rotated, not x_m; R W is not W R. Angles are in radians."},
};

constexpr Misprint claims[] = {
    {"\"The real part is the word, the imaginary part the position\"",
     "Of r e^(i(a + m theta)) both parts have both: the word is r and a, the position adds to the "
     "angle."},
    {"\"Re is taken because attention has no use for the imaginary part\"",
     "`Re[q k^*]` is the dot product of two pairs, and a score is a dot product."},
    {"\"RoPE keeps norms, others do not\"",
     "Law 2: what is added to x changes norms. T5, TUPE, DeBERTa, ALiBi, Shaw and Transformer-XL "
     "do not touch the query at all."},
    {"\"It keeps norms, so it goes with linear attention\"",
     "Law 8 is the reason: R_(n-m) splits into R_m and R_n. Only the numerator is rotated. Its "
     "weights then need not be positive: phi(q) = phi(k) = (1, 0) at distance 2 gives cos 2 = "
     "-0.42. The denominator stays positive because it has no positions."},
    {"\"Other relative encodings do not work with linear attention\"",
     "Law 8: Transformer-XL's sinusoid and ALiBi's slope have bounded rank too. Clipped and "
     "bucketed distances have not."},
    {"\"Relative encodings make the cache of keys unusable\"", "Law 9: only Shaw's keys take m."},
    {"\"The product decays with the distance\"",
     "Laws 4 and 5: one pair comes back after each turn, so the largest score does not fall. What "
     "falls is the mean over windows of many pairs with like contents. RoFormer's section 3.4.3 "
     "proves a bound by Abel's transformation; neither bound nor score is monotone."},
    {"\"It acts like clipping\"",
     "Clipping makes all far distances equal. RoPE goes on turning and tells them apart."},
    {"\"Flexible length, no fixed maximum\"",
     "Law 10: the formula is defined at any position. That a model works beyond its trained length "
     "does not follow: its slow pairs meet angles there that training never had."},
    {"\"d must be even\"",
     "Only the number of rotated elements must be. A model may rotate a part."},
    {"\"It consistently beats its alternatives\"",
     "The table printed with it has 3 of 6 GLUE tasks below BERT: SST-2, QNLI, MNLI."},
    {"\"ALiBi is better and faster\"",
     "Nothing here measures that. By the table both are relative; ALiBi falls, and it has one "
     "number "
     "for a distance where RoPE has an angle for each pair."},
};

const char* word_of(LawCell::Answer answer) {
  switch (answer) {
    case LawCell::holds:
      return "yes";
    case LawCell::fails:
      return "no";
    case LawCell::not_of_vectors:
    case LawCell::causal:
      break;
  }
  return "-";
}

void print_encoding(const Encoding& e, const std::vector<LawCell>& cells) {
  fmt::print("\n### {}\n\n{}. Source: {}.\n\n", e.name, e.title, e.source);
  for (const auto& [name, text] : {std::pair{"f_q", e.f_q}, std::pair{"f_k", e.f_k},
                                   std::pair{"f_v", e.f_v}, std::pair{"s(m, n)", e.formula}})
    fmt::print("- {} = `{}`\n", name, text);
  if (!e.note.empty()) fmt::print("\n{}\n", e.note);
  std::string reasons;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].answer != LawCell::holds)
      reasons += fmt::format("- {} **{}**{}: {}.\n", i + 1, all_laws()[i].name,
                             cells[i].answer == LawCell::fails ? ", no" : "", cells[i].text);
  if (!reasons.empty()) fmt::print("\nLaws that fail or do not apply:\n\n{}", reasons);
}

template <std::size_t count>
void print_misprints(const char* title, const Misprint (&list)[count]) {
  fmt::print("\n{}\n\n", title);
  for (const Misprint& m : list) fmt::print("- {}\n  **Taken:** {}\n", m.printed, m.taken);
}

}  // namespace

int run(const EncodingsOptions& options) {
  if (!options.curves.empty()) {
    write_curves(options.curves);
    return 0;
  }
  std::vector<const Encoding*> chosen;
  for (const std::string& name : options.names) {
    chosen.push_back(find_encoding(name));
    if (chosen.back() != nullptr) continue;
    std::string known;
    for (const Encoding* e : all_encodings())
      known += (known.empty() ? "" : ", ") + std::string(e->name);
    throw UsageError("no encoding is named '" + name + "' (there are " + known + ")");
  }
  const bool all = chosen.empty();
  if (all) chosen = all_encodings();
  if (all) fmt::print("{}{}", head, about_laws);
  std::string columns, line = "|---|";
  for (std::size_t i = 0; i < all_laws().size(); ++i) {
    const EncodingLaw& law = all_laws()[i];
    fmt::print("{}. **{}**: {}.\n", i + 1, law.name, law.meaning);
    columns += fmt::format(" {} |", i + 1);
    line += "---|";
  }
  fmt::print("{}{}| |{}\n{}\n", all ? about_draws : "\n", all ? "## The table\n\n" : "", columns,
             line);
  std::vector<std::vector<LawCell>> table;
  for (const Encoding* e : chosen) {
    std::string row = fmt::format("| [{0}](#{0}) |", e->name);
    auto& cells = table.emplace_back();
    for (const EncodingLaw& law : all_laws()) {
      cells.push_back(law.judge(*e));
      row += fmt::format(" {} |", word_of(cells.back().answer));
    }
    fmt::print("{}\n", row);
  }
  if (all) fmt::print("\n\"-\" means that the law does not apply.\n\n## The encodings\n");
  for (std::size_t i = 0; i < chosen.size(); ++i) print_encoding(*chosen[i], table[i]);
  if (!all) return 0;
  fmt::print("\n{}\n## What notes on RoFormer misprint\n", curves_section());
  print_misprints("Formulas, with R_m the rotation of position m:", formulas);
  print_misprints("Claims:", claims);
  return 0;
}

}  // namespace ropewalk::tools
