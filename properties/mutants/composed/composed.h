// Composed mutants: a fault that a kernel makes only in a region of its problems. A real kernel has
// such a fault if a second path (blocks of 64 tokens, a vector body, a batch loop) forgets what its
// first path handles.
//
// This is the table: plain words, with no kernel in it. Each word has a meaning in a kernel
// (faults.cpp, conditions.cpp), and in a case (composed_test.cpp).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/types.h"

namespace ropewalk::mutants {

/// The level of a planted error: the strength of the cases that must kill it. Smoke must kill level
/// 2, standard level 3, and full every level.
using Level = int;

/// A fault in a region, which is an intersection of conditions.
struct Member {
  std::string_view fault;
  std::vector<std::string_view> regions;
};

/// What a kernel of this table accepts, and how it is judged.
struct Form {
  std::int32_t contract;
  Dtype dtype;
  std::string_view suffix;  ///< of the kernel's name
  /// true: `dtype` is that of one tensor. The others and the table may have any type.
  bool any_types = false;
};

/// A kernel: a mutant with one member, or a control with none.
struct Composed {
  std::string name;
  Form form;
  std::vector<Member> members;
  std::string_view refusal;  ///< empty: it accepts everything of its form
};

/// Every kernel of the table.
const std::vector<Composed>& composed_kernels();

/// Mutants of another table that only a case too large for smoke kills.
inline constexpr std::string_view too_large_for_smoke[] = {"mutant_flat_index_of_22_bits_table",
                                                           "mutant_ticket_of_9_bits_table",
                                                           "mutant_flat_index_of_prompt_exact"};

/// The correct kernel of a form, which has no member and refuses nothing.
std::string control_of(const Form& form);

/// NULL: no kernel of the table has this name.
const Composed* composed_named(std::string_view kernel);

/// The conditions that must meet for a member's error to show: those of the fault, then the
/// regions. Their number is the member's strength. Throws std::logic_error for an unknown fault.
std::vector<std::string_view> conditions_of(const Member& member);

/// The level at which a mutant must die. A control has level 0.
Level level_of(const Composed& kernel);

}  // namespace ropewalk::mutants
