#include "properties/array/asking.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "harness/cases/names.h"
#include "properties/array/accepted_cases.h"
#include "properties/array/factor_table.h"
#include "properties/array/requirements.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// The order of questions: a level is asked for with levels of the factors before it.
constexpr Factor order_of_questions[] = {
    Factor::tokens,     Factor::batch,          Factor::heads,          Factor::tensors,
    Factor::operation,  Factor::rows_by,        Factor::tables,         Factor::table_rows,
    Factor::spare_rows, Factor::position_type,  Factor::in_layout,      Factor::out_layout,
    Factor::start,      Factor::scale,          Factor::data,           Factor::frequencies,
    Factor::types,      Factor::position_order, Factor::position_range, Factor::position_strides,
    Factor::table_type, Factor::axes,           Factor::planes,         Factor::norm,
    Factor::append,     Factor::slots,          Factor::caches,         Factor::placement};

// Sizes to ask for, of each level of tokens, batch and heads: odd ones, multiples, powers of two.
const std::vector<std::int64_t>& candidates(Factor f, int level) {
  using Lists = std::vector<std::vector<std::int64_t>>;
  static const Lists tokens{{1},
                            {2, 3, 4, 5, 8},
                            {16, 32, 12, 17},
                            {64, 33, 65, 96, 100},
                            {128, 256, 129, 192, 512, 1000},
                            {1024, 2048, 1025, 4096, 1536}};
  static const Lists batch{
      {1}, {2, 3}, {4, 8, 5, 11}, {16, 32, 64, 12, 33, 100}, {1024, 513, 520, 576, 640}};
  static const Lists heads{{1},
                           {2},
                           {4, 8, 3, 5, 7},
                           {16, 12, 24, 28, 17},
                           {32, 40, 33, 48},
                           {64, 128, 71, 96, 129, 256}};
  const Lists& lists = f == Factor::tokens ? tokens : f == Factor::batch ? batch : heads;
  return lists[static_cast<std::size_t>(level)];
}

constexpr std::pair<std::int64_t, std::int64_t> groups[] = {
    {2, 1},  {3, 1},  {4, 2},  {4, 1},  {8, 2},  {8, 1},   {7, 1},  {16, 2}, {12, 3}, {16, 1},
    {28, 4}, {24, 8}, {32, 8}, {32, 4}, {40, 8}, {40, 10}, {48, 8}, {64, 8}, {71, 1}, {128, 8}};

bool is_count(Factor f) {
  return f == Factor::tokens || f == Factor::batch || f == Factor::heads;
}

// False if the flags of a kernel or its contract rule the level out.
bool is_promised(const KernelFacts& facts, Factor f, int level) {
  const auto has = [&](std::uint32_t flag) { return (facts.flags & flag) != 0; };
  const bool in = has(ROPE_IN_PLACE), apart = has(ROPE_OUT_OF_PLACE);
  if (f == Factor::placement)
    return level == level::out_of_place ? apart : level == level::in_place ? in : in && apart;
  if (f == Factor::table_type || (f == Factor::rows_by && level == level::without_positions))
    return facts.angle_contract == ROPE_CONTRACT_TABLE;
  if (const std::uint32_t kind = extension_of(f); kind != 0 && level > 0)
    return (facts.extensions & extension_bit(kind)) != 0 &&
           !(f == Factor::caches && level == level::one_cache && has(ROPE_NEEDS_ALIGN_64));
  // Both would put the first element of a tensor at an unaligned address.
  if ((f == Factor::start && level == level::shifted) ||
      ((f == Factor::in_layout || f == Factor::out_layout) && level == level::fused))
    return !has(ROPE_NEEDS_ALIGN_64);
  return true;
}

class Asking {
 public:
  Asking(Questions& questions, const Offer& base) : questions_(questions), out_(base) {
    find_seeds();
    if (!out_.accepted.any_bytes) offer_all(Factor::bytes);
    offer_all(Factor::before);
    if ((questions.facts().flags & ROPE_THREAD_SAFE) != 0) offer_all(Factor::callers);
    if (is_promised(questions.facts(), Factor::start, level::shifted))
      add(Factor::start, level::shifted);  // no kernel is told of addresses
  }

  Offer run() {
    for (const Factor f : {Factor::tokens, Factor::batch, Factor::heads}) {
      for (int level = 0; level < level_count(f); ++level)
        ask_sizes(
            {{f, level}},
            candidates(f, level), [=](Sizes & sizes) -> auto& { return sizes.of(f)[level]; });
      find_limit(f);
      ask_several(f);
    }
    ask_windows();
    ask_groups();
    for (const Factor f : order_of_questions) {
      // a level with another type is offered if one of them is accepted
      if (f == Factor::types || f == Factor::table_type)
        ask_types(f, f == Factor::types ? &Sizes::types : &Sizes::table_types);
      for (int level = 0; level < level_count(f); ++level)
        if (!is_count(f) && !has(f, level) && promised(f, level) && takes_level(f, level)) {
          add(f, level);
          if (f == Factor::norm && level == level::plus_one && !has(f, level::weighted))
            out_.base.weight_plus_one = true;  // in each of its calls
        }
    }
    out_.free.any_width = has(Factor::tensors, level::reshaped);
    if (out_.base.tensors.size() > 1)
      out_.unrotated_second = questions_.accepts(patched(out_.base, "k.rotate=0"));
    return std::move(out_);
  }

 private:
  void offer_all(Factor f) {
    for (int level = 0; level < level_count(f); ++level) add(f, level);
  }
  bool has(Factor f, int level) const { return out_.levels.has(f, level); }
  void add(Factor f, int level) { out_.levels.add(f, level); }

  // Seeds with which the base is accepted. Others may draw, say, a norm of V too, which the kernel
  // refuses in every call.
  void find_seeds() {
    constexpr std::uint64_t most_tries = 64;
    std::size_t found = 0;
    for (std::uint64_t seed = 1; seed <= most_tries && found < seeds_.size(); ++seed) {
      const auto c = case_of(out_.simplest, out_.base, out_.accepted, seed);
      if (c && questions_.accepts(*c)) seeds_[found++] = seed;
    }
  }

  // What flags and the contract rule out is not asked for.
  bool promised(Factor f, int level) const {
    if (is_of_tables(f) && out_.base.contract != ROPE_CONTRACT_TABLE) return false;
    if (f == Factor::types) return !out_.accepted.types.empty();
    if (f == Factor::table_type) return !out_.accepted.table_types.empty();
    return is_promised(questions_.facts(), f, level);
  }

  // Asks for the levels with the simplest levels of other factors, and, where these do not fit,
  // with some that were accepted. `only`: these sizes in place of those that were accepted.
  bool takes(const LevelTuple& wanted, const Sizes* only = nullptr) {
    const Sizes& sizes = only != nullptr ? *only : out_.accepted;
    Levels levels = out_.simplest;
    LevelSets left = out_.levels;
    for (const auto& [f, level] : wanted) {
      levels[f] = level;
      left[f] = 0;
      left.add(f, level);
    }
    if (are_possible(levels, out_.base)) return accepts(levels, sizes);
    RowSearch search(left, rule_tables(out_.base.dtype, out_.base.contract));
    const auto simplest = [&] {
      std::size_t f = 0;
      while (std::has_single_bit(search.left().of[f])) ++f;
      const auto factor = static_cast<Factor>(f);
      return FactorLevel{factor, search.left().has(factor, levels[factor])
                                     ? levels[factor]
                                     : search.left().pick(factor, 0)};
    };
    constexpr int most_tries = 8, most_conflicts = 100;
    for (int i = 0; i < most_tries; ++i) {
      if (!search.restart() || !search.finish(simplest, most_conflicts)) return false;
      const Levels row = search.row();
      if (accepts(row, sizes)) return true;
      LevelTuple refused;
      for (std::size_t f = 0; f < factor_count; ++f)
        if (row.of[f] != levels.of[f]) refused.push_back({static_cast<Factor>(f), row.of[f]});
      search.forbid(refused);
    }
    return false;
  }

  // The sizes may need more bytes than their levels do.
  bool accepts(Levels levels, const Sizes& sizes) {
    for (int bytes = 0; bytes < level_count(Factor::bytes); ++bytes) {
      if (!has(Factor::bytes, bytes)) continue;
      levels[Factor::bytes] = bytes;
      if (!are_possible(levels, out_.base)) continue;
      for (const std::uint64_t seed : seeds_) {
        const auto c = case_of(levels, out_.base, sizes, seed);
        if (c && questions_.accepts(*c)) return true;
      }
    }
    return false;
  }

  // What is in place has the layout of its output.
  bool takes_level(Factor f, int level) {
    if (takes({{f, level}})) return true;
    const bool both = f == Factor::in_layout && level < level_count(Factor::out_layout) &&
                      takes({{f, level}, {Factor::out_layout, level}});
    if (both) add(Factor::out_layout, level);
    return both;
  }

  // Asks for each of these sizes of some levels, and keeps those that are accepted beside those
  // that are known to be: the sizes of the base. list(sizes) is where they stand. Returns whether
  // there are any.
  template <class Size, class List>
  bool ask_sizes(const LevelTuple& levels, const std::vector<Size>& asked, const List& list) {
    std::vector<Size> accepted;
    for (const Size& size : asked) {
      Sizes only = out_.accepted;
      list(only) = {size};
      if (takes(levels, &only)) accepted.push_back(size);
    }
    const bool all = accepted.size() == asked.size();
    for (const Size& size : list(out_.accepted))
      if (std::ranges::find(accepted, size) == accepted.end()) accepted.push_back(size);
    if (accepted.empty()) return false;
    for (const auto& [f, level] : levels) add(f, level);
    list(out_.accepted) = accepted;
    if (!all) list(out_.free) = accepted;
    return true;
  }

  // The largest accepted count, by bisection between the last accepted one and the first of the
  // level above, which is refused. It is one of the counts that cases take from then on.
  void find_limit(Factor f) {
    const int top = out_.levels.last(f);
    if (top + 1 >= level_count(f)) return;
    auto& accepted = out_.accepted.of(f)[top];
    const auto takes_count = [&](std::int64_t count) {
      Sizes only = out_.accepted;
      only.of(f)[top] = {count};
      return takes({{f, top}}, &only);
    };
    const std::int64_t step = f == Factor::tokens  ? out_.form.token_step
                              : f == Factor::heads ? out_.form.head_step
                                                   : 1;
    std::int64_t low = *std::max_element(accepted.begin(), accepted.end()) / step;
    std::int64_t high = range_of(f, top).most / step + 1;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (takes_count(middle * step) ? low : high) = middle;
    }
    const std::int64_t most = low * step;
    out_.most[f] = most;
    if (std::find(accepted.begin(), accepted.end(), most) != accepted.end()) return;
    accepted.push_back(most);
    if (auto& free = out_.free.of(f)[top]; !free.empty()) free.push_back(most);
  }

  // Few are enough for most fixed cases.
  void ask_several(Factor f) {
    for (const std::int64_t count : {3, 4, 8}) {
      Case c = out_.base;
      if (f == Factor::tokens) c.tokens = count;
      if (f == Factor::batch) c.batch = count;
      for (TensorCase& t : c.tensors)
        if (f == Factor::heads) t.heads = count;
      if (!questions_.accepts(in_form(c, out_.form))) continue;
      out_.several.push_back(f);
      return;
    }
  }

  // Some of the level's heads: those of models, and odd ones.
  static std::vector<HeadWindow> some_of(std::vector<HeadWindow> heads) {
    constexpr std::size_t few = 4;
    if (heads.size() <= few) return heads;
    return {heads[0], heads[1], heads[heads.size() / 2], heads.back()};
  }

  void ask_windows() {
    for (int dim = 0; dim < level_count(Factor::rotary_dim); ++dim)
      for (int room = 0; room < level_count(Factor::room); ++room)
        for (int window = 0; window < level_count(Factor::window); ++window) {
          const std::vector<HeadWindow> asked = some_of(heads_of(dim, room, window));
          const bool is_taken = ask_sizes(
              {{Factor::rotary_dim, dim}, {Factor::room, room}, {Factor::window, window}},
              asked, [=](Sizes & sizes) -> auto& { return sizes.windows[dim][room][window]; });
          if (!is_taken && !asked.empty()) out_.no_such_head.push_back({dim, room, window});
        }
  }

  // Q with more heads than K: a kernel may take only the groups of its models.
  void ask_groups() {
    for (const auto& [q, k] : groups) {
      const int level = level_of(Factor::heads, q);
      Sizes only = out_.accepted;
      only.heads[level] = {q};
      only.groups[level] = {{q, k}};
      if (!takes({{Factor::heads, level}, {Factor::tensors, level::grouped}}, &only)) continue;
      add(Factor::tensors, level::grouped);
      add(Factor::heads, level);
      out_.accepted.groups[level].emplace_back(q, k);
      auto& heads = out_.accepted.heads[level];
      if (std::find(heads.begin(), heads.end(), q) == heads.end()) {
        heads.push_back(q);
        out_.free.heads[level] = heads;
      }
    }
  }

  void ask_types(Factor f, std::vector<Dtype> Sizes::*types) {
    const bool of_table = f == Factor::table_type;
    if (of_table && out_.base.contract != ROPE_CONTRACT_TABLE) return;
    ask_sizes(
        {{f, 1}}, types_beside(of_table ? table_dtype(out_.base) : out_.base.dtype),
        [=](Sizes & sizes) -> auto& { return sizes.*types; });
  }

  Questions& questions_;
  Offer out_;
  std::array<std::uint64_t, 2> seeds_{1, 2};
};

bool is_fixed_by(const ModelShape& shape, Factor f) {
  constexpr std::array of_heads{Factor::window, Factor::rotary_dim, Factor::room, Factor::heads,
                                Factor::tensors};
  if (f == Factor::scale || f == Factor::frequencies) return shape.angles;
  if (f == Factor::tokens || f == Factor::batch)
    return (f == Factor::tokens ? shape.tokens : shape.batch) > 0;
  return std::ranges::find(of_heads, f) != of_heads.end();
}

}  // namespace

Probe with_levels(Subject& subject, Probe probe) {
  if (!probe.offer) return probe;
  Questions questions(subject);
  Offer offer = Asking(questions, *probe.offer).run();
  if (questions.died()) return {questions.heard, {}};
  probe.offer = std::move(offer);
  return probe;
}

std::optional<Offer> first_offer(Subject& subject) {
  for (const Dtype dtype : tensor_dtypes)
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved})
      if (const Probe p = with_levels(subject, probe_base(subject, pairing, dtype)); p.offer)
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

std::string offer_words(const Offer& offer) {
  const std::vector<std::string> missing = not_offered(offer);
  std::string out =
      missing.empty() ? "every level" : fmt::format("all but {}", fmt::join(missing, "; "));
  if (offer.any_size) return out;
  out += "; heads:";
  for (const HeadWindow& size : offer.sizes)
    out += size.rotary_dim == size.head_dim
               ? fmt::format(" {}", size.head_dim)
               : fmt::format(" {} ({} rotated)", size.head_dim, size.rotary_dim);
  return out;
}

std::string offer_words(Subject& subject, const std::vector<ModelShape>& models) {
  std::map<std::string, std::string> cells;  // those of which the key is said
  for (const Probe& base : probes_of(subject, models)) {
    const Probe probe = with_levels(subject, base);
    const Case& c = probe.offer ? probe.offer->base : probe.asked;
    std::string& said = cells[probe.offer ? "offered, " + offer_words(*probe.offer)
                                          : "refused, " + why_refused(probe)];
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", word_of(c.pairing), word_of(c.dtype));
  }
  std::string out;
  for (const auto& [words, of] : cells)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", of, words);
  return out;
}

// ---- an offer

bool Offer::takes(const Need& need) const {
  const auto& [f, level] = need;
  if (level != any) return levels.has(f, level);
  return is_count(f) ? std::ranges::find(several, f) != several.end() : levels[f] > 1;
}

std::int64_t Offer::axis_count() const {
  for (const int level : {level::sections, level::interleaved, level::scattered, level::idle_axis})
    if (takes(Factor::axes, level)) return 3;
  return takes(Factor::axes, level::two_axes) ? 2 : takes(Factor::axes, level::four_axes) ? 4 : 0;
}

std::string words_of(const Need& need) {
  const FactorRow& row = factor_table()[index_of(need.factor)];
  if (need.level != any) return words_of(LevelTuple{{need.factor, need.level}});
  return std::string(row.refused.empty() ? row.name : row.refused);
}

std::vector<std::string> not_offered(const Offer& offer, const ModelShape* only) {
  std::vector<std::string> out;
  const bool table = offer.base.contract == ROPE_CONTRACT_TABLE;
  for (std::size_t f = 0; f < factor_count; ++f) {
    const auto factor = static_cast<Factor>(f);
    if (!table && is_of_tables(factor)) continue;
    if (only != nullptr && is_fixed_by(*only, factor)) continue;
    const std::uint32_t kind = extension_of(factor);
    const Factor first = kind == ROPE_EXT_AXES     ? Factor::axes
                         : kind == ROPE_EXT_APPEND ? Factor::append
                                                   : factor;
    if (factor != first && offer.levels[first] == 1) continue;
    const FactorRow& words = factor_table()[f];
    if (!words.refused.empty() && offer.levels.of[f] == 1) {
      const bool is_named = (offer.extensions & extension_bit(kind)) != 0;
      out.push_back(
          fmt::format("{}{}", words.refused,
                      kind != 0 && is_named ? ", which it names, but offers nothing of" : ""));
      continue;
    }
    const auto most = offer.most.find(factor);
    if (most != offer.most.end())
      out.push_back(fmt::format("more than {} {}{}", most->second, words.name,
                                factor == Factor::batch ? " rows" : ""));
    // the levels above the limit go without saying
    const int top = most != offer.most.end() ? offer.levels.last(factor) : level_count(factor) - 1;
    std::vector<std::string_view> levels;
    for (int level = 0; level <= top; ++level)
      if (!offer.levels.has(factor, level))
        levels.push_back(words.levels[static_cast<std::size_t>(level)]);
    if (!levels.empty()) out.push_back(fmt::format("{} {}", words.name, fmt::join(levels, ", ")));
  }
  return out;
}

std::vector<std::string> level_names(const Offer* offer, bool with_extensions) {
  std::vector<std::string> names;
  for (std::size_t f = 0; f < factor_count; ++f)
    for (int level = 0; level < level_count(static_cast<Factor>(f)); ++level) {
      const auto factor = static_cast<Factor>(f);
      if (offer != nullptr && !offer->levels.has(factor, level)) continue;
      const bool is_of_extension = extension_of(factor) != 0;
      if (is_of_extension && !with_extensions) continue;
      const bool goes_without_saying = is_of_extension || is_of_tables(factor) ||
                                       factor == Factor::types || factor == Factor::callers;
      if (level == 0 && goes_without_saying) continue;
      const FactorRow& row = factor_table()[f];
      std::string name =
          fmt::format("{}={}", row.name, row.levels[static_cast<std::size_t>(level)]);
      std::erase(name, ',');
      std::ranges::replace(name, ' ', '_');
      names.push_back(std::move(name));
    }
  if (offer == nullptr || offer->any_size) names.emplace_back("any_size");
  for (const HeadWindow& size :
       offer == nullptr || offer->any_size ? std::vector<HeadWindow>{} : offer->sizes)
    names.push_back(fmt::format("size_{}_{}", size.head_dim, size.rotary_dim));
  return names;
}

}  // namespace ropewalk::properties
