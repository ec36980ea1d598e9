// The fields that the first files of schema 1 lack. A missing one keeps its default.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <string_view>

#include "reports/record/record.h"

namespace ropewalk::report {

inline constexpr std::array<std::string_view, 12> later_fields = {
    "known",         "cause",     "worst_margin", "worst_replay", "processors",  "spin_ns_before",
    "spin_ns_after", "judged_on", "declared",     "coverage",     "not_offered", "not_met"};
inline constexpr std::array<std::string_view, 7> later_certificate_fields = {
    "direction",    "position_dtype", "calls",           "shortest_call",
    "longest_call", "sampled_i64",    "sampled_backward"};
inline constexpr std::array<std::string_view, 1> later_curve_fields = {"dtype"};

template <class Row>
bool may_be_missing(std::string_view field) {
  const auto is_in = [field](const auto& fields) {
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  };
  return is_in(later_fields) ||
         (std::same_as<Row, CertificateRow> && is_in(later_certificate_fields)) ||
         (std::same_as<Row, CurveRow> && is_in(later_curve_fields));
}

}  // namespace ropewalk::report
