// Errors in a cache: its key is less than what the result depends on.
#include <algorithm>
#include <vector>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// The positions of a call, and those whose rotation is kept.
using Positions = std::vector<std::int64_t>;
struct KeptAngles {
  explicit KeptAngles(const rope_problem& p) {
    for (Positions* list : {&kept, &now})
      list->reserve(static_cast<std::size_t>(p.batch * p.tokens));
  }
  Positions kept, now;
};
template <bool (*equal)(const Positions&, const Positions&)>
RegisteredKernel cached_by(const char* name) {
  return RegisteredKernel(remembering<KeptAngles>(name, [](auto& p, auto& o, KeptAngles& angles) {
    angles.now.clear();
    for_each_token(p, o, [&](const Token& token) { angles.now.push_back(token.position); });
    if (angles.kept.empty() || !equal(angles.now, angles.kept)) angles.kept.swap(angles.now);
    read_positions_from(p, o, angles.kept.data());
  }));
}

bool equal_in_first_16(const Positions& a, const Positions& b) {
  return std::equal(a.begin(), a.begin() + std::min<std::ptrdiff_t>(std::ssize(a), 16), b.begin());
}
bool equal_in_last_8(const Positions& a, const Positions& b) {
  return std::equal(a.end() - std::min<std::ptrdiff_t>(std::ssize(a), 8), a.end(),
                    b.end() - std::min<std::ptrdiff_t>(std::ssize(b), 8));
}
bool equal_in_all(const Positions& a, const Positions& b) {
  return a == b;
}
const RegisteredKernel by_first_16 = cached_by<equal_in_first_16>("mutant_cache_by_first_16_exact"),
                       by_last_8 = cached_by<equal_in_last_8>("mutant_cache_by_last_8_exact"),
                       by_all = cached_by<equal_in_all>("control_cache_by_all_positions_exact");

// Keeps the table's row while its address and the position stay and, if it looks, also the ends of
// the row.
struct KeptRow {
  explicit KeptRow(const rope_problem& p) : cos(static_cast<std::size_t>(p.rotary_dim / 2)) {
    sin = cos;
  }
  const void* at = nullptr;
  std::int32_t position = 0;
  std::vector<float> cos, sin;
};
template <bool looks_at_ends>
void keep_row(rope_problem& p, rope_operands& o, KeptRow& kept) {
  if (!(p.batch * p.tokens == 1 && p.position_dtype == ROPE_I32 && o.positions != nullptr) ||
      p.table_rows_by != ROPE_ROW_BY_POSITION || p.tensor_count > 1 || o.tensor[0].cos == nullptr)
    return;
  const std::int32_t position = *static_cast<const std::int32_t*>(o.positions);
  const auto row = p.table_rows == 1 ? 0 : position * p.table_row_stride;
  const float* const cos = static_cast<const float*>(o.tensor[0].cos) + row;
  const float* const sin = static_cast<const float*>(o.tensor[0].sin) + row;
  const bool changed =
      looks_at_ends && (sin[0] != kept.sin[0] || sin[kept.sin.size() - 1] != kept.sin.back());
  if (kept.at != o.tensor[0].cos || kept.position != position || changed) {
    std::copy_n(cos, kept.cos.size(), kept.cos.begin());
    std::copy_n(sin, kept.sin.size(), kept.sin.begin());
  }
  kept.at = o.tensor[0].cos;
  kept.position = position;
  p.table_rows = 1;
  o.tensor[0].cos = kept.cos.data();
  o.tensor[0].sin = kept.sin.data();
}
template <bool looks_at_ends>
RegisteredKernel keeps_row(const char* name) {
  return RegisteredKernel(remembering<KeptRow>(
      name, [](auto& p, auto& o, KeptRow& kept) { keep_row<looks_at_ends>(p, o, kept); }));
}
const RegisteredKernel by_address = keeps_row<false>("mutant_row_kept_by_address_table"),
                       by_ends = keeps_row<true>("mutant_row_kept_by_its_ends_table");

}  // namespace
}  // namespace ropewalk::mutants
