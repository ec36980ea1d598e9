// A finding: what one check of one case measured.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

namespace ropewalk::harness {

struct Finding {
  enum class Kind { measured, crash, hang, unsupported, skipped, broken };
  Kind kind = Kind::measured;
  double margin = 0;  ///< worst error / bound; the claim holds if it is <= 1
  double bound = 0;   ///< bound at the worst place, in `bound_unit`
  std::string bound_unit;
  std::int64_t compared = 0;  ///< number of values compared
  std::string where;          ///< the worst place
  std::string reason;         ///< what is wrong, in words: a broken contract, crash, hang or skip
  std::string diagnosis;      ///< gain and phase of the worst error
  /// Identifiers of what is wrong, where it is no wrong computation: where a call crashed, the
  /// exception that it raised, the rule that it broke. The words of a reason are for people alone.
  std::vector<std::string> cause_ids;
  std::string raised;        ///< the one of these that is an exception; empty: none is
  bool is_too_slow = false;  ///< of a skipped case: the claim holds without it

  /// True if the finding is measured, within its bound, and compared at least one value.
  bool holds() const { return kind == Kind::measured && margin <= 1 && compared > 0; }
  bool ran() const { return kind != Kind::unsupported && kind != Kind::skipped; }
};

/// Keeps the worst of many comparisons. NaN is worse than any number and is never overwritten.
class Tally {
 public:
  /// Describes no comparison with a margin up to `least`.
  explicit Tally(double least = 0) : least_(least) { finding_.margin = least; }
  /// Notes one comparison, which holds if error <= bound. An error of 0 always holds. `describe` is
  /// called only for a new worst.
  template <class Describe>
  void add(double error, double bound, Describe&& describe) {
    ++finding_.compared;
    const double margin = ratio(error, bound);
    if ((least_ > 0 || finding_.compared > 1) && margin <= finding_.margin) return;
    finding_.margin = margin;
    finding_.bound = bound;
    describe(finding_);
  }
  /// Counts a comparison that is known to be no worse than the worst noted.
  void count_harmless() { ++finding_.compared; }
  const Finding& finding() const { return finding_; }

  static double ratio(double error, double bound) {
    if (error == 0) return 0;
    const double margin = error / bound;
    return margin <= std::numeric_limits<double>::max() ? margin
                                                        : std::numeric_limits<double>::infinity();
  }

 private:
  double least_;
  Finding finding_;
};

}  // namespace ropewalk::harness
