// What more than one encoding is made of.
#pragma once
#include <array>

#include "reference/encodings/encoding.h"

namespace ropewalk {

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

}  // namespace ropewalk
