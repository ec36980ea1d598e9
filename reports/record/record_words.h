// The words of the result schema as types. Only a file holds the words; code compares the types.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

namespace ropewalk::report {

/// The verdict on a kernel and a property. VACUOUS means that nothing was compared; it is a
/// failure.
enum class Verdict { pass, fail, crash, hang, vacuous, unsupported, skipped };

/// The outcome of a contestant on a workload. Files hold `measured` to `implausible`. Reports add
/// what the rounds say, and a comparison of two runs adds the rest.
enum class Outcome {
  measured,  ///< a speed without a claim: claims are computed from the rounds
  broken,    ///< shown without any number
  skipped,
  implausible,  ///< faster than memory allows
  faster,
  slower,
  same,
  unresolved,
  invalid,  ///< the rounds cannot support a claim
  changed,  ///< the name is the same, the work is not
  gone,
  added,
};

/// A null twin runs the baseline's code a second time. A ceiling moves a kernel's bytes and
/// computes nothing. A floor, of a device alone, is what a launch costs.
enum class Role { kernel, baseline, null_twin, ceiling, floor };

/// Whether the rows stand beside the kernels for comparison: never ranked, never claimed about.
constexpr bool is_reference(Role role) {
  return role == Role::ceiling || role == Role::floor;
}

/// The kind of work that a workload stands for.
enum class WorkloadPhase { decode, prefill, working_set };

/// The judgement of a report on a kernel or on a run.
enum class Standing { verified, failed, not_run };

/// The words of E, in the order of its values.
template <class E>
inline constexpr auto words_of = nullptr;
template <>
inline constexpr std::array<std::string_view, 7> words_of<Verdict> = {
    "PASS", "FAIL", "CRASH", "HANG", "VACUOUS", "UNSUPPORTED", "SKIPPED"};
template <>
inline constexpr std::array<std::string_view, 12> words_of<Outcome> = {
    "MEASURED", "BROKEN",     "SKIPPED", "IMPLAUSIBLE", "FASTER", "SLOWER",
    "SAME",     "UNRESOLVED", "INVALID", "CHANGED",     "GONE",   "NEW"};
template <>
inline constexpr std::array<std::string_view, 5> words_of<Role> = {"kernel", "baseline",
                                                                   "null_twin", "ceiling", "floor"};
template <>
inline constexpr std::array<std::string_view, 3> words_of<WorkloadPhase> = {"decode", "prefill",
                                                                            "working_set"};
template <>
inline constexpr std::array<std::string_view, 3> words_of<Standing> = {"verified", "failed",
                                                                       "not run"};

template <class E>
concept Worded = !std::same_as<decltype(words_of<E>), const std::nullptr_t>;

template <Worded E>
constexpr std::string_view word(E value) {
  return words_of<E>[static_cast<std::size_t>(value)];
}

/// The reverse. Returns nothing if the text is no word of E.
template <Worded E>
constexpr std::optional<E> from_word(std::string_view text) {
  const auto found = std::find(words_of<E>.begin(), words_of<E>.end(), text);
  if (found == words_of<E>.end()) return std::nullopt;
  return static_cast<E>(found - words_of<E>.begin());
}

template <Worded E>
std::ostream& operator<<(std::ostream& out, E value) {
  return out << word(value);
}

constexpr bool is_failure(Verdict v) {
  return v == Verdict::fail || v == Verdict::crash || v == Verdict::hang || v == Verdict::vacuous;
}
constexpr bool is_not_run(Verdict v) {
  return v == Verdict::unsupported || v == Verdict::skipped;
}

}  // namespace ropewalk::report

template <ropewalk::report::Worded E>
struct fmt::formatter<E> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(E value, Context& context) const {
    return fmt::formatter<std::string_view>::format(ropewalk::report::word(value), context);
  }
};
