// An offer is what a kernel supports for one pairing and data type, found by asking its `supports`.
// Generated cases stay inside the offer, so a restricted kernel is judged on all it offers and on
// nothing it refuses.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/layouts.h"
#include "harness/judge/executor.h"

namespace ropewalk::harness {

struct HeadSize {
  std::int64_t head_dim, rotary_dim;
};

struct Offer {
  Case base;                         ///< the simplest supported case: forward, contiguous, scale 1
  Form form;                         ///< the layout of `base`, which other cases need too
  std::vector<HeadSize> sizes = {};  ///< the supported sizes of a fixed list
  bool any_size = false;  ///< odd-shaped heads are supported too: generated sizes are allowed
  bool transpose = false, in_place = false, out_of_place = false, batch = false, tokens = false,
       many_heads = false, window_offset = false, two_tensors = false, three_tensors = false,
       different_shapes = false, unrotated_tensor = false, scale = false, i64_positions = false,
       rows_by_token = false, null_positions = false, negative_positions = false,
       own_tables = false, spare_rows = false, padded_table = false, padded = false,
       head_major = false, roomy_head_major = false, fused = false, broadcast_positions = false,
       strided_positions = false, shifted_start = false, broadcast_heads = false,
       broadcast_tokens = false, broadcast_batch = false, shared_input = false,
       fused_in_place = false, mixed_types = false, table_types = false, axes = false, norm = false,
       append = false;
  int axis_count = 0;  ///< of the positions that it takes, where it does: 3, else 2, else 4
  std::vector<std::uint8_t> axis_of_pair = {};  ///< of a model, for cases with axes; empty: any
  bool one_model = false;   ///< generated cases keep the angles of `base`, which are a model's
  bool each_alone = false;  ///< each tensor of `base` is supported alone too
  bool thread_safe = false, any_alignment = false;  ///< promises that its flags make
  bool on_device = false;                           ///< its buffers lie in a device's memory
};

/// The result of asking.
struct Probe {
  std::optional<Offer> offer;  ///< empty if the kernel refuses every basic shape
  CallResult last_refusal;  ///< its reason; or a crash or hang in supports, which ends the asking
  Case asked;               ///< the case that last_refusal answered
  std::vector<std::string> reasons;  ///< of its refusals, those heard first
};

/// Asks a kernel's supports about cases, without buffers. An answer that is neither yes nor an
/// honest refusal, such as a crash, ends the asking: all later answers are no.
class Questions {
 public:
  explicit Questions(Subject& subject) : subject_(subject) {}
  bool accepts(const Case& c);
  /// The index of the first that is accepted.
  std::optional<std::size_t> first_accepted(std::span<const std::pair<Form, Case>> cases);
  bool died() const;
  const KernelFacts& facts() const { return subject_.facts; }

  Probe heard;  ///< the refusals; nothing is offered

 private:
  Subject& subject_;
};

/// Adds a reason that is not among them yet, up to four.
void add_reason(std::vector<std::string>& reasons, const std::string& reason);

/// Asks for the base, its form and the sizes of heads. The features stay false: with_features()
/// (properties/array/offered_features.h) asks for them. In a run that is held to one shape, the
/// base has that shape.
Probe probe_base(Subject& subject, Pairing pairing, Dtype dtype);

/// The same for a kernel that refuses every basic shape of every pairing and type: the base has one
/// of these shapes.
Probe probe_shapes(Subject& subject, Pairing pairing, Dtype dtype,
                   const std::vector<ModelShape>& shapes);

Case resized(Case c, HeadSize size);

/// Returns `c` with the widest supported heads of a usual size up to 128, all rotated. Vector code
/// turns them in whole steps, while the simplest heads run only its remainder loop. Returns `c`
/// unchanged if no such size is offered.
Case widened(Case c, const Offer& offer);

}  // namespace ropewalk::harness
