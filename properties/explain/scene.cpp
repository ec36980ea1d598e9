#include "properties/explain/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/system/memory_limits.h"
#include "harness/cases/data.h"
#include "harness/cases/inputs.h"
#include "harness/cases/names.h"
#include "harness/cases/poison.h"
#include "properties/two_runs.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t most_elements = 1 << 20;

bool has_too_many(const Case& c) {
  return c.batch * c.tokens * elements_of_token(c.tensors) > most_elements;
}

// One element of an output, after a call.
struct Element {
  Element(const Problem& p, const Outputs& outputs, const HeadPlace& at, std::int64_t element) {
    const int out = p.output(at.tensor).buffer;
    const Buffer& buffer = p.buffers[static_cast<std::size_t>(out)];
    const std::int64_t bytes = buffer.element_bytes();
    const std::int64_t from = bytes * (out_row(p, outputs.placement, at) + element);
    now = outputs[static_cast<std::size_t>(out)].data() + from;
    const std::byte* before = given(p, outputs.placement, out).data() + from;
    unwritten = p.buffer(Operand::in, at.tensor) != out &&
                (buffer.holds_input ? std::memcmp(now, before, static_cast<std::size_t>(bytes)) == 0
                                    : is_poison(now, buffer.dtype, poison_of(outputs.placement)));
    read_poison = is_poison_of_any_sign(now, buffer.dtype, Poison::read_only);
  }
  const std::byte* now;
  bool unwritten;    ///< the element, which is none of an input, is what it was before the call
  bool read_poison;  ///< arithmetic keeps poison, except for its sign
};

template <class Visit>
void for_each_row(const Problem& problem, int placement, Visit&& visit) {
  for_each_head_of(problem, [&](int of, const HeadPlace& at) {
    if (of == placement && out_row(problem, of, at) >= 0) visit(at);
  });
}

template <class Visit>
void for_each_copied(const Problem& problem, int placement, Visit&& visit) {
  for_each_row(problem, placement, [&](const HeadPlace& at) {
    const rope_tensor& s = problem.asked.tensor[at.tensor];
    const std::int64_t begin = s.rotate != 0 ? s.rotary_offset : s.head_dim;
    const std::int64_t end = s.rotate != 0 ? begin + problem.asked.rotary_dim : s.head_dim;
    for (std::int64_t e = 0; e < s.head_dim && !marks(&problem.norm, at.tensor); ++e)
      if (e < begin || e >= end) visit(at, e);
  });
}

const std::byte* input_of(const Problem& p, int placement, const HeadPlace& at, std::int64_t e) {
  const int in = p.buffer(Operand::in, at.tensor);
  const std::int64_t index = in_row(p, at) + e;
  return given(p, placement, in).data() +
         index * p.buffers[static_cast<std::size_t>(in)].element_bytes();
}

void add_copies(Scene& scene, const Outputs& outputs) {
  const Problem& p = scene.problem;
  for_each_copied(p, outputs.placement, [&](const HeadPlace& at, std::int64_t e) {
    const Element element(p, outputs, at, e);
    const std::byte* in = input_of(p, outputs.placement, at, e);
    const Dtype dtype = tensor_dtype(p.source, at.tensor);
    std::uint64_t got = 0, expected = 0;  // bits
    std::memcpy(&got, element.now, static_cast<std::size_t>(data_type(dtype).bytes));
    std::memcpy(&expected, in, static_cast<std::size_t>(data_type(dtype).bytes));
    const bool wrong = got != expected;
    scene.copies.push_back({at, e, position_of(p, outputs.placement, at.b, at.t, 0),
                            outputs.placement, load(element.now, dtype, 0), load(in, dtype, 0),
                            wrong, wrong && element.unwritten, got, expected});
  });
}

void add_pairs(Scene& scene, Subject& subject, const Outputs& outputs) {
  const Problem& problem = scene.problem;
  const Case& c = problem.source;
  // In f64 this arithmetic errs as much as a kernel may, so only clear errors count.
  const auto strict = [&c](std::uint32_t tensor) -> double {
    return data_type(tensor_dtype(c, tensor)).computed_in == Dtype::f64 ? 8 : 1;
  };
  for_each_row(problem, outputs.placement, [&](const HeadPlace& at) {
    const auto& [tensor, b, t, h] = at;
    if (problem.asked.tensor[tensor].rotate == 0) return;
    const auto rotations = rotations_of(problem, subject.oracle, outputs.placement, tensor, b, {t});
    for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
      Seen s{};
      s.at = at;
      s.pair = i;
      s.position = position_of(problem, outputs.placement, b, t, i);
      s.placement = outputs.placement;
      s.x = as_complex(input_pair(problem, outputs.placement, at, i));
      s.r = as_complex(rotations[static_cast<std::size_t>(i)]);
      s.y = as_complex(output_pair(problem, outputs, tensor, b, t, h, i));
      if (!std::isfinite(s.x.real()) || !std::isfinite(s.x.imag())) continue;
      const bool back = c.operation == Operation::transpose;
      s.truth = scale_of(c) * s.x * (back ? std::conj(s.r) : s.r);
      s.bound = strict(tensor) * pair_bound(subject.facts, c, tensor, std::abs(s.x), std::abs(s.r),
                                            {{s.truth.real()}, {s.truth.imag()}});
      s.wrong = !(std::abs(s.y - s.truth) <= s.bound);
      if (s.wrong) {
        const PairIndex e = pair_elements(problem.asked, tensor, i);
        const Element first(problem, outputs, at, e.first), second(problem, outputs, at, e.second);
        s.unwritten = first.unwritten || second.unwritten;
        s.read_poison = first.read_poison || second.read_poison;
      }
      scene.pairs.push_back(s);
    }
  });
}

// ---- other contents

// Gives elements outside the windows numbers, which may be read and have to be copied.
void tame_copies(Problem& p) {
  for (const int placement : {0, 1})
    for_each_copied(p, placement, [&](const HeadPlace& at, std::int64_t e) {
      const auto in = static_cast<std::size_t>(p.buffer(Operand::in, at.tensor));
      auto& other = p.other_inputs[in];
      auto& bytes = placement == 1 && !other.empty() ? other : p.buffers[in].content;
      const Dtype dtype = tensor_dtype(p.source, at.tensor);
      const std::int64_t index = in_row(p, at) + e;
      store(bytes, dtype, index,
            unit_value(hash(p.source.seed, 0x7a3e, placement, index),
                       data_type(dtype).format.mantissa));
    });
}

// Gives every row of a table by position its angles. False: some rows of a table hold none.
bool fill_tables(Problem& p, Oracle& oracle) {
  const std::int64_t half = p.asked.rotary_dim / 2;
  if (p.asked.angle_source != ROPE_ANGLES_TABLE) return true;
  if (p.asked.table_rows_by != ROPE_ROW_BY_POSITION) return p.source.table_spare_rows == 0;
  if (p.asked.table_rows * half > most_elements) return false;
  const Dtype dtype{p.asked.table_dtype};
  for (std::uint32_t i = 0; i < p.asked.tensor_count; ++i)
    for (std::int64_t row = 0; row < p.asked.table_rows && p.asked.tensor[i].rotate != 0; ++row)
      for (std::int64_t pair = 0; pair < half; ++pair) {
        const Rotation r = given_rotation(p, oracle, i, row, pair);
        const std::int64_t at = row * p.asked.table_row_stride + pair;
        const auto put = [&](int buffer, const DoubleDouble& value) {
          store(p.buffers[static_cast<std::size_t>(buffer)].content, dtype, at,
                static_cast<double>(value));
        };
        put(p.buffer(Operand::cos, i), r.re);
        put(p.buffer(Operand::sin, i), r.im);
      }
  return true;
}

// Two calls at the same addresses, with the same contents and positions. A lone call before them
// tells the calls of a state from every other call of a process.
Execution call_alike(Subject& subject, Problem& p) {
  execute_once(subject, p, true);
  keep_positions(p);
  for (auto& bytes : p.other_inputs) bytes.clear();
  Call like{};
  like.lead = [](std::size_t) { return std::uint64_t{0}; };
  return run_like(subject, p, like).execution;
}

}  // namespace

Scene scene_of(Subject& subject, Problem moved, const Execution& execution) {
  Scene scene{std::move(moved), subject.oracle, {}, {}};
  for (const Outputs& outputs : execution.outputs) {
    add_pairs(scene, subject, outputs);
    add_copies(scene, outputs);
  }
  const Finding judged = compare_whole_output(subject, scene.problem, execution);
  scene.holds = execution.unwritten_elements == 0 && (judged.compared == 0 || judged.holds());
  return scene;
}

std::string first_wrong(const Scene& scene) {
  const Problem& p = scene.problem;
  std::vector<Copied> all;
  for (const Seen& s : scene.pairs) {
    if (!s.wrong) continue;
    const PairIndex e = pair_elements(p.asked, s.at.tensor, s.pair);
    const auto error = s.y - s.truth;
    // The bound is on the pair, so the larger error is wrong if none is alone.
    const bool first =
        !(std::abs(error.real()) <= s.bound) || !(std::abs(error.imag()) > std::abs(error.real()));
    all.push_back({s.at, first ? e.first : e.second, s.position, s.placement,
                   first ? s.y.real() : s.y.imag(), first ? s.truth.real() : s.truth.imag(), true,
                   s.unwritten});
  }
  std::ranges::copy_if(scene.copies, std::back_inserter(all),
                       [](const Copied& e) { return e.wrong; });
  if (all.empty()) return {};
  const auto index = [&](const Copied& w) {
    return out_row(p, w.placement, w.at) - p.output(w.at.tensor).at + w.element;
  };
  const Copied& w = *std::ranges::min_element(all, [&](const Copied& a, const Copied& b) {
    return std::tuple(a.placement, a.at.tensor, index(a)) <
           std::tuple(b.placement, b.at.tensor, index(b));
  });
  constexpr std::ptrdiff_t few = 8;
  const auto& positions = w.placement == 1 ? p.other_positions : p.positions;
  const std::vector<std::int64_t> shown(
      positions.begin(), std::next(positions.begin(), std::min(few, std::ssize(positions))));
  std::string got = fmt::format("{:.9g}", w.got), expected = fmt::format("{:.9g}", w.expected);
  if (got == expected && w.got_bits != w.expected_bits) {  // two kinds of NaN
    got += fmt::format(" ({:#x})", w.got_bits);
    expected += fmt::format(" ({:#x})", w.expected_bits);
  }
  return fmt::format(
      "first wrong: {}.{} element {}, got {}, expected {}; call {} of 2, position{} {}{}",
      tensor_words[w.at.tensor], marks(&p.append, w.at.tensor) ? "cache" : "out", index(w), got,
      expected, w.placement + 1, positions.size() == 1 ? "" : "s", fmt::join(shown, ", "),
      std::ssize(positions) > few ? ", ..." : "");
}

Subject put_right(const Subject& subject, const std::function<void(const Scene&)>& see) {
  Subject out = subject;
  out.change = [as_it_is = subject, see](const Problem& problem, Outputs& outputs) mutable {
    if (has_too_many(problem.source)) return;
    Scene scene{problem, as_it_is.oracle, {}, {}};
    add_pairs(scene, as_it_is, outputs);
    add_copies(scene, outputs);
    see(scene);
    const auto row_of = [&](const HeadPlace& at) {
      return out_row(problem, outputs.placement, at);
    };
    const auto bytes_of = [&](const HeadPlace& at) -> auto& {
      return outputs[static_cast<std::size_t>(problem.output(at.tensor).buffer)];
    };
    for (const Seen& s : scene.pairs) {
      if (!s.wrong) continue;
      const PairIndex e = pair_elements(problem.asked, s.at.tensor, s.pair);
      const Dtype dtype = tensor_dtype(problem.source, s.at.tensor);
      store(bytes_of(s.at), dtype, row_of(s.at) + e.first, s.truth.real());
      store(bytes_of(s.at), dtype, row_of(s.at) + e.second, s.truth.imag());
    }
    for (const Copied& e : scene.copies) {
      if (!e.wrong) continue;
      const auto size = data_type(tensor_dtype(problem.source, e.at.tensor)).bytes;
      std::memcpy(bytes_of(e.at).data() + (row_of(e.at) + e.element) * size,
                  input_of(problem, outputs.placement, e.at, e.element),
                  static_cast<std::size_t>(size));
    }
  };
  return out;
}

Look look_at(Subject& subject) {
  return [&subject](const Case& c, Calls calls) -> std::optional<Scene> {
    if (has_too_many(c)) return {};
    try {
      Problem problem = make_problem(c, subject.oracle);
      problem.poison_alone = calls == Calls::alike || calls == Calls::poisoned;
      if (calls == Calls::tame) tame_copies(problem);
      const bool full = calls == Calls::tame && fill_tables(problem, subject.oracle);
      const Execution execution =
          calls == Calls::alike ? call_alike(subject, problem) : execute(subject, problem);
      if (failure_of(execution).kind != Finding::Kind::measured) return {};
      Scene scene = scene_of(subject, std::move(problem), execution);
      scene.has_full_tables = full;
      return scene;
    } catch (const BadCase&) {  // a varied case may not allow these positions
      return {};
    } catch (const NoMemory&) {  // a case of far rows is larger when they lie near
      return {};
    }
  };
}

}  // namespace ropewalk::properties
