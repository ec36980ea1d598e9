// What is expected of kernels (docs/ledger.md). The ledger lists what each kernel offers and which
// properties hold: it is committed, so a kernel that begins to refuse something fails a test
// instead of being judged on less. Known failures let a CI job pass while it watches everything
// else: they change only the exit code, and a kernel with one still fails and gets no speed.
#pragma once
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::harness {

/// A property that holds in one cell of a kernel. An offered level takes the place of a property,
/// as "offers:FACTOR=LEVEL".
struct LedgerKey {
  std::string kernel, contract, pairing, dtype, property;
  auto operator<=>(const LedgerKey&) const = default;  // NOLINT: clang-tidy 14 sees a null
};
using Ledger = std::set<LedgerKey>;

/// The text of the property for an offered level.
std::string offered(const std::string& level);

/// The properties and levels that exist, and those of them that '*' stands for in a ledger.
struct LedgerNames {
  std::set<std::string> all, common;
};
LedgerKey key_of(const report::VerdictRow& row);
/// Returns "plain,table,half_split,f32,norm". Messages name a key this way.
std::string to_text(const LedgerKey& key);

/// A line of a file: these properties of these cells hold, or are known to fail until a day.
struct Expectation {
  std::string kernel;                                    ///< a glob
  std::vector<std::string> contracts, pairings, dtypes;  ///< without words: all
  std::vector<std::string> properties;                   ///< globs
  std::string until, reason;  ///< of a known failure: the last day on which it counts, YYYY-MM-DD
  std::string text;           ///< the line itself
  std::int64_t line = 0;
};

struct Expectations {
  Ledger ledger;
  std::vector<Expectation> failures;
};

/// Reads a file of lines, in which `#` begins a comment line:
///   KERNEL CONTRACT PAIRINGS DTYPES PROPERTY...
///   KERNEL PROPERTY... YYYY-MM-DD reason
/// The second may name a contract, pairings and types, too. A glob in a line of the ledger stands
/// for those of `names` that match it; -PROPERTY takes away what the words before it say there.
/// Throws BadFile (file and line) for any other line, an impossible date, control characters, and a
/// property that changes nothing.
Expectations parse_expected(std::string_view text, const std::string& file,
                            const LedgerNames& names = {});

/// Writes the whole ledger, sorted.
std::string to_text(const Ledger& ledger, const LedgerNames& names);

/// Compares the rows of a run with known failures.
class KnownFailures {
 public:
  KnownFailures() = default;  ///< no known failures
  /// `today` is YYYY-MM-DD. Throws BadFile.
  KnownFailures(std::string_view text, std::string file, std::string today);

  /// Returns "until 2026-12-31: reason" of the first line that excuses this failure today, or an
  /// empty text.
  std::string excuse(const LedgerKey& failed);
  /// Marks the row (VerdictRow::known) if it is a known failure. Counts the row for remarks() in
  /// any case.
  void judge(report::VerdictRow& row);
  /// Call after the run. Returns a remark for each line that has expired, is not needed, or matched
  /// no row.
  std::vector<std::string> remarks() const;

 private:
  struct Use {
    Expectation known;
    std::int64_t judged = 0, failed = 0;  ///< rows that the line matches
  };
  std::string file_, today_;
  std::vector<Use> uses_;
};

}  // namespace ropewalk::harness
