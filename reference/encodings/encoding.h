// An encoding of positions says how attention learns where a token stands. encodings.cpp has all of
// them, laws.h what is asked of each. Positions m are those of queries, n those of keys. A score is
// the number before the softmax, with the factor that its paper has, for one head of width d.
#pragma once
#include <array>
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

// ---- what more than one encoding is made of

Real dot(const Vector& a, const Vector& b);
Vector sum(const Vector& a, const Vector& b);
/// value / sqrt(factor dim); factor 0: value.
Real scaled(const Real& value, int factor, std::size_t dim);

/// cos and sin of position * 10000^(-2i/dim) for the pairs i = 0 .. dim/2 - 1. Error: below 2^-318;
/// up to |position| = 4096 by adding angles, which costs 2^-332 a position, beyond it directly.
std::vector<std::array<Real, 2>> turns(std::size_t dim, Position position);

/// x with the pairs (2i, 2i + 1) turned by the angles of a position.
Vector turned(const Vector& x, Position position);

/// sin and cos in turn, as "Attention Is All You Need" adds them to x; [dim].
Vector sinusoid(std::size_t dim, Position position);

/// T5's bucket of the distance key - query, in both directions, from 0 to buckets - 1. Half of the
/// buckets are for keys ahead. Of each half, half hold one distance and the others widen like a
/// logarithm up to last_bucket. Decided in integers below 2^300: published code takes a logarithm.
std::int64_t t5_bucket(Position distance, std::int64_t buckets, std::int64_t last_bucket);

/// The rank, by elimination with full pivoting. Pivots above 10^-30 of the first count, those below
/// 10^-70 are rounding, others throw std::logic_error. No rows, or zeros alone: 0.
int rank_of(std::vector<Vector> rows);

std::string shown(const Real& value);     ///< with six digits
std::string shown(const Vector& values);  ///< (1, 0)

/// All encodings, sorted by name.
const std::vector<const Encoding*>& all_encodings();
/// NULL: no encoding has that name.
const Encoding* find_encoding(std::string_view name);

}  // namespace ropewalk
