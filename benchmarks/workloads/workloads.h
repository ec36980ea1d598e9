// Workloads: the shapes that are timed, read from TOML. Each names the source of its shape.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.h"
#include "harness/cases/case.h"
#include "kernels/api/types.h"
#include "reports/record/record_words.h"

namespace ropewalk::bench {

/// How Q and K lie in memory (benchmarks/workloads/workload_layout.h). packed: each contiguous.
/// head_major: heads before tokens. fused: side by side in each token of one buffer. padded: with
/// gaps after each head, token and batch row.
enum class WorkloadLayout : std::int32_t { packed, head_major, fused, padded };

/// A case with a name: one model shape in one phase. Its tensors are Q and K, and V where rows are
/// appended to a cache (take_append). What a case says about a kernel and a property is left to
/// the caller. In place the other operation undoes its own, call by call.
struct Workload : harness::Case {
  Workload() {
    tensors.resize(2);
    for (harness::TensorCase& t : tensors) t.in_place = true;
  }
  std::string name;           ///< e.g. "llama-3-8b/decode-1"
  std::string model, source;  ///< the model, and where it states its shape
  report::WorkloadPhase phase = report::WorkloadPhase::decode;
  /// Gives the tensors their strides, by lay_out() once all sizes are there.
  WorkloadLayout layout = WorkloadLayout::packed;
  /// Positions are seeded, below scattered_position_count; else 0, 1, 2, ...
  bool scattered = false;
  /// Scattered over cold_position_count positions, with new ones in each call. A table row is used
  /// again only after nearly all others were used.
  bool cold = false;
  std::vector<std::string> profiles;  ///< smoke, standard, full
  bool operator==(const Workload&) const = default;
};

inline bool is_in_place(const Workload& w) {
  return w.tensors.front().in_place;
}
/// Whether the tokens are the patches of a picture alone, as in a vision tower. Else, with axes, a
/// picture stands after text.
inline bool is_picture_alone(const Workload& w) {
  return w.axes > 1 && w.scaling == "axial";
}
inline void set_in_place(Workload& w, bool in_place) {
  for (harness::TensorCase& t : w.tensors) t.in_place = in_place;
}

/// Scattered positions are below this number, and their table has this many rows.
inline constexpr std::int64_t scattered_position_count = 8192;
/// While calls are timed, all positions of a workload that is not cold move on by one a call, round
/// a window of this many, a power of two. A kernel that keeps the angles of its last calls meets
/// none of them again, unless it keeps 2 MiB: 4096 rows of 64 cos and 64 sin in f32, a table of its
/// own.
inline constexpr std::int32_t position_window = 4096;
/// The window of 16-bit data in place. Forward and back in turn, rounding at so few positions soon
/// settles; at more it changes the length of the data by up to 3 %, more than recheck may allow
/// (docs/decisions/0025).
inline constexpr std::int32_t narrow_position_window = 16;
inline std::int32_t position_window_of(const Workload& w) {
  return is_in_place(w) && data_type(w.dtype).bytes == 2 ? narrow_position_window : position_window;
}
/// The number of positions of a cold workload: 64 MiB of f32 tables for 128 rotated elements.
inline constexpr std::int64_t cold_position_count = 131072;
/// A workload that needs more memory than this is taken for a typing error.
inline constexpr std::int64_t workload_bytes_max = std::int64_t{64} << 30;

/// The workloads of a file, in order: each model in each phase, then single workloads. Throws
/// BadFile, which names file, line, table and what to mend. It throws for a file that is unreadable
/// or huge, and for bad TOML. It also throws for keys and names that are unknown, missing or
/// doubled, for wrong types, and for shapes that no kernel could have.
std::vector<Workload> load_workloads(const std::filesystem::path& file);
/// The same from text. `file` stands for the file in messages.
std::vector<Workload> parse_workloads(std::string_view text, const std::string& file);
/// benchmarks/workloads/workloads.toml as it was when this binary was built.
std::vector<Workload> load_default_workloads();
std::string_view default_workloads_text();

/// The model in each phase of workloads.toml that is for all models, named NAME/PHASE. With axes it
/// is there as text, and again with a picture as NAME/PHASE-picture; a vision tower has pictures
/// alone, and no decode steps. All of them
/// are in profile standard, those of at most 512 tokens also in smoke. Phase, batch, tokens,
/// positions and profiles are the phase's own. Throws BadFile, which begins with `file`, for a bad
/// name or shape.
std::vector<Workload> through_phases(const Workload& model, const std::string& file);

inline bool in_profile(const Workload& workload, std::string_view profile) {
  return std::ranges::find(workload.profiles, profile) != workload.profiles.end();
}

/// "half_split / f32 / in place / table", the group that may be ranked together; what is fused
/// stands before the angles, as in " / norm / append / table". With empty `angles`, as for a
/// ceiling, "half_split / f32 / in place". Such a name belongs to every board with these parts.
std::string board_of(const Workload& workload, std::string_view angles);

/// The words of the data types that are timed; the first is the usual one.
inline constexpr std::array<std::string_view, 4> timed_dtypes{"f32", "f64", "f16", "bf16"};
/// The type of one of these words.
inline Dtype dtype_of(std::string_view word) {
  for (const Dtype type : {Dtype::f64, Dtype::f16, Dtype::bf16})
    if (data_type(type).word == word) return type;
  return Dtype::f32;
}

inline std::int64_t element_bytes(const Workload& workload) {
  return data_type(workload.dtype).bytes;
}
inline std::int64_t table_element_bytes(const Workload& workload) {
  return data_type(harness::table_dtype(workload)).bytes;
}
/// The largest position that a call may contain. The table by position has one row more.
inline std::int64_t max_position_of(const Workload& workload) {
  if (workload.cold) return cold_position_count - 1;
  const std::int64_t begins = workload.scattered ? scattered_position_count : workload.tokens;
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - position_window;
  return std::min(begins, room) - 1 + position_window_of(workload) - 1;
}

}  // namespace ropewalk::bench
