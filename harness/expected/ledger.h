// The ledger: what each kernel holds and offers, committed, so that a kernel that suddenly refuses
// something fails a test instead of being judged on less (docs/ledger.md).
#pragma once
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ropewalk::harness {

/// One line of the file but for its margin. An offered feature stands where a property would, as
/// "offers:NAME".
struct LedgerKey {
  std::string kernel, contract, pairing, dtype, property;
  auto operator<=>(const LedgerKey&) const = default;
};

/// The rows, with the margin of a property; nothing for an offered feature. Margins are there to
/// be read: they differ a little between compilers.
using Ledger = std::map<LedgerKey, std::optional<double>>;

/// The property column of an offered feature.
std::string offered(const std::string& feature);

/// "plain,table,half_split,f32,norm": how a row is named in messages and begins in the file.
std::string to_text(const LedgerKey& key);
/// The reverse, for what to_text() made.
LedgerKey key_from(std::string_view text);
/// The whole file, sorted.
std::string to_text(const Ledger& ledger);

/// The reverse; `file` is the name for messages. Throws BadFile for what is no ledger, a line that
/// is no row, a margin that does not hold (above 1) and a row that stands twice.
Ledger parse_ledger(std::string_view text, const std::string& file);

}  // namespace ropewalk::harness
