// Each composed mutant is wrong in a case that meets all conditions of its error, where a correct
// kernel is right. Without any one of them the mutant is right too, so the error is an interaction.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "harness/cases/layouts.h"
#include "harness/testing/own_worker.h"
#include "properties/mutants/composed/composed.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
using namespace mutants;
namespace {

using Words = std::map<std::string, std::string>;

// Conditions and refusals as words of a case (docs/replay.md), which replace earlier words of the
// same name; after !, words where the condition is not met. Words of a tensor without its name are
// for each tensor; "k." adds the second. case_of makes `room` (dims beside the window) and layouts.
constexpr const char* meanings = R"(
transposed: op=transpose;                        interleaved: pairing=interleaved;
in_place: in_place=1;                            out_of_place: ; !out_of_place: in_place=1;
first_in_place: q.in_place=1 k.in_place=0;       !first_in_place: k.in_place=0;
by_token: rows_by=token;                         padded_table: table_row_stride=75;
own_tables: own_tables=1 k.rotate=1;             own_sin: own_sin=1 k.rotate=1;
i64_positions: position_dtype=i64;               random_positions: positions=random:3:500;
strided_positions: position_token_stride=2 position_batch_stride=2999;
negative_positions: positions=from:-200:1;       above_2_15: positions=from:40000:1;
above_2_17: positions=from:131073:1;             above_2_24: positions=from:16777217:1;
padded_in: in=padded; head_major: in=head_major; padded_out: out=padded;
partial: room=8;      inner_window: room=8 offset=4;
ragged_pairs: rotary_dim=22;     wide_ragged: rotary_dim=72;     above_128_dims: rotary_dim=144;
above_17_heads: heads=18;        from_36_heads: heads=36;        odd_heads: heads=9;
second_tensor: k.rotate=1;       more_key_heads: k.heads=5;      copied: k.rotate=0;
ragged_tokens: tokens=21;        above_33_tokens: tokens=34;     from_64_tokens: tokens=64;
from_100_tokens: tokens=100;     above_1200_tokens: tokens=1201;
two_rows: ; !two_rows: batch=1;  above_14_rows: batch=15;        above_600_rows: batch=601;
above_256_kib: tokens=40 heads=16 rotary_dim=128;
above_6_mib: tokens=800 heads=16 rotary_dim=128;
above_12_mib: tokens=1600 heads=16 rotary_dim=128;
scaled: attention_scale=1.5;                     long_scale: attention_scale=1.0693;
negative_scale: attention_scale=-2;              scale_near_one: attention_scale=1.0005;
edge_data: data=edge; subnormal_data: data=subnormal; zero_heads: data=zero_heads;
others_before: before=other_contents;            at_once: ;
mixed_types: k.dtype=f16;    copied_type: k.dtype=f16 k.rotate=0;    table_type: table_dtype=f64;

odd_halves: ; long_prompts: ;                    other_windows: rotary_dim=64 room=128 offset=128;
part_blocks: tokens=64;                          other_heads: q.heads=32 k.heads=8;
odd_sizes: heads=4;                              other_models: q.heads=32 k.heads=8 rotary_dim=128;
short_prompts: batch=1 tokens=128;               unfused: k.rotate=1 in_place=1 in=fused;
packed_positions: position_dtype=i64 position_token_stride=3 position_batch_stride=3999;
packed_tables: rows_by=token table_row_stride=75; odd_tiles: heads=4;
unscaled: attention_scale=1.1386294361119891;    token_major: in=head_major out=head_major;
)";

// Reads name=value pairs, or the pairs of meanings.
void read(const std::string& text, Words& words, char between, char behind) {
  std::istringstream in(text);
  for (std::string name, value;
       std::getline(in >> std::ws, name, between) && std::getline(in >> std::ws, value, behind);)
    words[name] = value;
}

// `without`: the condition that is not met; empty: all are.
Words words_of(const Composed& kernel, const Member& member, const std::string& without) {
  static const Words table = [] {
    Words all;
    read(meanings, all, ':', ';');
    return all;
  }();
  Words words;
  const auto take = [&](const std::string& text) { read(text, words, '=', ' '); };
  take("batch=2 tokens=4 rotary_dim=16 heads=3 room=0 positions=from:3:1 seed=20210420");
  if (!kernel.refusal.empty()) take(table.at(std::string(kernel.refusal)));
  for (const std::string_view word : conditions_of(member))
    if (word != without) take(table.at(std::string(word)));
  if (table.contains("!" + without)) take(table.at("!" + without));
  const bool two = words.upper_bound("k.") != words.end() && words.upper_bound("k.")->first < "k/";
  for (const std::string name : {"heads", "offset", "in_place"})
    if (const auto all = words.extract(name); !all.empty()) {
      words.try_emplace("q." + name, all.mapped());
      if (two) words.try_emplace("k." + name, all.mapped());
    }
  return words;
}

Case case_of(const Composed& kernel, Words words) {
  const std::string in = words["in"], out = words["out"], room = words["room"];
  std::string text;
  for (const auto& [name, value] : words)
    if (name != "in" && name != "out" && name != "room") text += name + "=" + value + " ";
  Case c = case_from_text(text);
  c.kernel = kernel.name;
  c.contract = kernel.form.contract;
  c.dtype = kernel.form.dtype;
  const auto laid_out = [&](const TensorCase& t, const std::string& layout) {
    if (layout == "padded") return padded_strides(c, t, 8);
    return layout == "head_major" ? head_major_strides(c, t) : Strides{};
  };
  for (TensorCase& t : c.tensors) {
    t.head_dim = c.rotary_dim + std::stoi(room);
    if (!t.rotate) t.rotary_offset = 0;
    t.in = laid_out(t, in);
    t.out = t.in_place ? t.in : laid_out(t, out);
  }
  if (in == "fused") fuse(c);
  return c;
}

// An error that needs several threads shows only if a race is lost. So one thread calls its kernel
// here, which is right then; the property threads kills it.
TEST(ComposedMutants, AreWrongOnlyWhereTheirConditionsMeet) {
  Worker worker(options({ROPEWALK_COMPOSED_MUTANTS}));
  Oracle oracle;
  const auto holds = [&](const std::string& kernel, const Case& c, bool may_refuse) {
    Subject subject = subject_of(worker, oracle, kernel);
    const Finding f = check_whole_output(subject, c);
    return f.holds() || (may_refuse && f.kind == Finding::Kind::unsupported);
  };
  for (const Composed& kernel : composed_kernels())
    for (const Member& member : kernel.members) {
      std::vector<std::string_view> words = conditions_of(member);
      const bool races = std::ranges::count(words, "at_once") > 0;
      words.emplace_back();  // all are met
      for (const std::string_view without : words) {
        const Case c = case_of(kernel, words_of(kernel, member, std::string(without)));
        const bool met = without.empty();
        if (words[0] == "others_before") worker.restart();  // it keeps what other cases had
        EXPECT_EQ(holds(kernel.name, c, !met && !kernel.refusal.empty()), !met || races)
            << member.fault << " without '" << without << "': " << to_text(c);
        EXPECT_TRUE(!met || holds(control_of(kernel.form), c, false)) << to_text(c);
      }
    }
}

}  // namespace
}  // namespace ropewalk::properties
