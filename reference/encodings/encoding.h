// An encoding of positions says how attention learns where a token stands. encodings.cpp has all of
// them, laws.h what is asked of each. Positions m are those of queries, n those of keys. A score is
// the number before the softmax, with the factor that its paper has, for one head of width d.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/real.h"

namespace ropewalk {

using Vector = std::vector<Real>;
using Position = std::int64_t;

/// What an encoding learns, drawn: integers from -2 to 2 by a hash of seed, name and index, so that
/// a counterexample can be recomputed by hand. Drawn matrices are invertible. Limits are small, so
/// that few positions pass them.
struct Learned {
  std::size_t dim = 2;           ///< d, even
  std::uint32_t seed = 0;        ///< 0: learned matrices are I; all else is drawn in every seed
  bool identity = false;         ///< learned matrices are I in every seed
  bool same_weights = false;     ///< W_k is W_q
  std::int64_t trained = 64;     ///< positions of a learned table
  std::int64_t clip = 2;         ///< shaw and deberta: distances beyond it are one
  std::int64_t buckets = 8;      ///< t5 and tupe: both directions together; at least 4, even
  std::int64_t last_bucket = 8;  ///< t5 and tupe: distances from here on are one bucket
  int heads = 8, head = 1;       ///< alibi: head 1 .. heads
  std::vector<std::string>* used = nullptr;  ///< if set, gets a text for each thing asked for

  bool all_identity() const { return identity || seed == 0; }
  /// The product of the learned matrix [dim, dim] of this name and x.
  Vector times(std::string_view matrix, const Vector& x) const;
  /// A learned vector [dim]: row `index` of a table.
  Vector vector(std::string_view table, std::int64_t index) const;
  /// The same of a table with a row for each trained position. Throws std::out_of_range beyond it.
  Vector of_position(std::string_view table, Position position) const;
  Real number(std::string_view table, std::int64_t index) const;
};

struct Encoding;

Vector query_without_position(const Learned& learned, const Vector& x, Position m);
Vector key_without_position(const Learned& learned, const Vector& x, Position n, Position m);
Vector value_without_position(const Learned& learned, const Vector& x, Position n, Position m);
/// q.k / sqrt(d)
Real product_score(const Learned& learned, const Vector& q, const Vector& k, Position m,
                   Position n);

/// The functions throw std::out_of_range for a position at which the encoding is not defined.
struct Encoding {
  std::string_view name;  ///< [a-z0-9_]+
  std::string_view title, source;
  std::string_view f_q = "W_q x_m", f_k = "W_k x_n", f_v = "W_v x_n";  ///< as text
  std::string_view formula = "q.k / sqrt(d)";                          ///< of the score
  std::string_view note = {};   ///< what this file leaves out or takes differently
  bool has_parameters = false;  ///< its positions have learned parts
  bool causal = false;          ///< the paper has no score for n > m
  int factor = 1;  ///< the score of contents is divided by sqrt(factor d); 0: by nothing
  Vector (*query)(const Learned&, const Vector& x, Position m) = query_without_position;
  Vector (*key)(const Learned&, const Vector& x, Position n, Position m) = key_without_position;
  Vector (*value)(const Learned&, const Vector& x, Position n, Position m) = value_without_position;
  Real (*score)(const Learned&, const Vector& q, const Vector& k, Position m,
                Position n) = product_score;
};

/// All encodings, sorted by name.
const std::vector<const Encoding*>& all_encodings();
/// NULL: no encoding has that name.
const Encoding* find_encoding(std::string_view name);

}  // namespace ropewalk
