// Errors in a cache: its key is less than what the result depends on.
#include <algorithm>
#include <cstring>
#include <vector>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// The positions of a call, and those whose rotation is kept.
using Positions = std::vector<std::int64_t>;
struct KeptAngles {
  Positions kept, now;
};
std::int32_t make_kept_angles(const rope_problem* p, void** state) {
  auto* angles = new KeptAngles;
  for (Positions* list : {&angles->kept, &angles->now})
    list->reserve(static_cast<std::size_t>(p->batch * p->tokens));
  *state = angles;
  return ROPE_OK;
}

template <bool (*equal)(const Positions&, const Positions&)>
RegisteredKernel cached_by(const char* name) {
  KernelInfo info = angles_info<Correct>(name);
  info.prepare = make_kept_angles;
  info.release = drop_state<KeptAngles>;
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    auto& angles = *static_cast<KeptAngles*>(state);
    angles.now.clear();
    for_each_token(*p, *o, [&](const Token& token) { angles.now.push_back(token.position); });
    if (angles.kept.empty() || !equal(angles.now, angles.kept)) angles.kept.swap(angles.now);
    rope_problem seen = *p;
    rope_operands given = *o;
    read_positions_from(seen, given, angles.kept.data());
    return apply<Correct>(&seen, &given, nullptr);
  };
  return RegisteredKernel(info);
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
  const void* at = nullptr;
  std::int32_t position = 0;
  std::vector<float> cos, sin;
};
template <bool looks_at_ends>
RegisteredKernel keeps_row(const char* name) {
  KernelInfo info = table_info<Correct>(name);
  info.release = drop_state<KeptRow>;
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    auto* kept = new KeptRow;
    kept->cos.resize(static_cast<std::size_t>(p->rotary_dim / 2));
    kept->sin = kept->cos;
    *state = kept;
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    KeptRow& kept = *static_cast<KeptRow*>(state);
    if (!(p->batch * p->tokens == 1 && p->position_dtype == ROPE_I32 && o->positions != nullptr) ||
        p->table_rows_by != ROPE_ROW_BY_POSITION || p->tensor_count > 1 ||
        o->tensor[0].cos == nullptr)
      return apply<Correct>(p, o, nullptr);
    const std::int32_t position = *static_cast<const std::int32_t*>(o->positions);
    const auto row = p->table_rows == 1 ? 0 : position * p->table_row_stride;
    const float* const cos = static_cast<const float*>(o->tensor[0].cos) + row;
    const float* const sin = static_cast<const float*>(o->tensor[0].sin) + row;
    const bool changed =
        looks_at_ends && (sin[0] != kept.sin[0] || sin[kept.sin.size() - 1] != kept.sin.back());
    if (kept.at != o->tensor[0].cos || kept.position != position || changed) {
      std::copy_n(cos, kept.cos.size(), kept.cos.begin());
      std::copy_n(sin, kept.sin.size(), kept.sin.begin());
    }
    kept.at = o->tensor[0].cos;
    kept.position = position;
    rope_problem one_row = *p;
    one_row.table_rows = 1;
    rope_operands given = *o;
    given.tensor[0].cos = kept.cos.data();
    given.tensor[0].sin = kept.sin.data();
    return apply<Correct>(&one_row, &given, nullptr);
  };
  return RegisteredKernel(info);
}
const RegisteredKernel by_address = keeps_row<false>("mutant_row_kept_by_address_table"),
                       by_ends = keeps_row<true>("mutant_row_kept_by_its_ends_table");

// Leaves an output that still holds what the last call left, if addresses and position are those of
// that call.
struct Done {
  const void *in = nullptr, *out = nullptr;
  std::int64_t position = 0;
  float left = 0;
};
struct LeavesWhatIsDone : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for_each_token(p, o, [&](const Token& token) { now.position = token.position; });
    now.in = o.tensor[0].in;
    now.out = o.tensor[0].out;
    if (now.in == last.in && now.out == last.out && now.position == last.position &&
        *out_row(p, o, 0, 0, 0, 0) == last.left)
      p.batch = 0;
  }
  void finish(const rope_problem& p, const rope_operands& o) override {
    last = now;
    last.left = *out_row(p, o, 0, 0, 0, 0);
  }
  Done now;
  static inline Done last;
};
const RegisteredKernel leaves_what_is_done =
    on_table<LeavesWhatIsDone>("mutant_leaves_what_is_done_table");

}  // namespace
}  // namespace ropewalk::mutants
