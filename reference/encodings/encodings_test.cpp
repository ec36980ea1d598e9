// The encodings against values by hand and of published code, and the laws against what the papers
// say, with planted errors. A counterexample of each failing law is computed again in double.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>
#include <stdexcept>

#include "reference/encodings/laws.h"

namespace ropewalk {
namespace {

const Encoding& named(std::string_view name) {
  const Encoding* found = find_encoding(name);
  if (found == nullptr) throw std::logic_error("no encoding " + std::string(name));
  return *found;
}

double score(std::string_view name, const Learned& learned, const Vector& x, std::int64_t m,
             const Vector& y, std::int64_t n) {
  return score_of(named(name), learned, x, m, y, n).convert_to<double>();
}

// transformers 5.23.0, T5Attention._relative_position_bucket, 32 buckets up to 128.
TEST(Encodings, T5HasThePublishedBuckets) {
  const std::map<int, int> published = {
      {0, 0},    {-1, 1},   {-7, 7},    {-8, 8},    {-11, 8},    {-12, 9},  {-15, 9},  {-16, 10},
      {-22, 10}, {-23, 11}, {-31, 11},  {-32, 12},  {-45, 12},   {-46, 13}, {-63, 13}, {-64, 14},
      {-90, 14}, {-91, 15}, {-127, 15}, {-128, 15}, {-1000, 15}, {1, 17},   {7, 23},   {8, 24},
      {15, 25},  {16, 26},  {32, 28},   {64, 30},   {91, 31},    {1000, 31}};
  for (const auto& [distance, bucket] : published)
    EXPECT_EQ(t5_bucket(distance, 32, 128), bucket) << distance;
}

TEST(Encodings, AlibiHasTheSlopesOfThePaper) {
  const Vector none = {0, 0};
  for (int head = 1; head <= 8; ++head)  // 1/2 .. 1/256
    EXPECT_EQ(score("alibi", {.head = head}, none, 1, none, 0), -std::ldexp(1, -head));
  EXPECT_EQ(score("alibi", {.heads = 16, .head = 1}, none, 2, none, 0), -2 * std::sqrt(0.5));
  EXPECT_EQ(score("alibi", {.heads = 1}, none, 3, none, 0), -3. / 256);  // one head
}

TEST(Encodings, SinusoidAndRotationAreTheDefinition) {
  const double row[] = {std::sin(3.), std::cos(3.), std::sin(0.03), std::cos(0.03)};
  const Vector place = sinusoid(4, 3);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(place[i].convert_to<double>(), row[i]) << i;
  for (const std::int64_t m : {0, 1, 7, 4096, 4097, -5})
    for (std::size_t i = 0; i < 2; ++i) {  // added angles, and direct ones
      const auto far = std::polar(1., static_cast<double>(m) * (i == 0 ? 1 : 0.01));
      const Vector x = turned({2, -1, 2, -1}, m);
      const auto z = std::complex(2., -1.) * far;
      EXPECT_NEAR(x[2 * i].convert_to<double>(), z.real(), 1e-12) << m;
      EXPECT_NEAR(x[2 * i + 1].convert_to<double>(), z.imag(), 1e-12) << m;
    }
}

TEST(Encodings, XposScalesByZeta) {
  // d = 4: zeta = 0.4 / 1.4 and 0.9 / 1.4
  EXPECT_NEAR(score("xpos", {.dim = 4}, {1, 0, 0, 0}, 3, {1, 0, 0, 0}, 1),
              std::pow(2. / 7, 2) * std::cos(2.) / 2, 1e-15);
  EXPECT_NEAR(score("xpos", {.dim = 4}, {0, 0, 1, 0}, 3, {0, 0, 1, 0}, 1),
              std::pow(9. / 14, 2) * std::cos(0.02) / 2, 1e-15);
}

TEST(Encodings, ClippedDistancesPickTheRowsOfThePaper) {
  const Vector none = {0, 0}, e0 = {1, 0};
  const Learned l;  // W = I, clip 2
  for (const int distance : {-5, -2, -1, 0, 1, 2, 5}) {
    const int m = 5, n = m + distance;  // shaw: n - m; deberta: m - n and n - m
    const int at = std::min(2, std::max(-2, distance));
    EXPECT_EQ(named("shaw").key(l, none, n, m), l.vector("aK", at));
    const auto delta = [](int far) { return far <= -2 ? 0 : far >= 2 ? 3 : far + 2; };
    EXPECT_NEAR(score("deberta", l, e0, m, none, n),
                l.vector("P", delta(-distance))[0].convert_to<double>() / std::sqrt(6.), 1e-15);
    EXPECT_NEAR(score("deberta", l, none, m, e0, n),
                l.vector("P", delta(distance))[0].convert_to<double>() / std::sqrt(6.), 1e-15);
  }
}

// By hand, from the papers. 1 relative, 2 keeps norms, 3 neutral at 0, 4 falls, 5 falls in the
// mean, 6 tells direction, 7 with q = k, 8 linear, 9 cacheable, 10 any length.
using Table = std::map<std::string, std::string, std::less<>>;
const Table expected = {{"sinusoidal", "nnnnyynyyy"}, {"learned", "nnnnnynyyn"},
                        {"shaw", "y-nnnyynny"},       {"transformer_xl", "y-nnnyyyyy"},
                        {"t5", "y-nnnyynyy"},         {"tupe", "n-nnnyynyn"},
                        {"deberta", "y-nnnynnyy"},    {"alibi", "y-yyy--yyy"},
                        {"rope", "yyynyynyyy"},       {"xpos", "ynyyyyyyyy"}};

char letter(const Encoding& e, std::size_t law) {
  const LawCell cell = all_laws()[law].judge(e);
  EXPECT_EQ(cell.text.empty(), cell.answer == LawCell::holds) << e.name << " " << law + 1;
  return cell.answer == LawCell::holds ? 'y' : cell.answer == LawCell::fails ? 'n' : '-';
}

/// "rope 4" for each cell that differs.
std::vector<std::string> differences(const Table& table) {
  std::vector<std::string> out;
  for (const Encoding* e : all_encodings())
    for (std::size_t law = 0; law < all_laws().size(); ++law)
      if (letter(*e, law) != table.at(std::string(e->name)).at(law))
        out.push_back(std::string(e->name) + " " + std::to_string(law + 1));
  return out;
}

TEST(Laws, AreThoseOfThePapersAndAPlantedCellIsFound) {
  EXPECT_EQ(all_encodings().size(), expected.size());
  Table planted = expected;
  planted["rope"][3] = 'y';
  EXPECT_EQ(differences(planted), std::vector<std::string>{"rope 4"});
}

TEST(Laws, FindPlantedEncodings) {
  Encoding turns_keys_back = named("rope"), scales_both = named("xpos"), bends = named("alibi"),
           takes_m = named("rope"), unscaled = named("rope");
  turns_keys_back.key = [](const Learned& l, const Vector& x, auto n, auto) {
    return turned(l.times("W_k", x), -n);
  };
  scales_both.key = [](const Learned& l, const Vector& x, auto n, auto) {
    return named("xpos").query(l, x, n);
  };
  bends.score = [](const Learned& l, const Vector& q, const Vector& k, auto m, auto n) {
    return Real(product_score(l, q, k, m, n) - Real(std::abs(m - n)) / 2);
  };
  bends.causal = false;
  takes_m.query = query_without_position;
  takes_m.key = [](const Learned& l, const Vector& x, auto n, auto m) {  // the same scores
    return named("rope").key(l, x, n - m, 0);
  };
  unscaled.score = [](const Learned&, const Vector& q, const Vector& k, auto, auto) {
    return dot(q, k);
  };
  EXPECT_EQ(letter(turns_keys_back, 0), 'n');
  EXPECT_EQ(letter(scales_both, 0), 'n');
  EXPECT_EQ(letter(bends, 5), 'n');
  EXPECT_EQ(letter(bends, 7), 'n');
  EXPECT_EQ(letter(takes_m, 0), 'y');
  EXPECT_EQ(letter(takes_m, 8), 'n');
  EXPECT_EQ(letter(unscaled, 2), 'n');
}

/// The determinant, to see that a matrix has its full rank.
double determinant(std::vector<std::vector<double>> a) {
  double out = 1;
  for (std::size_t k = 0; k < a.size(); ++k) {
    for (std::size_t i = k + 1; i < a.size(); ++i)
      if (std::abs(a[i][k]) > std::abs(a[k][k])) std::swap(a[i], a[k]), out = -out;
    for (std::size_t i = k + 1; i < a.size(); ++i)
      for (std::size_t j = a.size(); j-- > k;) a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    out *= a[k][k];
  }
  return out;
}

/// The largest (x + p_m).(y + p_0) / sqrt(2) for |x| = |y| = 1: y lies along x + p_m.
double largest_sinusoidal(double m) {
  double out = 0;
  for (int i = 0; i < 1 << 20; ++i) {
    const double turn = i * 0x1p-20 * 2 * std::acos(-1.);
    const double u = std::cos(turn) + std::sin(m), v = std::sin(turn) + std::cos(m);
    out = std::max(out, std::hypot(u, v) + v);
  }
  return out / std::sqrt(2.);
}

TEST(Laws, CounterexamplesHoldInDouble) {
  const double root = std::sqrt(0.5);
  const int b[] = {-2, 2, -1, 2, 0, -2, 2, 0};  // of the draw; the texts say so
  std::vector<std::vector<double>> scores(16, std::vector<double>(16));
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      const int far = std::abs(n - m), in_half = far < 2 ? far : far < 4 ? 2 : 3;
      scores[static_cast<std::size_t>(m)][static_cast<std::size_t>(n)] =
          3 + b[(n > m ? 4 : 0) + in_half];
    }
  EXPECT_GT(std::abs(determinant(scores)), 1e-3);
  const struct {
    const char* encoding;
    std::size_t law;
    std::vector<std::string> texts;
  } rows[] = {
      {"sinusoidal", 1, {shown(Real(root)), shown(Real((1 + std::sin(1.)) * root))}},
      {"xpos", 2, {shown(Real(2. / 7)), "of length 1"}},
      {"t5", 3, {"b[0] = -2", "s(0, 0) = -2"}},
      {"sinusoidal", 4, {shown(Real(largest_sinusoidal(3))), shown(Real(largest_sinusoidal(4)))}},
      {"t5", 5, {"mean is 64 over 1 <= D < 4", "66 over 4"}},  // 128 / 2 + (2 - 1 - 1) / 3; + 2
      {"rope", 7, {"s(1, 0) = " + shown(Real(std::cos(1.) * root))}},
      {"t5", 8, {"b[0] = -2, b[1] = 2, b[2] = -1, b[3] = 2, b[5] = -2, b[6] = 2, b[7] = 0", "16;"}},
      {"shaw", 9, {"aK[0] = (-1, 1), aK[1] = (0, 2)", "(-1, 1) for m = 1, (0, 2) for m = 0"}},
      {"learned", 10, {"s(64, 0)"}}};
  for (const auto& row : rows)
    for (const std::string& text : row.texts)
      EXPECT_NE(all_laws()[row.law - 1].judge(named(row.encoding)).text.find(text),
                std::string::npos)
          << row.encoding << " " << row.law << " lacks " << text;
}

// What the page says of misprinted formulas, for d = 2: W x and pairs as complex numbers.
TEST(Misprints, OnlyTheFormsTakenAreTheScore) {
  using Complex = std::complex<double>;
  const auto times = [](const double(&w)[4], Complex z) {
    return Complex(w[0] * z.real() + w[1] * z.imag(), w[2] * z.real() + w[3] * z.imag());
  };
  const auto inner = [](Complex a, Complex b) { return (a * std::conj(b)).real(); };
  const double w_q[] = {1, 2, 0, 1}, w_q_transposed[] = {1, 0, 2, 1}, w_k[] = {1, -1, 1, 2};
  const Complex x(1, 2), y(2, -1), q = times(w_q, x), k = times(w_k, y);
  const double m = 5, n = 2;
  const double right = inner(q * std::polar(1., m), k * std::polar(1., n));
  EXPECT_NEAR(right, inner(q, k * std::polar(1., n - m)), 1e-12);                // R_(n-m), and
  EXPECT_NEAR(right, (q * std::conj(k) * std::polar(1., m - n)).real(), 1e-12);  // m - n
  for (const double printed :
       {inner(times(w_q_transposed, x), k * std::polar(1., n - m)),
        inner(q, k * std::polar(1., m - n)), inner(q, k) * std::cos(m - n),  // no complex product
        inner(q * std::polar(1., m / 1e4), k * std::polar(1., n / 1e4)),     // 2i/d with i from 1
        inner(times(w_q, x * std::polar(1., m)), times(w_k, y * std::polar(1., n)))})  // R x
    EXPECT_GT(std::abs(printed - right), 0.1);
}

TEST(Laws, LengthsZeroAndOneHaveRanks) {
  EXPECT_EQ(rank_of({}), 0);
  EXPECT_EQ(rank_of({{Real(0)}}), 0);
  EXPECT_EQ(rank_of({{Real(3)}}), 1);
  EXPECT_EQ(rank_of({{1, 2}, {2, 4}}), 1);
}

TEST(Laws, RefuseToGuess) {
  EXPECT_EQ(order(1, 1 + Real("1e-90")), 0);
  EXPECT_EQ(order(1, 1 + Real("1e-19")), -1);
  EXPECT_THROW(order(1, 1 + Real("1e-50")), std::logic_error);
  EXPECT_THROW(rank_of({{1, 0}, {0, Real("1e-50")}}), std::logic_error);
  EXPECT_EQ(find_encoding("rotary"), nullptr);
  EXPECT_THROW(score("tupe", {}, {1, 0}, 64, {1, 0}, 0), std::out_of_range);
}

}  // namespace
}  // namespace ropewalk
