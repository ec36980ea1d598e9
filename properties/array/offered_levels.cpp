#include "properties/array/offered_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "properties/array/factor_table.h"
#include "properties/array/requirements.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// The order of questions: a level is asked for with levels of the factors before it.
constexpr Factor order_of_questions[] = {
    Factor::tokens,      Factor::batch,          Factor::heads,          Factor::tensors,
    Factor::operation,   Factor::placement,      Factor::rows_by,        Factor::tables,
    Factor::table_rows,  Factor::spare_rows,     Factor::position_type,  Factor::in_layout,
    Factor::out_layout,  Factor::start,          Factor::scale,          Factor::data,
    Factor::frequencies, Factor::position_order, Factor::position_range, Factor::position_strides,
    Factor::types,       Factor::table_type,     Factor::axes,           Factor::planes,
    Factor::norm,        Factor::append,         Factor::slots,          Factor::caches};

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

// Levels that meet all requirements and differ little from those given, which keep the levels of
// the factors in `kept`. Changes the other factors of a requirement that is not met.
class Repair {
 public:
  Repair(const OfferedLevels& offered, const std::function<bool(const Levels&)>& visit)
      : offered_(offered), visit_(visit) {}

  /// True if visit(levels) was true for some levels.
  bool run(const Levels& levels, std::array<bool, factor_count> kept, int changes) {
    const Rule* const unmet = first_unmet(levels);
    if (unmet == nullptr) return --tries_ >= 0 && visit_(levels);
    if (changes == 0 || tries_ <= 0) return false;
    for (const Factor f : unmet->factors) {
      if (kept[index_of(f)]) continue;
      for (int level = 0; level < most_levels; ++level) {
        if (level == levels[f] || !offered_.of.has(f, level)) continue;
        Levels changed = levels;
        changed[f] = level;
        if (!unmet->holds(changed)) continue;
        auto keeps = kept;
        keeps[index_of(f)] = true;
        if (run(changed, keeps, changes - 1)) return true;
      }
    }
    return false;
  }

 private:
  const Rule* first_unmet(const Levels& levels) const {
    for (const Rule& rule : rules_of(offered_.base.dtype, offered_.base.contract))
      if (!rule.holds(levels)) return &rule;
    return nullptr;
  }

  const OfferedLevels& offered_;
  const std::function<bool(const Levels&)>& visit_;
  int tries_ = 8;
};

class Asking {
 public:
  Asking(Questions& questions, const Offer& offer)
      : questions_(questions), base_form_(offer.form), out_(base_alone(offer.base)) {
    out_.free.axis_of_pair = out_.accepted.axis_of_pair = offer.axis_of_pair;
    out_.extensions = questions.facts().extensions;
    if (!out_.accepted.any_bytes) offer_all(Factor::bytes);
    offer_all(Factor::before);
    if (offer.thread_safe) offer_all(Factor::callers);
  }

  OfferedLevels run() {
    for (const Factor f : {Factor::tokens, Factor::batch, Factor::heads}) {
      ask_counts(f);
      find_limit(f);
    }
    ask_windows();
    ask_groups();
    for (const Factor f : order_of_questions) {
      if (f == Factor::types) ask_types(f, out_.base.dtype, &Sizes::types);
      if (f == Factor::table_type) ask_types(f, table_dtype(out_.base), &Sizes::table_types);
      for (int level = 0; level < level_count(f); ++level)
        if (!is_count(f) && !has(f, level) && promised(f, level) && takes(f, level)) add(f, level);
    }
    out_.free.any_width = has(Factor::tensors, level::reshaped);
    return std::move(out_);
  }

 private:
  void offer_all(Factor f) {
    for (int level = 0; level < level_count(f); ++level) add(f, level);
  }
  static bool is_count(Factor f) {
    return f == Factor::tokens || f == Factor::batch || f == Factor::heads;
  }
  bool has(Factor f, int level) const { return out_.of.has(f, level); }
  void add(Factor f, int level) { out_.of.add(f, level); }

  // What flags and the contract rule out is not asked for.
  bool promised(Factor f, int level) const {
    if (is_of_tables(f) && out_.base.contract != ROPE_CONTRACT_TABLE) return false;
    if (f == Factor::types) return !out_.accepted.types.empty();
    if (f == Factor::table_type) return !out_.accepted.table_types.empty();
    return is_promised(questions_.facts(), f, level);
  }

  // Asks for the level with the simplest levels of other factors, and, where that is impossible,
  // with others that were accepted.
  bool takes(Factor f, int level, const Sizes* only = nullptr) {
    Levels levels = out_.simplest;
    levels[f] = level;
    std::array<bool, factor_count> kept{};
    kept[index_of(f)] = true;
    return takes_repaired(levels, kept, only);
  }

  bool takes_repaired(const Levels& levels, const std::array<bool, factor_count>& kept,
                      const Sizes* only) {
    const std::function<bool(const Levels&)> visit = [&](const Levels& repaired) {
      Levels l = repaired;  // the accepted sizes may need more bytes than their levels do
      for (int bytes = 0; bytes < level_count(Factor::bytes); ++bytes) {
        if (!has(Factor::bytes, bytes)) continue;
        l[Factor::bytes] = bytes;
        for (std::uint64_t seed = 1; seed <= 2 && are_possible(l, out_.base); ++seed) {
          const auto c = case_of(l, out_.base, only != nullptr ? *only : out_.accepted, seed);
          if (c && questions_.accepts(*c)) return true;
        }
      }
      return false;
    };
    constexpr int most_changes = 4;
    return Repair(out_, visit).run(levels, kept, most_changes);
  }

  std::vector<std::int64_t>* counts(Sizes& sizes, Factor f) {
    return f == Factor::tokens ? sizes.tokens : f == Factor::batch ? sizes.batch : sizes.heads;
  }

  // Adds what was known to be accepted: the sizes of the base.
  template <class Size>
  static void keep(const std::vector<Size>& known, std::vector<Size>& accepted) {
    for (const Size& size : known)
      if (std::ranges::find(accepted, size) == accepted.end()) accepted.push_back(size);
  }

  void ask_counts(Factor f) {
    for (int level = 0; level < level_count(f); ++level) {
      std::vector<std::int64_t> accepted;
      const auto& asked = candidates(f, level);
      for (const std::int64_t count : asked) {
        Sizes only = out_.accepted;
        counts(only, f)[level] = {count};
        if (takes(f, level, &only)) accepted.push_back(count);
      }
      const bool all = accepted.size() == asked.size();
      keep(counts(out_.accepted, f)[level], accepted);
      if (accepted.empty()) continue;
      add(f, level);
      counts(out_.accepted, f)[level] = accepted;
      if (!all) counts(out_.free, f)[level] = accepted;
    }
  }

  // The largest accepted count, by bisection between the last accepted one and the first of the
  // level above, which is refused. It is one of the counts that cases take from then on.
  void find_limit(Factor f) {
    const int top = out_.of.last(f);
    if (top + 1 >= level_count(f)) return;
    auto& accepted = counts(out_.accepted, f)[top];
    const auto takes_count = [&](std::int64_t count) {
      Sizes only = out_.accepted;
      counts(only, f)[top] = {count};
      return takes(f, top, &only);
    };
    const std::int64_t step = f == Factor::tokens  ? base_form_.token_step
                              : f == Factor::heads ? base_form_.head_step
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
    if (auto& free = counts(out_.free, f)[top]; !free.empty()) free.push_back(most);
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
          if (asked.empty()) continue;
          std::vector<HeadWindow> accepted;
          for (const HeadWindow& head : asked)
            if (takes_head(head, dim, room, window)) accepted.push_back(head);
          const bool all = accepted.size() == asked.size();
          auto& known = out_.accepted.windows[dim][room][window];
          keep(known, accepted);
          if (accepted.empty()) {
            out_.no_such_head.push_back({dim, room, window});
            continue;
          }
          add(Factor::rotary_dim, dim);
          add(Factor::room, room);
          add(Factor::window, window);
          known = accepted;
          if (!all) out_.free.windows[dim][room][window] = accepted;
        }
  }

  bool takes_head(const HeadWindow& head, int dim, int room, int window) {
    Sizes only = out_.accepted;
    only.windows[dim][room][window] = {head};
    Levels levels = out_.simplest;
    std::array<bool, factor_count> kept{};
    for (const auto& [f, level] :
         {std::pair{Factor::rotary_dim, dim}, std::pair{Factor::room, room},
          std::pair{Factor::window, window}}) {
      levels[f] = level;
      kept[index_of(f)] = true;
    }
    return takes_repaired(levels, kept, &only);
  }

  // Q with more heads than K: a kernel may take only the groups of its models.
  void ask_groups() {
    for (const auto& [q, k] : groups) {
      const int level = level_of(Factor::heads, q);
      Sizes only = out_.accepted;
      only.heads[level] = {q};
      only.groups[level] = {{q, k}};
      Levels levels = out_.simplest;
      std::array<bool, factor_count> kept{};
      levels[Factor::heads] = level;
      levels[Factor::tensors] = level::grouped;
      kept[index_of(Factor::heads)] = kept[index_of(Factor::tensors)] = true;
      if (!takes_repaired(levels, kept, &only)) continue;
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

  // The types beside the usual one. The first level with another type is offered if one of them is
  // accepted.
  void ask_types(Factor f, Dtype usual, std::vector<Dtype> Sizes::*types) {
    if (is_of_tables(f) && out_.base.contract != ROPE_CONTRACT_TABLE) return;
    std::vector<Dtype> accepted;
    for (const Dtype dtype : types_beside(usual)) {
      Sizes only = out_.accepted;
      only.*types = {dtype};
      if (takes(f, 1, &only)) accepted.push_back(dtype);
    }
    out_.accepted.*types = accepted;
    if (accepted.size() < types_beside(usual).size()) out_.free.*types = accepted;
    if (!accepted.empty()) add(f, 1);
  }

  Questions& questions_;
  const Form base_form_;
  OfferedLevels out_;
};

// The kind of extension that a factor is of; 0: of none.
std::uint32_t extension_of(Factor f) {
  if (f == Factor::axes || f == Factor::planes) return ROPE_EXT_AXES;
  if (f == Factor::norm) return ROPE_EXT_NORM;
  const bool append = f == Factor::append || f == Factor::slots || f == Factor::caches;
  return append ? ROPE_EXT_APPEND : 0;
}

bool is_fixed_by(const ModelShape& shape, Factor f) {
  constexpr std::array of_heads{Factor::window, Factor::rotary_dim, Factor::room, Factor::heads,
                                Factor::tensors};
  if (f == Factor::scale || f == Factor::frequencies) return shape.angles;
  if (f == Factor::tokens || f == Factor::batch)
    return (f == Factor::tokens ? shape.tokens : shape.batch) > 0;
  return std::ranges::find(of_heads, f) != of_heads.end();
}

}  // namespace

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

OfferedLevels ask_levels(Questions& questions, const Offer& offer) {
  return Asking(questions, offer).run();
}

std::vector<std::string> not_offered(const OfferedLevels& offered, const AskedShapes* shapes) {
  std::vector<std::string> out;
  const bool table = offered.base.contract == ROPE_CONTRACT_TABLE;
  for (std::size_t f = 0; f < factor_count; ++f) {
    const auto factor = static_cast<Factor>(f);
    if (!table && is_of_tables(factor)) continue;
    if (shapes != nullptr && shapes->only && is_fixed_by(*shapes->only, factor)) continue;
    const std::uint32_t kind = extension_of(factor);
    const Factor first = kind == ROPE_EXT_AXES     ? Factor::axes
                         : kind == ROPE_EXT_APPEND ? Factor::append
                                                   : factor;
    if (kind != 0 && offered.of[first] == 1) {  // nothing of it is offered
      const bool is_named = (offered.extensions & extension_bit(kind)) != 0;
      if (factor == first && is_named)
        out.push_back(
            fmt::format("{}, which it names, but offers nothing of", factor_table()[f].name));
      else if (factor == Factor::axes && !offered.accepted.axis_of_pair.empty())
        out.emplace_back("the axes of the model's positions");
      continue;
    }
    const FactorRow& words = factor_table()[f];
    if (!words.refused.empty() && std::has_single_bit(offered.of.of[f])) {
      out.emplace_back(words.refused);
      continue;
    }
    const auto most = offered.most.find(factor);
    if (most != offered.most.end())
      out.push_back(fmt::format("more than {} {}{}", most->second, words.name,
                                factor == Factor::batch ? " rows" : ""));
    // the levels above the limit go without saying
    const int top = most != offered.most.end() ? offered.of.last(factor) : level_count(factor) - 1;
    for (int level = 0; level <= top; ++level)
      if (!offered.of.has(factor, level))
        out.push_back(
            fmt::format("{} {}", words.name, words.levels[static_cast<std::size_t>(level)]));
  }
  return out;
}

}  // namespace ropewalk::properties
