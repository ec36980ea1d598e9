// The ledger lists what each kernel offers and which properties hold (docs/ledger.md). It is
// committed, so a kernel that begins to refuse something fails a test instead of being judged on
// less.
#pragma once
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ropewalk::harness {

/// One line of the file without its margin. An offered feature takes the place of a property, as
/// "offers:NAME".
struct LedgerKey {
  std::string kernel, contract, pairing, dtype, property;
  auto operator<=>(const LedgerKey&) const = default;  // NOLINT: clang-tidy 14 sees a null
};

/// The rows: a margin for a property, nothing for an offered feature. Margins are for reading only:
/// they differ slightly between compilers.
using Ledger = std::map<LedgerKey, std::optional<double>>;

/// The text of the property column for an offered feature.
std::string offered(const std::string& feature);

/// Returns "plain,table,half_split,f32,norm". Messages name a row this way, and the row in the file
/// begins with it.
std::string to_text(const LedgerKey& key);
/// Reads what to_text() made.
LedgerKey key_from(std::string_view text);
/// Writes the whole file, sorted.
std::string to_text(const Ledger& ledger);

/// Reads a file. `file` is its name for messages. Throws BadFile if it is no ledger, if a line is
/// no row, if a margin is above 1, and if a row appears twice.
Ledger parse_ledger(std::string_view text, const std::string& file);

}  // namespace ropewalk::harness
