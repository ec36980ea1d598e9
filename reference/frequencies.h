// inv_freq: the angle by which each pair turns, in rad per position.
#pragma once
#include <cstdint>
#include <vector>

namespace ropewalk {

/// inv_freq[i] = rope_theta^(-2i / rotary_dim), each the correctly rounded double of the real
/// power.
/// Shape: [rotary_dim / 2].
/// Range: rope_theta >= 1, rotary_dim even and >= 2 (the caller checks both).
/// Source: RoFormer, section 3.2.2, with the base as a parameter.
std::vector<double> inverse_frequencies(double rope_theta, std::int64_t rotary_dim);

/// The f32 values that most training code used, 1 / powf(rope_theta, 2i / rotary_dim), widened to
/// double. A kernel of ROPE_CONTRACT_F32_ANGLE is given these values.
std::vector<double> inverse_frequencies_f32(double rope_theta, std::int64_t rotary_dim);

/// Frees what MPFR keeps for the calling thread. A thread that asked for frequencies calls it
/// before its end.
void free_thread_caches();

}  // namespace ropewalk
