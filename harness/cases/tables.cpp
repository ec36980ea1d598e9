#include "harness/cases/tables.h"

#include <algorithm>
#include <cstring>

#include "harness/cases/checked.h"
#include "harness/cases/names.h"

namespace ropewalk::harness {
namespace {

// The table rows of one tensor, for all positions of a case. They are made frequency by frequency:
// the oracle has a table for each, which then stays in the cache.
class TableRows {
 public:
  TableRows(const Problem& out, Oracle& oracle, std::uint32_t tensor)
      : asked_(out.asked),
        axis_stride_(out.axes.table_axis_stride),
        type_{out.asked.table_dtype},
        positions_(out.positions) {
    positions_.insert(positions_.end(), out.other_positions.begin(), out.other_positions.end());
    std::sort(positions_.begin(), positions_.end());
    positions_.erase(std::unique(positions_.begin(), positions_.end()), positions_.end());
    const auto half = static_cast<std::size_t>(asked_.rotary_dim / 2);
    row_bytes_ = half * static_cast<std::size_t>(data_type(type_).bytes);
    for (Bytes* rows : {&cos_, &sin_}) rows->resize(positions_.size() * row_bytes_);
    with_floating_type(type_, [&]<class Stored>(std::type_identity<Stored>) {
      for (std::size_t pair = 0; pair < half; ++pair)
        for (std::size_t row = 0; row < positions_.size(); ++row) {
          const auto at = static_cast<std::int64_t>(row * half + pair);
          const Rotation r =
              given_rotation(out, oracle, tensor, positions_[row], static_cast<std::int64_t>(pair));
          store_as<Stored>(cos_, at, r.re.hi);
          store_as<Stored>(sin_, at, r.im.hi);
        }
    });
  }

  // Writes the rows for the tokens at these positions, by token in the table of each axis.
  void fill(const std::vector<std::int64_t>& positions, std::vector<std::byte>& cos,
            std::vector<std::byte>& sin) const {
    const std::int64_t tokens = asked_.batch * asked_.tokens;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const std::int64_t position = positions[i], token = static_cast<std::int64_t>(i) % tokens,
                         axis = static_cast<std::int64_t>(i) / tokens;
      const std::int64_t row = asked_.table_rows_by == ROPE_ROW_BY_TOKEN ? token : position;
      const std::int64_t at =
          (asked_.table_rows == 1 ? 0 : row * asked_.table_row_stride) + axis * axis_stride_;
      const auto to = static_cast<std::size_t>(at * data_type(type_).bytes);
      const auto found = std::lower_bound(positions_.begin(), positions_.end(), position);
      const std::size_t from = static_cast<std::size_t>(found - positions_.begin()) * row_bytes_;
      std::memcpy(cos.data() + to, cos_.data() + from, row_bytes_);
      std::memcpy(sin.data() + to, sin_.data() + from, row_bytes_);
    }
  }

 private:
  using Bytes = std::vector<std::byte>;

  const rope_problem& asked_;
  std::int64_t axis_stride_;
  Dtype type_;
  std::vector<std::int64_t> positions_;  // sorted, each once
  std::size_t row_bytes_ = 0;
  Bytes cos_, sin_;  // [positions, rotary_dim / 2]
};

// Rows that no token uses stay poison, which shows a kernel that reads a wrong row. Both placements
// share one table by position; each has its own table by token.
void add_table(const Case& c, Problem& out, Oracle& oracle, std::uint32_t tensor) {
  const rope_problem& p = out.asked;
  const std::int64_t elements =
      plus(times(c.axes - 1, out.axes.table_axis_stride), elements_of_table(p));
  const Dtype type{p.table_dtype};
  const bool own_sin = c.own_sin && tensor > 0;
  const std::string suffix = c.own_tables || own_sin ? "." + std::string(tensor_words[tensor]) : "";
  TensorPlaces& places = out.tensor[tensor];
  places.cos = own_sin ? out.tensor[0].cos : add_buffer(out, "cos" + suffix, elements, type, false);
  places.sin = add_buffer(out, "sin" + suffix, elements, type, false);
  const auto cos = static_cast<std::size_t>(places.cos), sin = static_cast<std::size_t>(places.sin);
  auto &first_cos = out.buffers[cos].content, &first_sin = out.buffers[sin].content;
  out.other_inputs.resize(out.buffers.size());
  auto &other_cos = out.other_inputs[cos], &other_sin = out.other_inputs[sin];
  const bool by_token = p.table_rows_by == ROPE_ROW_BY_TOKEN;
  const TableRows rows(out, oracle, tensor);
  if (out.other_positions.empty()) return rows.fill(out.positions, first_cos, first_sin);
  if (by_token && !own_sin) other_cos = first_cos;
  if (by_token) other_sin = first_sin;
  rows.fill(out.positions, first_cos, first_sin);
  rows.fill(out.other_positions, by_token ? other_cos : first_cos,
            by_token ? other_sin : first_sin);
}

}  // namespace

std::int64_t elements_of_table(const rope_problem& p) {
  const std::int64_t half = p.rotary_dim / 2;
  return p.table_rows == 1 ? half : plus(times(p.table_rows - 1, p.table_row_stride), half);
}

void add_tables(const Case& c, Problem& out, Oracle& oracle) {
  for (std::uint32_t i = 0; i < out.asked.tensor_count; ++i) {
    if (i == 0 || c.own_tables || c.own_sin) {
      add_table(c, out, oracle, i);
    } else {
      out.tensor[i].cos = out.tensor[0].cos;
      out.tensor[i].sin = out.tensor[0].sin;
    }
  }
}

}  // namespace ropewalk::harness
