// What a field of a results file may be. A foreign file is refused beyond that, so that no page and
// no picture made from it needs much memory or time.
#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ropewalk::report {

inline constexpr std::size_t longest_name_bytes = 4096;  // it may stand in each cell of a page
inline constexpr std::size_t longest_text_bytes = std::size_t{4} << 20;  // e.g. a replay line
inline constexpr std::size_t most_values = 1'000'000;                    // of a list

struct FieldLimits {
  double least = 0, most = 1e12;   ///< the sum of such counts over a million rows fits 64 bits
  bool may_be_not_finite = false;  ///< as a kernel's outputs may be
  std::string_view fields = "";    ///< each between spaces
  std::size_t text_bytes = longest_text_bytes;
};

inline const FieldLimits& limits_of(const std::string& field) {
  constexpr double any = std::numeric_limits<double>::max();
  constexpr FieldLimits numbers[] = {
      {0, any, true, " margin worst_margin bound "},
      {-any, any, true, " y "},
      {-0x1p32, 0x1p32, false, " x "},
      {0, 0x1p50, false, " bytes working_set_bytes "},
      {-1e12, 1e12, false, " mapped_bytes steal_ms "},  // both may be given back
      {1, 65536, false, " threads "},
      {0, 1e6, false, " launch "},
      {0, 255, false, " exit_code "}};
  constexpr std::string_view names =  // none that a user may write at any length
      " kernel plugin summary pairing dtype property workload phase board chart series note "
      "version profile started_at finished_at device judged_on declared variant angle_contract "
      "bound_unit cpu_features throttled ";
  thread_local std::unordered_map<std::string, FieldLimits> all;
  const auto [found, is_new] = all.try_emplace(field);
  if (!is_new) return found->second;
  const std::string word = " " + field + " ";
  for (const FieldLimits& limits : numbers)
    if (limits.fields.find(word) != std::string_view::npos) found->second = limits;
  if (names.find(word) != std::string_view::npos) found->second.text_bytes = longest_name_bytes;
  return found->second;
}

}  // namespace ropewalk::report
