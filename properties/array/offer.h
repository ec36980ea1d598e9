// What a kernel takes, for one pairing and data type: a case that it takes, and the levels
// (properties/array/factors.h). It is found by asking `supports`. Cases stay inside it, so that a
// restricted kernel is judged on all it offers and on nothing that it refuses.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/layouts.h"
#include "harness/judge/asked_shapes.h"
#include "properties/array/factors.h"

namespace ropewalk::properties {

/// The sizes and types that a kernel accepted, by level. An empty list means any of the level's.
struct Sizes {
  /// of tokens, batch and heads
  std::vector<std::int64_t> tokens[8], batch[8], heads[8];
  /// by the levels of rotary_dim, room and window
  std::vector<HeadWindow> windows[8][4][4];
  /// heads of Q and of K, by the level of Q's heads
  std::vector<std::pair<std::int64_t, std::int64_t>> groups[8];
  /// of tensors beside one of the base's type, and of tables beside the usual one
  std::vector<Dtype> types, table_types;
  std::vector<std::uint8_t> axis_of_pair;  ///< of a model, for cases with axes; empty: any
  /// K of a base in which it has another shape than Q; empty: K has the head of Q.
  std::optional<harness::TensorCase> second;
  /// The tensors of a base of three or four. Cases with its level of tensors have such tensors.
  std::vector<harness::TensorCase> set;
  bool any_width = false;  ///< tensors of one case may have other widths than the first
  bool any_bytes = false;  ///< true: the base lies outside of the levels, and bytes are not fitted
  std::int64_t most_elements = 0;  ///< of the first tensor, beside its bytes; 0: any number

  /// Those of tokens, batch or heads.
  const std::vector<std::int64_t>* of(Factor f) const {
    return f == Factor::tokens ? tokens : f == Factor::batch ? batch : heads;
  }
  std::vector<std::int64_t>* of(Factor f) {
    return f == Factor::tokens ? tokens : f == Factor::batch ? batch : heads;
  }
};

/// Any level but the first; of tokens, batch rows or heads, that they are among Offer::several.
inline constexpr int any = -1;

/// A level that a property, or a case, needs.
struct Need {
  constexpr Need() = default;  ///< what every kernel takes
  constexpr Need(Factor f, int wanted = any) : factor(f), level(wanted) {}
  Factor factor = Factor::before;
  int level = 0;
};

struct Offer {
  harness::Case base;  ///< the simplest case that the kernel takes: forward, contiguous, scale 1
  harness::Form form;  ///< the layout of `base`, which other cases need too
  Levels simplest;     ///< the levels of `base`
  LevelSets levels;    ///< at least those of `simplest`
  /// The combinations of rotary_dim, room and window that no accepted head has.
  std::vector<std::array<int, 3>> no_such_head;
  Sizes accepted;  ///< the sizes that were asked about and accepted
  Sizes free;      ///< the same, but empty where every size of the level was accepted
  /// The largest accepted number of tokens, batch rows or heads, where larger ones are refused.
  std::map<Factor, std::int64_t> most;
  /// Of tokens, batch and heads, those of which it takes 3, 4 or 8, rounded to the form.
  std::vector<Factor> several;
  std::uint32_t extensions = 0;   ///< those that the kernel names
  std::vector<HeadWindow> sizes;  ///< the supported heads of a fixed list
  bool any_size = false;          ///< odd-shaped heads are supported too
  bool one_model = false;         ///< cases keep the angles of `base`, which are a model's
  bool unrotated_second = false;  ///< the second tensor of `base` may be copied
  bool on_device = false;         ///< its buffers lie in a device's memory

  bool takes(Factor f, int level = any) const { return takes(Need{f, level}); }
  bool takes(const Need& need) const;
  /// Gaps between tokens and heads, as far as there are several of both.
  bool takes_gaps() const {
    return takes(Factor::in_layout, level::both_gaps) ||
           (levels[Factor::heads] == 1 && takes(Factor::in_layout, level::token_gap)) ||
           (levels[Factor::tokens] == 1 && takes(Factor::in_layout, level::head_gap));
  }
  /// A second tensor that is copied.
  bool takes_unrotated() const {
    return unrotated_second || takes(Factor::tensors, level::copied_second);
  }
  /// K with fewer heads than Q.
  bool takes_other_heads() const {
    return takes(Factor::tensors, level::grouped) || takes(Factor::tensors, level::reshaped);
  }
  /// At positions below zero it computes angles of its own.
  bool takes_negative_positions() const {
    return base.contract != ROPE_CONTRACT_TABLE && takes(Factor::position_range, level::negative);
  }
  /// Of the positions that it takes: 3, else 2, else 4. 0: none.
  std::int64_t axis_count() const;
};

/// "a norm", or "position range: negative".
std::string words_of(const Need& need);

/// The same heads of all tensors.
harness::Case resized(harness::Case c, const HeadWindow& head);

/// Returns `c` with the widest supported heads of a usual size up to 128, all rotated. Vector code
/// turns them in whole steps, while the simplest heads run only its remainder loop. Returns `c`
/// unchanged if no such size is offered.
harness::Case widened(harness::Case c, const Offer& offer);

/// The levels of a base. A size that no level holds counts as that of the level below it.
Levels levels_of_base(const harness::Case& base);

/// What is known before the first question: cases have the levels and sizes of the base. They keep
/// what no level says of it: a K with another head than Q, and sizes that no level holds.
Offer base_alone(const harness::Case& base);

/// The levels that the kernel refuses wherever they were asked for, in words: "tokens above 1000".
/// What the only shape of a run fixes is no refusal of the kernel.
std::vector<std::string> not_offered(const Offer& offer, const harness::ModelShape* only = nullptr);

/// The names of levels in a ledger: "tokens=above_1000". The first level of extensions, tables and
/// data types goes without saying. Then any_size, or each head as size_HEAD_ROTARY. Without an
/// offer: all that one can have, but for the single heads.
std::vector<std::string> level_names(const Offer* offer = nullptr, bool with_extensions = true);

}  // namespace ropewalk::properties
