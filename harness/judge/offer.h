// What a kernel offers for one pairing and data type, found by asking its `supports`: generated
// cases stay inside it, so that a restricted kernel is judged on all it offers and nothing it
// refuses.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/judge/executor.h"

namespace ropewalk::harness {

struct HeadSize {
  std::int64_t head_dim, rotary_dim;
};

struct Offer {
  Case base;                    ///< the simplest supported case: forward, contiguous, scale 1
  std::vector<HeadSize> sizes;  ///< the supported ones of a fixed list
  bool any_size = false;        ///< odd-shaped heads too: sizes may be made up
  bool transpose = false, in_place = false, out_of_place = false, batch = false, tokens = false,
       many_heads = false, window_offset = false, two_tensors = false, three_tensors = false,
       different_shapes = false, unrotated_tensor = false, scale = false, i64_positions = false,
       rows_by_token = false, null_positions = false, negative_positions = false,
       own_tables = false, spare_rows = false, padded_table = false, padded = false,
       head_major = false, roomy_head_major = false, fused = false, broadcast_positions = false,
       strided_positions = false, shifted_start = false, broadcast_heads = false,
       broadcast_tokens = false, broadcast_batch = false, shared_input = false,
       fused_in_place = false;
  bool thread_safe = false, any_alignment = false;  ///< by its flags: promises, no features
};

/// What became of asking.
struct Probe {
  std::optional<Offer> offer;  ///< nothing when the kernel refuses every basic shape
  CallResult last_refusal;  ///< its reason; or a crash or hang in supports, which ends the asking
  Case asked;               ///< what that answered
};
Probe probe_offer(Subject& subject, Pairing pairing, Dtype dtype);

/// Of all pairings and types the one that is offered first: f32 and half_split before others.
std::optional<Offer> first_offer(Subject& subject);

/// The optional features by name, in a fixed order, and at the end any_size or the sizes as
/// size_HEAD_ROTARY: what `list` prints and a ledger compares.
std::vector<std::string> feature_names(const Offer& offer);

/// `c` with the widest heads of a usual size up to 128, all of them rotated: what vector code turns
/// in whole steps, where the simplest heads are but its remainder. As it is where none is offered.
Case widened(Case c, const Offer& offer);

}  // namespace ropewalk::harness
