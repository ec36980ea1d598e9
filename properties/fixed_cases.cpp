#include "properties/fixed_cases.h"

#include <algorithm>
#include <utility>

namespace ropewalk::properties {
using namespace harness;
namespace {

// Whether the kernel takes what a patch changes. Of tokens, batch rows and heads it may take one
// count of their level alone.
bool is_offered(const Case& before, const Case& after, const Offer& offer) {
  const Levels from = levels_of_base(before), to = levels_of_base(after);
  const auto takes = [&](Factor f, bool has_other_count) {
    return (to[f] == from[f] || offer.takes(f, to[f])) && (!has_other_count || offer.takes(f));
  };
  for (std::size_t f = 0; f < factor_count; ++f)
    if (const auto factor = static_cast<Factor>(f);
        factor != Factor::bytes && !takes(factor, false))
      return false;
  return takes(Factor::tokens, before.tokens != after.tokens) &&
         takes(Factor::batch, before.batch != after.batch) &&
         takes(Factor::heads, before.tensors[0].heads != after.tensors[0].heads);
}

}  // namespace

std::optional<Case> adopted(Case c, std::string_view patch, const Offer& offer) {
  while (!patch.empty()) {
    const auto end = patch.find(';');
    std::string_view group = patch.substr(0, end);
    patch.remove_prefix(end == std::string_view::npos ? patch.size() : end + 1);
    group.remove_prefix(std::min(group.find_first_not_of(' '), group.size()));
    const bool is_needed = group.starts_with('!');
    if (is_needed) group.remove_prefix(1);
    const Case taken = patched(c, group);
    if (is_offered(c, taken, offer))
      c = taken;
    else if (is_needed)
      return {};
  }
  return c;
}

Case with(const Case& c, const Offer& offer, std::string_view patch) {
  return adopted(c, patch, offer).value();
}

std::vector<Case> adopted_lines(const Case& c, const Offer& offer,
                                std::initializer_list<std::string_view> patches) {
  std::vector<Case> out;
  for (const std::string_view patch : patches)
    if (std::optional<Case> taken = adopted(c, patch, offer)) out.push_back(*std::move(taken));
  return out;
}

std::vector<Case> at_size(const Offer& offer, Profile) {
  std::vector<Case> cases = adopted_lines(
      widened(offer.base, offer), offer,
      {"position_from=5; batch=1; tokens=96; heads=4; seed=0x512e cut=94 lead=-1",
       "position_from=5; batch=1; tokens=4; heads=40; op=transpose; seed=0x5130 cut=2 lead=2"});
  const std::vector<Case> in_place = adopted_lines(
      offer.base, offer,
      {"position_from=5; batch=1; tokens=81; heads=5; position_dtype=i64; head_dim=rotary+3 "
       "offset=2; "
       "scale=1.5; in_place=1; seed=0x512f cut=79 lead=-1 callers_share=1",
       "position_from=5; batch=40; tokens=2; heads=3; op=transpose; head_dim=rotary+3 offset=2; "
       "scale=1.5; in_place=1; seed=0x5131 cut=0 lead=0 callers_share=1"});
  cases.insert(cases.begin() + 1, in_place[0]);
  cases.push_back(in_place[1]);
  return cases;
}

}  // namespace ropewalk::properties
