#include "reference/encodings/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "base/fingerprint.h"
#include "base/random.h"
#include "reference/encodings/pieces.h"

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

}  // namespace

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
