// Errors in which axis a pair turns by, in a correct kernel of positions with axes (rope_axes).
// Without axes, every mutant is correct. axis_alone sees each that is not said to be another's.
#include <algorithm>

#include "kernels/common/mixed_rows.h"
#include "kernels/common/own_angles.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

constexpr std::int64_t most_pairs = 4096;

// A call that a mutant may change. Its map is a copy; wider windows keep the caller's.
struct AxesCall {
  rope_problem p;
  rope_operands o;
  rope_axes axes{};
  std::uint8_t map[most_pairs];
  std::int64_t half;

  AxesCall(const rope_problem& problem, const rope_operands& operands)
      : p(problem), o(operands), half(std::min(p.rotary_dim / 2, most_pairs)) {
    std::fill_n(map, half, std::uint8_t{0});
    const rope_axes* const given = axes_of(problem);
    if (given == nullptr) return;
    axes = *given;
    std::copy_n(given->axis_of_pair, half, map);
  }
  std::uint8_t last() const { return static_cast<std::uint8_t>(axes.axes - 1); }
  std::int64_t position(std::int32_t axis, std::int64_t b, std::int64_t t) const {
    return token_at(p, o, b, t, axis * axes.position_axis_stride).position;
  }
};

struct RightAxes {
  virtual ~RightAxes() = default;
  virtual void see(AxesCall&) {}
  virtual void place(const AxesCall&, TokenOnAxes&) {}
  virtual std::uint8_t axis(const AxesCall& c, std::uint32_t /*tensor*/, std::int64_t pair) {
    return c.map[pair];
  }
  virtual std::uint8_t axis_of_sin(std::uint8_t axis) { return axis; }
};

void turn_token(RightAxes& hooks, const AxesCall& c, const Token& token) {
  TokenOnAxes at = on_axes(c.p, c.o, c.axes, token);
  if (c.axes.axes == 0) at.on[0] = token;
  hooks.place(c, at);
  auto* const cos = static_cast<float*>(c.o.workspace);
  float* const sin = cos + c.half;
  for (std::uint32_t i = 0; i < c.p.tensor_count; ++i) {
    const auto entry = [&](const void* table, std::uint8_t axis, std::int64_t pair) {
      const std::int64_t row = c.p.table_rows > 1 ? at.on[axis].table_row : 0;
      return static_cast<const float*>(
          table)[axis * c.axes.table_axis_stride + row * c.p.table_row_stride + pair];
    };
    for (std::int64_t j = 0; j < c.half && c.p.tensor[i].rotate != 0; ++j) {
      const std::uint8_t axis = hooks.axis(c, i, j);
      if (c.p.angle_source == ROPE_ANGLES_TABLE) {
        cos[j] = entry(c.o.tensor[i].cos, axis, j);
        sin[j] = entry(c.o.tensor[i].sin, hooks.axis_of_sin(axis), j);
      } else {
        const CosSin r = cos_sin(phase_of(turn_fraction(c.p.inv_freq[j]), at.on[axis].position));
        cos[j] = static_cast<float>(r.cos);
        sin[j] = static_cast<float>(r.sin);
      }
      sin[j] *= sign_of(c.p);
    }
    rope_problem one = c.p;
    rope_operands of_one = c.o;
    one.tensor_count = 1;
    one.tensor[0] = c.p.tensor[i];
    of_one.tensor[0] = c.o.tensor[i];
    for_each_head<float>(one, of_one, token, [&](const Head<float>& head) {
      const auto scale = static_cast<float>(scale_of(c.p));
      c.p.pairing == ROPE_INTERLEAVED ? rotate_head<ROPE_INTERLEAVED>(head, cos, sin, c.half, scale)
                                      : rotate_head<ROPE_HALF_SPLIT>(head, cos, sin, c.half, scale);
    });
  }
}

template <class Hooks>
KernelInfo axes_info(const char* name) {
  KernelInfo info = info_of<Correct>(name);
  info.extensions = extension_bit(ROPE_EXT_AXES);
  info.flags |= ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT;
  info.supports = [](const rope_problem* p, const char** reason) {
    if (p->rotary_dim / 2 > most_pairs) return refuse(reason, "at most 4,096 pairs");
    return p->angle_source == ROPE_ANGLES_TABLE ? supports_table(p, reason)
                                                : supports_angles(p, reason);
  };
  info.workspace_bytes = own_angles_workspace_bytes;
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    Hooks hooks;
    AxesCall call(*p, *o);
    if (call.axes.axes > 0) hooks.see(call);
    for_each_token(*p, *o, [&](const Token& token) { turn_token(hooks, call, token); });
    return ROPE_OK;
  };
  return info;
}
template <class Hooks>
RegisteredKernel axes_kernel(const char* name) {
  return RegisteredKernel(axes_info<Hooks>(name));
}
template <class Change>
struct Changed : RightAxes {
  void see(AxesCall& c) override { Change{}(c); }
};
template <class Change>
RegisteredKernel axes_mutant(const char* name, Change) {
  return axes_kernel<Changed<Change>>(name);
}
const auto use_first = [](AxesCall& c) { std::fill_n(c.map, c.half, std::uint8_t{0}); };

const auto right_table = axes_kernel<RightAxes>("control_axes_table");
const auto right_exact = axes_kernel<RightAxes>("control_axes_exact");

// Height and width are dropped: text stays right. sglang PR 34446.
const auto first_table = axes_mutant("mutant_first_axis_for_all_table", use_first);

// The last two axes are exchanged: height and width.
const auto swapped = axes_mutant("mutant_height_and_width_swapped_exact", [](AxesCall& c) {
  for (std::int64_t i = 0; i < c.half; ++i)
    if (c.map[i] + 2 >= c.axes.axes)
      c.map[i] = static_cast<std::uint8_t>(2 * c.axes.axes - 3 - c.map[i]);
});

// Every section begins one pair early.
const auto early = axes_mutant("mutant_sections_off_by_one_exact",
                               [](AxesCall& c) { std::copy(c.map + 1, c.map + c.half, c.map); });

// Axes in turn are taken for sections of as many pairs each: another model's code.
const auto chunked = axes_mutant("mutant_axes_in_turn_as_sections_exact",
                                 [](AxesCall& c) { std::sort(c.map, c.map + c.half); });

// Sections are taken for axes in turn.
const auto in_turn = axes_mutant("mutant_sections_as_axes_in_turn_table", [](AxesCall& c) {
  if (std::is_sorted(c.map, c.map + c.half))
    for (std::int64_t i = 0; i < c.half; ++i) c.map[i] = static_cast<std::uint8_t>(i % c.axes.axes);
});

// The last section ends one pair early.
const auto short_section = axes_mutant("mutant_last_section_one_short_exact", [](AxesCall& c) {
  if (c.map[c.half - 1] == c.last()) c.map[c.half - 1] = 0;
});

// Of two or four axes, a map in turn or scattered is taken for sections.
const auto of_four = axes_mutant("mutant_four_axes_as_sections_exact", [](AxesCall& c) {
  if (c.axes.axes != 3) std::sort(c.map, c.map + c.half);
});

// Axes are kept as 16-bit distances from the first.
struct NearPlanes : RightAxes {
  void place(const AxesCall& c, TokenOnAxes& at) override {
    for (std::int32_t a = 1; a < c.axes.axes; ++a)
      at.on[a].position =
          at.on[0].position + static_cast<std::int16_t>(at.on[a].position - at.on[0].position);
  }
};
const auto near_planes = axes_kernel<NearPlanes>("mutant_planes_within_int16_exact");

// Other axes have 2^16 tokens.
struct ShortPlanes : RightAxes {
  void place(const AxesCall& c, TokenOnAxes& at) override {
    for (std::int32_t a = 1; a < c.axes.axes; ++a)
      at.on[a].position = c.position(a, at.on[a].batch, at.on[a].index & 0xffff);
  }
};
const auto short_planes = axes_kernel<ShortPlanes>("mutant_planes_of_65536_tokens_exact");

// Whether a batch is text alone is asked of its first row.
const auto first_row_asked = axes_mutant("mutant_text_if_row_zero_is_text_exact", [](AxesCall& c) {
  bool is_text = c.p.batch > 1;
  for (std::int32_t a = 1; a < c.axes.axes; ++a)
    for (std::int64_t t = 0; t < c.p.tokens; ++t)
      is_text = is_text && c.position(a, 0, t) == c.position(0, 0, t);
  if (is_text) use_first(c);
});

// A plane is taken to have as many positions as a batch row has tokens.
const auto plane = axes_mutant("mutant_plane_stride_is_tokens_exact", [](AxesCall& c) {
  c.axes.position_axis_stride = std::min(c.axes.position_axis_stride, c.p.tokens);
});

// The tables of the axes are taken to have no spare rows and no gaps.
const auto table_stride = axes_mutant("mutant_axis_tables_taken_as_dense_table", [](AxesCall& c) {
  if (c.axes.table_axis_stride > 0)
    c.axes.table_axis_stride = c.p.batch * c.p.tokens * c.p.rotary_dim / 2;
});

// The distance of planes, or of the tables of the axes, has 32 bits. Seen by far_strides alone.
const auto narrow_planes = axes_mutant("mutant_plane_stride_of_32_bits_exact", [](AxesCall& c) {
  c.axes.position_axis_stride = static_cast<std::int32_t>(c.axes.position_axis_stride);
});
const auto narrow_tables =
    axes_mutant("mutant_axis_table_stride_of_32_bits_table", [](AxesCall& c) {
      c.axes.table_axis_stride = static_cast<std::int32_t>(c.axes.table_axis_stride);
    });

// Every batch row has the planes of row 0 beside its own first.
struct RowZeroPlanes : RightAxes {
  void place(const AxesCall& c, TokenOnAxes& at) override {
    for (std::int32_t a = 1; a < c.axes.axes; ++a)
      at.on[a].position = c.position(a, 0, at.on[a].index);
  }
};
const auto row_zero = axes_kernel<RowZeroPlanes>("mutant_planes_of_row_zero_exact");

// Tensors after the first turn by the first axis.
struct SecondWithoutMap : RightAxes {
  std::uint8_t axis(const AxesCall& c, std::uint32_t tensor, std::int64_t pair) override {
    return tensor == 0 ? c.map[pair] : 0;
  }
};
const auto second = axes_kernel<SecondWithoutMap>("mutant_second_tensor_without_map_table");

// Positions of other axes end at that of the first.
struct ClampedToText : RightAxes {
  void place(const AxesCall& c, TokenOnAxes& at) override {
    for (std::int32_t a = 1; a < c.axes.axes; ++a)
      at.on[a].position = std::min(at.on[a].position, at.on[0].position);
  }
};
const auto clamped = axes_kernel<ClampedToText>("mutant_planes_clamped_to_text_exact");

// Sin comes from the row of the axis before.
struct SinOfAxisBefore : RightAxes {
  std::uint8_t axis_of_sin(std::uint8_t axis) override {
    return static_cast<std::uint8_t>(axis > 0 ? axis - 1 : 0);
  }
};
const auto other_row = axes_kernel<SinOfAxisBefore>("mutant_sin_of_axis_before_table");

// The backward pass knows no map.
const auto backward = axes_mutant("mutant_backward_without_map_table", [](AxesCall& c) {
  if (c.p.operation == ROPE_TRANSPOSE) use_first(c);
});

// A fast path for text, taken where the first two axes are equal alone.
const auto two_equal = axes_mutant("mutant_text_if_two_axes_are_equal_exact", [](AxesCall& c) {
  bool equal = c.o.positions != nullptr;
  for_each_token(c.p, c.o, [&](const Token& t) {
    equal = equal && c.position(0, t.batch, t.index) == c.position(1, t.batch, t.index);
  });
  if (equal) use_first(c);
});

// The same, where all axes of the first token are equal.
const auto first_token = axes_mutant("mutant_text_if_first_token_is_exact", [](AxesCall& c) {
  bool equal = c.o.positions != nullptr && c.p.tokens > 1;
  for (std::int32_t a = 1; a < c.axes.axes; ++a)
    equal = equal && c.position(a, 0, 0) == c.position(0, 0, 0);
  if (equal) use_first(c);
});

// A decode step is taken for text.
const auto decode = axes_mutant("mutant_decode_without_axes_exact", [](AxesCall& c) {
  if (c.p.tokens == 1) use_first(c);
});

// The map of the first state is used for all others with as many pairs.
const auto kept = axes_mutant("mutant_map_of_first_state_exact", [](AxesCall& c) {
  static std::uint8_t first[most_pairs];
  static std::int64_t of = 0;
  if (of != c.half) std::copy_n(c.map, of = c.half, first);
  std::copy_n(first, c.half, c.map);
  for (std::int64_t i = 0; i < c.half; ++i) c.map[i] = std::min(c.map[i], c.last());
});

// Takes the size of its own rope_axes for the caller's.
const RegisteredKernel exact_size([] {
  KernelInfo info = axes_info<RightAxes>("mutant_axes_of_exact_size_exact");
  info.supports = [](const rope_problem* p, const char** reason) {
    const rope_axes* const axes = axes_of(*p);
    if (axes != nullptr && axes->ext.struct_size != sizeof(rope_axes))
      return refuse(reason, "another rope_axes");
    return supports_angles(p, reason);
  };
  return info;
}());

// Writes into the chain's node.
const RegisteredKernel node_written([] {
  KernelInfo info = axes_info<RightAxes>("mutant_axes_node_written_exact");
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) {
    if (auto* axes = const_cast<rope_axes*>(axes_of(*p))) axes->reserved = 1;
    return axes_info<RightAxes>("").apply(p, o, nullptr);
  };
  return info;
}());

// Keeps the address of the chain's node, which ends with prepare.
const RegisteredKernel node_kept([] {
  KernelInfo info = axes_info<RightAxes>("mutant_axes_node_kept_exact");
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    *state = const_cast<rope_axes*>(axes_of(*p));
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    rope_problem with_old_node = *p;
    with_old_node.next = static_cast<const rope_ext*>(state);
    return axes_info<RightAxes>("").apply(&with_old_node, o, nullptr);
  };
  info.release = [](void*) {};
  return info;
}());

}  // namespace
}  // namespace ropewalk::mutants
