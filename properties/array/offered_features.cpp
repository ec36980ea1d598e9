#include "properties/array/offered_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/cases/axes.h"
#include "harness/cases/names.h"
#include "properties/array/offered_levels.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

using OfferedLevel = std::pair<Factor, int>;
constexpr int two = -1;  // two or more: the level of the base, or the second

// A feature: the levels that a case needs for it, and then what no level says.
struct Feature {
  const char* name;
  bool Offer::*flag;
  std::vector<OfferedLevel> levels;
  void (*ask)(Case&) = nullptr;
};

// Tokens, batch rows or heads, try by try: a kernel may accept only even numbers, or only powers of
// two. The seed of a case is the number of its try.
std::int64_t many(const Case& c) {
  return std::array{3, 4, 8}[c.seed % 3];
}

void ask_heads(Case& c) {
  for (TensorCase& t : c.tensors) t.heads = many(c);
}

void ask_shapes(Case& c) {
  c.tensors.resize(2, c.tensors[0]);
  c.tensors[0].heads = 3;
  c.tensors[1].head_dim = c.rotary_dim;
}

void ask_apart(Case& c) {
  for (TensorCase& t : c.tensors) t.in_place = false;
}

template <std::int64_t Strides::*axis>
void ask_axis(Case& c) {
  if (axis == &Strides::head) ask_heads(c);
  if (axis == &Strides::token) c.tokens = many(c);
  if (axis == &Strides::batch) c.batch = many(c);
  broadcast_input(c, axis);
}

const std::vector<Feature>& features() {
  using enum Factor;
  using namespace level;
  const OfferedLevel pair{tensors, two}, apart{placement, level::out_of_place},
      in{placement, level::in_place}, fused_in{in_layout, level::fused},
      fused_out{out_layout, level::fused}, flat{out_layout, level::packed},
      strided{position_strides, token_stride};
  static const std::vector<Feature> all{
      {"transpose", &Offer::transpose, {{operation, 1}}},
      {"in_place", &Offer::in_place, {in}},
      {"out_of_place", &Offer::out_of_place, {apart}},
      {"batch", &Offer::batch, {}, [](Case& c) { c.batch = many(c); }},
      {"tokens", &Offer::tokens, {}, [](Case& c) { c.tokens = many(c); }},
      {"many_heads", &Offer::many_heads, {}, ask_heads},
      {"window_offset", &Offer::window_offset, {{room, odd_room}, {window, inside}}},
      {"two_tensors", &Offer::two_tensors, {pair}},
      {"three_tensors", &Offer::three_tensors, {{tensors, three}}},
      {"different_shapes", &Offer::different_shapes, {}, ask_shapes},
      {"unrotated_tensor",
       &Offer::unrotated_tensor,
       {pair},
       [](Case& c) { c.tensors[1].rotate = false; }},
      {"attention_scale", &Offer::scale, {{scale, usual}}},
      {"i64_positions", &Offer::i64_positions, {{position_type, 1}}},
      {"rows_by_token", &Offer::rows_by_token, {{rows_by, by_token}}},
      {"null_positions", &Offer::null_positions, {{rows_by, without_positions}}},
      {"negative_positions", &Offer::negative_positions, {{position_range, negative}}},
      {"own_tables", &Offer::own_tables, {pair, {tables, own_tables}}},
      {"spare_rows", &Offer::spare_rows, {{Factor::spare_rows, 1}}},
      {"padded_table", &Offer::padded_table, {{tokens, two}, {table_rows, row_gap}}},
      {"padded", &Offer::padded, {{in_layout, both_gaps}, {out_layout, both_gaps}}},
      {"head_major", &Offer::head_major, {{in_layout, head_major}, {out_layout, head_major}}},
      {"roomy_head_major", &Offer::roomy_head_major, {{in_layout, roomy}, {out_layout, roomy}}},
      {"fused", &Offer::fused, {pair, fused_in, fused_out}, ask_apart},
      {"fused_in_place", &Offer::fused_in_place, {pair, in, fused_in, fused_out}},
      {"shared_input", &Offer::shared_input, {pair, apart, fused_in}, share_input},
      {"broadcast_heads", &Offer::broadcast_heads, {apart, flat}, ask_axis<&Strides::head>},
      {"broadcast_tokens", &Offer::broadcast_tokens, {apart, flat}, ask_axis<&Strides::token>},
      {"broadcast_batch", &Offer::broadcast_batch, {apart, flat}, ask_axis<&Strides::batch>},
      {"broadcast_positions",
       &Offer::broadcast_positions,
       {{batch, two}},
       [](Case& c) { c.position_batch_stride = 0; }},
      {"strided_positions", &Offer::strided_positions, {{tokens, two}, strided}},
      {"shifted_start", &Offer::shifted_start, {{start, shifted}}},
      {"mixed_types", &Offer::mixed_types, {pair, {types, second_differs}}},
      {"table_types", &Offer::table_types, {{table_type, another_table}}},
      {"axes", &Offer::axes, {{axes, interleaved}}},
      {"norm", &Offer::norm, {{norm, weighted}}},
      {"append", &Offer::append, {apart, {append, all_appended}}},
  };
  return all;
}

bool is_offered(Questions& questions, const Offer& offer, const Feature& feature) {
  OfferedLevels base = base_alone(offer.base);
  base.accepted.any_bytes = true;
  Levels& levels = base.simplest;
  for (const auto& [f, level] : feature.levels) {
    if (!is_promised(questions.facts(), f, level)) return false;
    levels[f] = level == two ? std::max(levels[f], 1) : level;
  }
  const std::int64_t d = offer.base.rotary_dim;
  auto& heads = base.accepted.windows[levels[Factor::rotary_dim]][level::odd_room][level::inside];
  if (heads.empty()) heads = {{d + 3, d, 2}, {d + 16, d, 8}, {d + 64, d, 32}};
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Case c = offer.base;
    c.seed = seed;
    if (!feature.levels.empty()) {
      const auto made = case_of(levels, offer.base, base.accepted, seed);
      if (!made) continue;
      c = *made;
      if (c.axes > 1) use_map(c, offer.axis_of_pair);
    }
    if (c.fused) fuse(c);  // such tensors begin one behind the other
    if (feature.ask != nullptr) feature.ask(c);
    if (questions.accepts(feature.levels.empty() ? in_form(c, offer.form) : c)) return true;
  }
  return false;
}

}  // namespace

Probe with_features(Subject& subject, Probe probe) {
  if (!probe.offer) return probe;
  Questions questions(subject);
  for (const Feature& f : features())
    (*probe.offer).*f.flag = is_offered(questions, *probe.offer, f);
  Offer& offer = *probe.offer;
  for (const auto& [count, level] :
       {std::pair{3, level::interleaved}, {2, level::two_axes}, {4, level::four_axes}})
    if (offer.axis_count == 0 &&
        is_offered(questions, offer, {"axes", &Offer::axes, {{Factor::axes, level}}}))
      offer.axis_count = count;
  offer.axes = offer.axis_count > 0;
  const OfferedLevel pair{Factor::tensors, two}, others{Factor::append, level::all_but_first};
  if (!offer.append)
    offer.append = is_offered(questions, offer, {"append", &Offer::append, {pair, others}});
  if (!offer.norm)  // of a kernel that adds 1 to its weights in each call
    offer.norm = offer.base.weight_plus_one =
        is_offered(questions, offer, {"norm", &Offer::norm, {{Factor::norm, level::plus_one}}});
  return questions.died() ? questions.heard : probe;
}

std::optional<Offer> first_offer(Subject& subject) {
  for (const Dtype dtype : tensor_dtypes)
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved})
      if (const Probe p = with_features(subject, probe_base(subject, pairing, dtype)); p.offer)
        return p.offer;
  return {};
}

std::vector<Probe> probes_of(Subject& subject, const std::vector<ModelShape>& models) {
  std::vector<Probe> basic, shaped;
  for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved})
    for (const Dtype dtype : tensor_dtypes) basic.push_back(probe_base(subject, pairing, dtype));
  if (models.empty() || std::any_of(basic.begin(), basic.end(), [](auto& p) { return p.offer; }))
    return basic;
  for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved})
    for (const Dtype dtype : tensor_dtypes)
      shaped.push_back(probe_shapes(subject, pairing, dtype, models));
  return shaped;
}

std::string why_refused(const Probe& probe) {
  return probe.last_refusal.kind != CallResult::Kind::unsupported
             ? probe.last_refusal.text
             : fmt::format("{}", fmt::join(probe.reasons, "; "));
}

std::string offer_words(Subject& subject, const std::vector<ModelShape>& models) {
  std::map<std::string, std::string> cells;  // those of which the key is said
  for (const Probe& base : probes_of(subject, models)) {
    const Probe probe = with_features(subject, base);
    const Case& c = probe.offer ? probe.offer->base : probe.asked;
    std::string& said =
        cells[probe.offer ? fmt::format("offered, {}", fmt::join(feature_names(&*probe.offer), " "))
                          : "refused, " + why_refused(probe)];
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", word_of(c.pairing), word_of(c.dtype));
  }
  std::string out;
  for (const auto& [words, of] : cells)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", of, words);
  return out;
}

std::vector<std::string> feature_names(const Offer* offer) {
  std::vector<std::string> names;
  for (const Feature& f : features())
    if (offer == nullptr || offer->*f.flag) names.emplace_back(f.name);
  if (offer == nullptr || offer->any_size) {
    names.emplace_back("any_size");
    return names;
  }
  for (const HeadSize size : offer->sizes)
    names.push_back(fmt::format("size_{}_{}", size.head_dim, size.rotary_dim));
  return names;
}

}  // namespace ropewalk::properties
