// A finding: what one check of one case measured.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace ropewalk::harness {

struct Finding {
  enum class Kind { measured, crash, hang, unsupported, skipped, broken };
  Kind kind = Kind::measured;
  double margin = 0;  ///< worst error / bound; the claim holds where it is <= 1
  double bound = 0;   ///< at the worst place, in `bound_unit`
  std::string bound_unit;
  std::int64_t compared = 0;  ///< values compared
  std::string where;          ///< of the worst
  std::string reason;         ///< what is wrong, in words; of a broken contract, crash, hang, skip
  std::string diagnosis;      ///< gain and phase of the worst error

  /// Measured and within its bound, with something compared.
  bool holds() const { return kind == Kind::measured && margin <= 1 && compared > 0; }
  bool ran() const { return kind != Kind::unsupported && kind != Kind::skipped; }
};

/// Keeps the worst of many comparisons. NaN is worse than anything and is never overwritten.
class Tally {
 public:
  /// error <= bound is what should hold; an error of 0 always does. `describe` is called for a new
  /// worst only.
  template <class Describe>
  void add(double error, double bound, Describe&& describe) {
    ++finding_.compared;
    const double margin = ratio(error, bound);
    if (finding_.compared > 1 && margin <= finding_.margin) return;
    finding_.margin = margin;
    finding_.bound = bound;
    describe(finding_);
  }
  /// Counts a comparison that is known to be no worse than the worst so far.
  void count_harmless() { ++finding_.compared; }
  const Finding& finding() const { return finding_; }

 private:
  static double ratio(double error, double bound) {
    if (error == 0) return 0;
    const double margin = error / bound;
    return margin <= std::numeric_limits<double>::max() ? margin
                                                        : std::numeric_limits<double>::infinity();
  }
  Finding finding_;
};

}  // namespace ropewalk::harness
