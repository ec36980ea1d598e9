#include "properties/fixed_cases.h"

#include <algorithm>
#include <utility>

namespace ropewalk::properties {
using namespace harness;
namespace {

// What a kernel must offer to take a word, or a word with one value.
struct WordNeed {
  std::string_view word;
  Need need;
};
constexpr WordNeed needs[] = {{"batch=", {Factor::batch}},
                              {"tokens=", {Factor::tokens}},
                              {"heads=", {Factor::heads}},
                              {"tensors=", {Factor::tensors, level::equal}},
                              {"op=transpose", {Factor::operation}},
                              {"scale=", {Factor::scale, level::usual}},
                              {"position_dtype=i64", {Factor::position_type}},
                              {"rows_by=token", {Factor::rows_by, level::by_token}},
                              {"head_dim=", {Factor::window, level::inside}},
                              {"in_place=1", {Factor::placement, level::in_place}},
                              {"in_place=0", {Factor::placement, level::out_of_place}}};

bool is_offered(std::string_view group, const Offer& offer) {
  while (!group.empty()) {
    const auto space = group.find(' ');
    const std::string_view word = group.substr(0, space);
    for (const auto& [begin, need] : needs)
      if (word.starts_with(begin) && !offer.takes(need)) return false;
    group.remove_prefix(space == std::string_view::npos ? group.size() : space + 1);
  }
  return true;
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
    if (taken == c || is_offered(group, offer))
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
