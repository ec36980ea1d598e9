#include "reference/encodings/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <tuple>

#include "base/fingerprint.h"
#include "base/random.h"

namespace ropewalk {
namespace {

int drawn_integer(std::uint32_t seed, std::string_view name, std::int64_t index, std::size_t at) {
  std::uint64_t hash = seed_of_name(name_seed, name);
  for (const std::uint64_t part :
       {std::uint64_t{seed}, static_cast<std::uint64_t>(index), std::uint64_t{at}})
    hash = mix(hash + part + random_step);
  return static_cast<int>(hash % 5) - 2;
}

void note_used(const Learned& learned, const std::string& text) {
  auto* const used = learned.used;
  if (used != nullptr && std::ranges::find(*used, text) == used->end()) used->push_back(text);
}

/// Drawn again until it is invertible: a matrix that forgets its argument would forget positions.
std::vector<Vector> drawn_matrix(const Learned& learned, const std::string& name) {
  for (std::int64_t attempt = 0;; ++attempt) {
    std::vector<Vector> out(learned.dim);
    for (std::size_t row = 0; row < learned.dim; ++row)
      for (std::size_t at = 0; at < learned.dim; ++at)
        out[row].emplace_back(drawn_integer(learned.seed, name, attempt, row * learned.dim + at));
    if (rank_of(out) == static_cast<int>(learned.dim)) return out;
  }
}

const std::vector<Vector>& kept_matrix(const Learned& learned, const std::string& name) {
  thread_local std::map<std::tuple<std::size_t, std::uint32_t, std::string>, std::vector<Vector>>
      kept;
  auto& out = kept[{learned.dim, learned.seed, name}];
  if (out.empty()) out = drawn_matrix(learned, name);
  return out;
}

std::string indexed(std::string_view table, std::int64_t index) {
  return fmt::format("{}[{}]", table, index);
}

using Turns = std::vector<std::array<Real, 2>>;

Turns computed(std::size_t dim, Position position) {
  Turns out;
  const auto d = static_cast<std::int64_t>(dim);
  for (const Real& frequency : real_frequencies(10000, d, d / 2)) {
    const Real angle = frequency * position;
    out.push_back({cos(angle), sin(angle)});
  }
  return out;
}

/// Row `position` of a table that grows, by adding the angles of position 1 to the row before.
const Turns& kept(std::size_t dim, std::size_t position) {
  thread_local std::map<std::size_t, std::vector<Turns>> tables;
  std::vector<Turns>& rows = tables[dim];
  if (rows.empty()) rows = {computed(dim, 0), computed(dim, 1)};
  while (rows.size() <= position) {
    Turns next = rows.back();
    for (std::size_t i = 0; i < next.size(); ++i) {
      const auto [c, s] = next[i];
      const auto& [one_c, one_s] = rows[1][i];
      next[i] = {c * one_c - s * one_s, s * one_c + c * one_s};
    }
    rows.push_back(std::move(next));
  }
  return rows[position];
}

}  // namespace

Real dot(const Vector& a, const Vector& b) {
  Real out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out += a[i] * b[i];
  return out;
}

Vector sum(const Vector& a, const Vector& b) {
  Vector out = a;
  for (std::size_t i = 0; i < a.size(); ++i) out[i] += b[i];
  return out;
}

Real scaled(const Real& value, int factor, std::size_t dim) {
  return factor == 0 ? value : value / sqrt(Real(factor) * dim);
}

Turns turns(std::size_t dim, Position position) {
  const auto far = static_cast<std::size_t>(std::abs(position));
  if (far > 4096) return computed(dim, position);
  Turns out = kept(dim, far);
  if (position < 0)
    for (auto& [c, s] : out) s = -s;
  return out;
}

Vector turned(const Vector& x, Position position) {
  Vector out = x;
  std::size_t at = 0;
  for (const auto& [c, s] : turns(x.size(), position)) {
    out[at] = x[at] * c - x[at + 1] * s;
    out[at + 1] = x[at] * s + x[at + 1] * c;
    at += 2;
  }
  return out;
}

Vector sinusoid(std::size_t dim, Position position) {
  Vector out;
  for (const auto& [c, s] : turns(dim, position)) out.insert(out.end(), {s, c});
  return out;
}

std::int64_t t5_bucket(Position distance, std::int64_t buckets, std::int64_t last_bucket) {
  const std::int64_t half = buckets / 2, exact = half / 2, far = std::abs(distance);
  const std::int64_t side = distance > 0 ? half : 0;
  if (far < exact) return side + far;
  // The largest j < half - exact with (far / exact)^(half - exact) >= (last_bucket / exact)^j.
  const auto wide = static_cast<int>(half - exact);
  int j = 0;
  while (j + 1 < wide && pow(Real(far), wide) * pow(Real(exact), j + 1) >=
                             pow(Real(last_bucket), j + 1) * pow(Real(exact), wide))
    ++j;
  return side + exact + j;
}

int rank_of(std::vector<Vector> rows) {
  const std::size_t count = rows.empty() ? 0 : std::min(rows.size(), rows[0].size());
  Real first = 0;
  for (std::size_t k = 0; k < count; ++k) {
    std::size_t row = k, column = k;
    for (std::size_t i = k; i < rows.size(); ++i)
      for (std::size_t j = k; j < rows[i].size(); ++j)
        if (abs(rows[i][j]) > abs(rows[row][column])) row = i, column = j;
    const Real pivot = abs(rows[row][column]);
    if (k == 0) first = pivot;
    if (pivot <= first * Real("1e-70")) return static_cast<int>(k);
    if (pivot < first * Real("1e-30")) throw std::logic_error("a pivot of " + pivot.str(10));
    std::swap(rows[k], rows[row]);
    for (Vector& line : rows) std::swap(line[k], line[column]);
    for (std::size_t i = k + 1; i < rows.size(); ++i) {
      const Real share = rows[i][k] / rows[k][k];
      for (std::size_t j = k; j < rows[i].size(); ++j) rows[i][j] -= share * rows[k][j];
    }
  }
  return static_cast<int>(count);
}

std::string shown(const Real& value) {
  return fmt::format("{:.6g}", value == 0 ? 0 : value.convert_to<double>());
}

std::string shown(const Vector& values) {
  std::string out;
  for (const Real& value : values) out += (out.empty() ? "" : ", ") + shown(value);
  return "(" + out + ")";
}

Vector Learned::times(std::string_view matrix, const Vector& x) const {
  if (all_identity()) return x;
  if (same_weights && matrix == "W_k") matrix = "W_q";
  Vector out;
  std::string rows;
  const std::string name(matrix);
  for (const Vector& row : kept_matrix(*this, name)) {
    out.push_back(dot(row, x));
    if (used != nullptr) rows += (rows.empty() ? "" : ", ") + shown(row);
  }
  if (used != nullptr) note_used(*this, fmt::format("{} = ({})", matrix, rows));
  return out;
}

Vector Learned::vector(std::string_view table, std::int64_t index) const {
  Vector out;
  for (std::size_t at = 0; at < dim; ++at) out.emplace_back(drawn_integer(seed, table, index, at));
  if (used != nullptr) note_used(*this, indexed(table, index) + " = " + shown(out));
  return out;
}

Vector Learned::of_position(std::string_view table, Position position) const {
  if (position < 0 || position >= trained)
    throw std::out_of_range(
        fmt::format("{} has no row: the table has {}", indexed(table, position), trained));
  return vector(table, position);
}

Real Learned::number(std::string_view table, std::int64_t index) const {
  const Real out = drawn_integer(seed, table, index, 0);
  if (used != nullptr) note_used(*this, indexed(table, index) + " = " + shown(out));
  return out;
}

Vector query_without_position(const Learned& learned, const Vector& x, Position) {
  return learned.times("W_q", x);
}

Vector key_without_position(const Learned& learned, const Vector& x, Position, Position) {
  return learned.times("W_k", x);
}

Vector value_without_position(const Learned& learned, const Vector& x, Position, Position) {
  return learned.times("W_v", x);
}

Real product_score(const Learned& learned, const Vector& q, const Vector& k, Position, Position) {
  return scaled(dot(q, k), 1, learned.dim);
}

const Encoding* find_encoding(std::string_view name) {
  for (const Encoding* encoding : all_encodings())
    if (encoding->name == name) return encoding;
  return nullptr;
}

}  // namespace ropewalk
