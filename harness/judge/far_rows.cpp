#include "harness/judge/far_rows.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "harness/cases/checked.h"

namespace ropewalk::harness {
namespace {

std::int64_t table_row_at(const rope_problem& p, std::int64_t token, std::int64_t position) {
  const bool by_token = p.table_rows_by == ROPE_ROW_BY_TOKEN;
  return p.table_rows == 1 ? 0 : times(by_token ? token : position, p.table_row_stride);
}

}  // namespace

void for_each_piece(const Problem& near, const Problem& with_far_rows, int placement,
                    const std::function<void(const Piece&)>& visit) {
  const rope_problem &p = near.asked, &far = with_far_rows.asked;
  const auto show = [&](int buffer, std::int64_t far_at, std::int64_t near_at, std::int64_t count) {
    if (buffer < 0) return;
    const std::int64_t size = near.buffers[static_cast<std::size_t>(buffer)].element_bytes();
    visit({buffer, far_at, near_at, static_cast<std::uint64_t>(count * size)});
  };
  const std::int64_t count = p.batch * p.tokens;
  const auto& positions = placement == 1 ? near.other_positions : near.positions;
  show(near.slots_buffer, 0, 0, count);
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    show(near.tensor[i].weight, 0, 0, p.tensor[i].head_dim);
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t t = 0; t < p.tokens; ++t) {
      const std::int64_t token = b * p.tokens + t;
      for (std::int64_t axis = 0; axis < near.source.axes; ++axis) {
        const std::int64_t position = positions[static_cast<std::size_t>(axis * count + token)];
        const auto plane = [&](const Problem& of) {
          return position_index(of.asked, b, t) + times(axis, of.axes.position_axis_stride);
        };
        const auto table_row = [&](const Problem& of) {
          return table_row_at(of.asked, token, position) + times(axis, of.axes.table_axis_stride);
        };
        show(near.positions_buffer, plane(with_far_rows), plane(near), 1);
        for (std::uint32_t i = 0; i < p.tensor_count; ++i)
          for (const int table : {near.tensor[i].cos, near.tensor[i].sin})
            show(table, table_row(with_far_rows), table_row(near), p.rotary_dim / 2);
      }
      for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
        const TensorPlaces& at = near.tensor[i];
        for (std::int64_t h = 0; h < p.tensor[i].heads; ++h) {
          show(at.in, at.in_at + in_index(far, i, b, t, h), at.in_at + in_index(p, i, b, t, h),
               p.tensor[i].head_dim);
          const std::int64_t to = out_row(near, placement, {i, b, t, h});
          if ((at.out != at.in || near.source.one_buffer) && to >= 0)
            show(at.out, out_row(with_far_rows, placement, {i, b, t, h}), to, p.tensor[i].head_dim);
        }
      }
    }
}

bool addresses_for(std::uint64_t bytes) {
  for (const auto which : {RLIMIT_AS, RLIMIT_FSIZE}) {
    rlimit limit{};
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur < 2 * bytes) return false;
  }
  void* all =
      mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return false;
  munmap(all, 2 * bytes);
  return true;
}

}  // namespace ropewalk::harness
