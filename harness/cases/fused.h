// RMS norm and append (rope_norm, rope_append) in a case: what is marked, slots, weights, caches.
#pragma once
#include <cstdint>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/problem.h"

namespace ropewalk::harness {

bool has_norm(const Case& c);
bool has_append(const Case& c);
/// Takes the norm, or the caches, away from all tensors.
void drop_norm(Case& c);
void drop_append(Case& c);

/// The slot of each token, [batch, tokens]; -1: it has none. Empty without rope_append.
std::vector<std::int64_t> slots_of(const Case& c);
/// Those of some batch rows and tokens.
std::vector<std::int64_t> slots_of_part(const Case& c, CaseRange rows, CaseRange tokens);
/// The case with its slots and pages written out, so that they can be changed.
Case listed_slots(const Case& c);
/// How many pages a cache has.
std::int64_t pages_of(const Case& c);

/// Throws BadCase unless the norm and the caches can be laid out.
void check_fused(const Case& c);

/// True if two cases with the same tensors ask for the same norm and caches.
bool ask_alike(const Case& a, const Case& b);

/// The two structs of a problem. tensors = 0: nothing is marked.
rope_norm norm_asked(const Case& c);
rope_append append_asked(const Case& c, const rope_problem& p);

/// The weights of a tensor, and the slots, as a kernel reads them.
void fill_weight(const Case& c, std::uint32_t tensor, Dtype dtype, std::vector<std::byte>& bytes);
void fill_slots(const std::vector<std::int64_t>& slots, Dtype dtype, std::vector<std::byte>& bytes);

/// Throws BadCase if two elements of the caches that lie in this buffer are one.
void check_caches(const Problem& p, int buffer);

}  // namespace ropewalk::harness
