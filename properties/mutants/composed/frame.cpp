#include "properties/mutants/composed/frame.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/common/integer_phase.h"

ROPEWALK_PLUGIN();

namespace ropewalk::mutants {
namespace {

// The call as if it had only the tensor of the plan.
struct Alone {
  rope_problem p;
  rope_operands o;
  explicit Alone(const Plan& plan) : p(plan.p), o(plan.o) {
    p.tensor_count = 1;
    p.tensor[0] = plan.shape();
    o.tensor[0] = plan.o.tensor[plan.tensor];
  }
};

// Changes a token as the plan says. Batch rows come in order, and so do their tokens.
class Locator {
 public:
  Locator(const Plan& plan, const rope_problem& p) : plan_(plan), p_(p) {}

  void locate(Token& token) {
    if (plan_.equal_steps) take_step(token);
    if (token.batch + token.index == 0 && plan_.first_position)
      token.position = *plan_.first_position;
    if (plan_.position_in_16_bits) token.position = static_cast<std::int16_t>(token.position);
    if (plan_.position_in_f32)
      token.position = static_cast<std::int64_t>(static_cast<float>(token.position));
    token.position = std::max(token.position, plan_.least_position);
    const bool by_token = p_.table_rows_by == ROPE_ROW_BY_TOKEN;
    if (!by_token) token.table_row = token.position;
    if (by_token && plan_.row_of_token_alone) token.table_row = token.index;
    // A wrong position must not be seen by a crash alone.
    const std::int64_t last = std::max<std::int64_t>(p_.table_rows - 1, 0);
    token.table_row = std::clamp<std::int64_t>(token.table_row, 0, last);
  }

 private:
  void take_step(Token& token) {
    if (token.index == 0) first_ = token.position;
    if (token.index == 1) step_ = token.position - first_;
    token.position = token.index == 0 ? first_ : first_ + token.index * step_;
  }

  const Plan& plan_;
  const rope_problem& p_;
  std::int64_t first_ = 0, step_ = 0;
};

// One head: its row, and the values that turn it.
template <class Data, class Table>
struct Row {
  const Data* in;
  Data* out;
  const Table *cos, *sin;
  TableOf<Data> first_cos;
};

template <class Data, class Table>
void copy_dims(const Plan& plan, const Row<Data, Table>& row, std::int64_t begin,
               std::int64_t end) {
  if (begin >= end) return;
  if (plan.copied_scale == 1 && !plan.copies_by_float) {
    if (row.in + begin != row.out + begin)
      std::memmove(row.out + begin, row.in + begin,
                   static_cast<std::size_t>(end - begin) * sizeof(Data));
    return;
  }
  using Real = TableOf<Data>;
  for (std::int64_t e = begin; e < end; ++e)
    row.out[e] = Data(static_cast<Real>(plan.copied_scale) * Real(row.in[e]));
}

template <class Data>
TableOf<Data> read(const Plan& plan, const Data& from) {
  using Real = TableOf<Data>;
  constexpr auto normal = static_cast<Real>(data_type(Dtype{dtype_of<Data>}).format.normal);
  const Real value = from;
  if (plan.flushes && std::abs(value) < normal) return 0;
  return Real(Data(static_cast<Real>(plan.headroom) * value));
}

template <class Data, class Table>
void turn_pair(const Plan& plan, const Row<Data, Table>& row, std::int64_t begin, std::int64_t i) {
  using Real = TableOf<Data>;
  const PairIndex at = pair_index(plan.p.pairing, i, plan.p.rotary_dim / 2);
  const std::int64_t a = begin + at.first, b = begin + at.second;
  const auto scale = static_cast<Real>(plan.scale);
  const auto headroom = static_cast<Real>(plan.headroom);
  const Real cos = i == 0 ? row.first_cos : static_cast<Real>(row.cos[i]);
  const Real sin = static_cast<Real>(row.sin[i]) * (plan.backward ? Real{-1} : Real{1});
  Real x1 = read(plan, row.in[a]);
  const Real x2 = read(plan, row.in[b]);
  Real y1 = scale * (x1 * cos - x2 * sin) / headroom;
  if (plan.reads_late) {
    row.out[a] = Data(y1);
    x1 = read(plan, row.in[a]);
  }
  Real y2 = scale * (x2 * cos + x1 * sin) / headroom;
  if (plan.shares_scratch) {
    static volatile Real scratch[2];
    scratch[0] = y1;
    scratch[1] = y2;
    // takes as long as a row through the scratch
    for (volatile int waited = 0; waited < 64;) waited = waited + 1;
    y1 = scratch[0];
    y2 = scratch[1];
  }
  row.out[a] = Data(y1);
  row.out[b] = Data(y2);
}

template <class Data, class Table>
void turn_window(const Plan& plan, const Row<Data, Table>& row, std::int64_t begin) {
  const std::int64_t half = plan.p.rotary_dim / 2, end = begin + 2 * half;
  const auto is_zero = [](const Data& value) { return TableOf<Data>(value) == 0; };
  if (plan.leaves_zeros && std::all_of(row.in + begin, row.in + end, is_zero)) return;
  for (std::int64_t i = 0; i < std::min(plan.pairs, half); ++i) turn_pair(plan, row, begin, i);
  for (std::int64_t i = plan.pairs; i < half; ++i) {
    const PairIndex at = pair_index(plan.p.pairing, i, half);
    row.out[begin + at.first] = row.in[begin + at.first];
    row.out[begin + at.second] = row.in[begin + at.second];
  }
}

// The rows of cos and sin of a token, made in the workspace in the type of the arithmetic.
template <class Data>
void make_turns(const Alone& call, const Token& token, Row<Data, TableOf<Data>>& row) {
  using Real = TableOf<Data>;
  const rope_problem& p = call.p;
  auto* cos = static_cast<Real*>(call.o.workspace);
  auto* sin = cos + p.rotary_dim / 2;
  for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i) {
    const CosSin turn = cos_sin(phase_of(turn_fraction(p.inv_freq[i]), token.position));
    cos[i] = static_cast<Real>(turn.cos);
    sin[i] = static_cast<Real>(turn.sin);
  }
  row.cos = cos;
  row.sin = sin;
}

// The same from the table, or made.
template <class Data, class Table>
void choose_turns(const Alone& call, const Token& token, Row<Data, Table>& row) {
  const rope_problem& p = call.p;
  if (p.angle_source == ROPE_ANGLES_TABLE) {
    const std::int64_t at = p.table_rows > 1 ? token.table_row * p.table_row_stride : 0;
    row.cos = static_cast<const Table*>(call.o.tensor[0].cos) + at;
    row.sin = static_cast<const Table*>(call.o.tensor[0].sin) + at;
  } else if constexpr (std::is_same_v<Table, TableOf<Data>>) {
    make_turns(call, token, row);
  }
}

template <class Data, class Table>
void turn_token(const Plan& plan, const Alone& call, const Token& token) {
  const rope_problem& p = call.p;
  const rope_tensor& s = p.tensor[0];
  Row<Data, Table> row{};
  if (s.rotate != 0) {
    choose_turns(call, token, row);
    const bool first = token.batch + token.index == 0;
    row.first_cos =
        static_cast<TableOf<Data>>(first && plan.first_cos ? *plan.first_cos : double{row.cos[0]});
  }
  const auto at = [&](std::int64_t h, std::int64_t batch, std::int64_t next, std::int64_t head) {
    return (p.batch > 1 ? token.batch * batch : 0) + (p.tokens > 1 ? token.index * next : 0) +
           (s.heads > 1 ? h * head : 0);
  };
  const std::int64_t begin = s.rotate != 0 ? s.rotary_offset : 0;
  const std::int64_t end = s.rotate != 0 ? begin + p.rotary_dim : 0;
  for (std::int64_t h = 0; h < s.heads; ++h) {
    row.in = static_cast<const Data*>(call.o.tensor[0].in) +
             at(h, s.in_batch_stride, s.in_token_stride, s.in_head_stride);
    row.out = static_cast<Data*>(call.o.tensor[0].out) +
              at(h, s.out_batch_stride, s.out_token_stride, s.out_head_stride);
    copy_dims(plan, row, 0, begin);
    copy_dims(plan, row, end, s.head_dim);
    if (s.rotate != 0) turn_window(plan, row, begin);
    if (plan.touches_behind && s.rotate != 0 && end < s.head_dim)
      row.out[end] = Data(TableOf<Data>{0});
  }
}

}  // namespace

Plan::Plan(const rope_problem& problem, const rope_operands& operands, std::uint32_t index)
    : asked(problem),
      p(problem),
      o(operands),
      tensor(index),
      backward(problem.operation == ROPE_TRANSPOSE),
      scale(scale_of(problem)),
      pairs(problem.rotary_dim / 2) {}

void execute(const Plan& plan) {
  const Alone call(plan);
  Locator locator(plan, call.p);
  const auto turn = [&]<class Data, class Table>(std::type_identity<Data>,
                                                 std::type_identity<Table>) {
    for_each_token(call.p, call.o, [&](Token token) {
      locator.locate(token);
      if (token.index < plan.tokens) turn_token<Data, Table>(plan, call, token);
    });
  };
  const bool table = call.p.angle_source == ROPE_ANGLES_TABLE;
  with_floating_type(
      Dtype{call.p.tensor[0].in_dtype}, [&]<class Data>(std::type_identity<Data> data) {
        if (!table) return turn(data, std::type_identity<TableOf<Data>>{});
        with_floating_type(Dtype{call.p.table_dtype}, [&](auto type) { turn(data, type); });
      });
}

std::size_t workspace_of(const rope_problem* p) {
  return p->angle_source == ROPE_ANGLES_TABLE
             ? 0
             : static_cast<std::size_t>(p->rotary_dim) * sizeof(float);
}

}  // namespace ropewalk::mutants
