// A witness shows that a composed mutant is wrong: a case that meets all conditions of its error.
// Without any one of the conditions the mutant is right, so the error is an interaction.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "properties/mutants/composed/composed.h"

namespace ropewalk::properties {

struct Witness {
  std::vector<harness::Case> before;  ///< cases that run before it, in the same process
  harness::Case c;
  std::string_view property;  ///< judges the case; empty: the whole output is compared
};

/// The case of a member of this kernel, in which all its conditions hold. `without`: the index in
/// conditions_of(member) of a condition that does not hold.
Witness witness_of(const mutants::Composed& kernel, const mutants::Member& member,
                   std::optional<std::size_t> without = std::nullopt);

/// A case that meets one condition.
Witness witness_of(const mutants::Composed& kernel, std::string_view condition);

/// A case that the kernel accepts and that meets no condition on purpose.
Witness plain_witness_of(const mutants::Composed& kernel);

/// When a change of a case is made. Tensors come before their sizes, sizes before what depends on
/// them.
enum class Turn { tensors, sizes, features, layouts, last };

/// How a case comes to meet a condition.
struct CaseChange {
  std::string_view word;
  Turn turn;
  void (*meet)(Witness&);            ///< NULL: the plain case meets the condition
  void (*miss)(Witness&) = nullptr;  ///< NULL: the plain case misses the condition
};
const std::vector<CaseChange>& case_changes();

/// How a case comes to be accepted by a kernel with this refusal, before all else.
struct AcceptedCase {
  std::string_view refusal;
  Turn turn;
  void (*accept)(harness::Case&);
};
const std::vector<AcceptedCase>& accepted_cases();

}  // namespace ropewalk::properties
