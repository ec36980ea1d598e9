#include "harness/judge/offer_cases.h"

#include <functional>

namespace ropewalk::harness {
namespace {

constexpr HeadSize sizes[] = {{8, 8},     {64, 64},   {128, 128}, {16, 16}, {32, 32}, {256, 256},
                              {96, 96},   {80, 80},   {128, 64},  {64, 32}, {80, 32}, {256, 64},
                              {96, 24},   {192, 64},  {512, 512}, {40, 40}, {48, 48}, {112, 112},
                              {160, 160}, {192, 192}, {224, 224}};
}  // namespace

std::span<const HeadSize> usual_sizes() {
  return sizes;
}

Case resized(Case c, HeadSize size) {
  c.rotary_dim = size.rotary_dim;
  for (auto& t : c.tensors) t.head_dim = size.head_dim;
  return c;
}

std::vector<Case> basic_cases(const Subject& subject, Pairing pairing, Dtype dtype) {
  std::vector<Case> cases;
  Case c;
  c.kernel = subject.facts.name;
  c.plugin = subject.facts.plugin;
  c.contract = subject.facts.angle_contract;
  c.pairing = pairing;
  c.dtype = dtype;
  // Every kernel promises at least one form, in place or out of place. If a kernel promises both,
  // ask_supports() asks a refused case again in the other form.
  const bool in_place = (subject.facts.flags & ROPE_OUT_OF_PLACE) == 0;
  for (const HeadSize size : sizes)
    for (const auto tensors : {std::size_t{1}, std::size_t{2}})
      for (const std::int64_t tokens : {2, 1})
        for (const std::int32_t rows_by : {ROPE_ROW_BY_POSITION, ROPE_ROW_BY_TOKEN})
          for (const Dtype positions : {Dtype::i32, Dtype::i64}) {
            if (c.contract != ROPE_CONTRACT_TABLE && rows_by != ROPE_ROW_BY_POSITION) continue;
            c.rotary_dim = size.rotary_dim;
            c.tokens = tokens;
            c.rows_by = rows_by;
            c.position_dtype = positions;
            TensorCase t;
            t.heads = 2;
            t.head_dim = size.head_dim;
            t.in_place = in_place;
            c.tensors.assign(tensors, t);
            cases.push_back(c);
          }
  return cases;
}

std::vector<Case> unusual_cases(const Subject& subject, Pairing pairing, Dtype dtype) {
  static const std::vector<std::function<void(Case&)>> changes = {
      [](Case& c) { c.tensors[0].heads = 1; },
      [](Case& c) { c.tensors[0].heads = 8; },
      [](Case& c) { c.tokens = 4; },
      [](Case& c) { c.tokens = 16; },
      [](Case& c) { c.batch = 2; },
      [](Case& c) { c.batch = 4; },
      [](Case& c) { c.operation = Operation::transpose; },
      [](Case& c) { c.attention_scale = 1.5; },
      [](Case& c) { c.tensors[0].heads = 4, c.tensors[1].heads = 2; },
      [](Case& c) { c.tensors[0].heads = 8, c.tensors[1].heads = 1; },
      [](Case& c) { c.tensors[0].heads = 8, c.tensors[1].heads = 1, c.tokens = 16; },
      [](Case& c) { c.tensors[0].heads = 1, c.batch = 4, c.tokens = 1; },
      [](Case& c) { c.tokens = 16, c.operation = Operation::transpose; },
      [](Case& c) { c.attention_scale = 1.5, c.operation = Operation::transpose; },
      [](Case& c) { c.tensors.resize(3, c.tensors[0]), c.tensors[2].rotate = false; },
      [](Case& c) { c.tensors.resize(4, c.tensors[0]); },
      [](Case& c) { c.tensors[0].heads = 3; },
      [](Case& c) { c.tokens = 32; },
      [](Case& c) { c.tokens = 64, c.batch = 2; },
      [](Case& c) { c.tokens = 128; },
      [](Case& c) { c.tokens = 3; },
      [](Case& c) { c.rows_by = ROPE_ROW_BY_TOKEN, c.operation = Operation::transpose; },
      [](Case& c) { c.tensors[0].heads = 16, c.batch = 16; },
      [](Case& c) { c.tensors[0].heads = 32, c.tensors[1].heads = 8; },
      [](Case& c) { c.table_dtype = c.dtype; },  // the cos and sin of many models' bf16 code
      [](Case& c) {
        c = resized(c, {72, 72});
      },
      [](Case& c) {
        c = resized(c, {104, 104});
      },
      // Multi-head latent attention: the last 64 of 192 or 576 dims are rotated. The key is one
      // head of 64.
      [](Case& c) {
        c.rotary_dim = 64;
        for (TensorCase& t : c.tensors) t.head_dim = 192, t.rotary_offset = 128;
      },
      [](Case& c) {
        c.rotary_dim = 64;
        for (TensorCase& t : c.tensors) t.head_dim = 576, t.rotary_offset = 512, t.heads = 1;
      },
  };
  std::vector<Case> cases;
  for (Case c : basic_cases(subject, pairing, dtype)) {
    const bool common =
        c.tensors[0].head_dim == 8 || c.tensors[0].head_dim == 64 || c.tensors[0].head_dim == 128;
    if (!common || c.tokens != 2 || c.position_dtype != Dtype::i32) continue;
    if (c.rows_by != ROPE_ROW_BY_POSITION || c.tensors.size() != 2) continue;
    for (const auto& change : changes)
      for (const std::size_t tensors : {std::size_t{1}, std::size_t{2}}) {
        Case changed = c;
        change(changed);
        if (tensors == 1) changed.tensors.resize(1);
        cases.push_back(changed);
      }
  }
  return cases;
}

std::vector<std::pair<Form, Case>> formed_cases(const Subject& subject, Pairing pairing,
                                                Dtype dtype) {
  constexpr Form forms[] = {{.head_major = true},
                            {.fused = true},
                            {.strided_positions = true},
                            {.padded_table = true},
                            {.head_major = true, .padded_table = true},
                            {.fused = true, .padded_table = true}};
  std::vector<std::pair<Form, Case>> out;
  for (const Form& form : forms)
    for (Case c : basic_cases(subject, pairing, dtype)) {
      const std::int64_t dim = c.tensors[0].head_dim;
      if (dim != 8 && dim != 64 && dim != 128) continue;
      const std::uint32_t flags = subject.facts.flags;
      for (const bool in_place : {false, true}) {
        if ((flags & (in_place ? ROPE_IN_PLACE : ROPE_OUT_OF_PLACE)) == 0) continue;
        for (TensorCase& t : c.tensors) t.in_place = in_place;
        out.emplace_back(form, in_form(c, form));
      }
    }
  for (const Case& c : unusual_cases(subject, pairing, dtype))
    out.emplace_back(forms[0], in_form(c, forms[0]));
  return out;
}

}  // namespace ropewalk::harness
