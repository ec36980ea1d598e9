// The ledger lists what each kernel offers and which properties hold (docs/ledger.md). It is
// committed, so a kernel that begins to refuse something fails a test instead of being judged on
// less.
#pragma once
#include <compare>
#include <set>
#include <string>
#include <string_view>

namespace ropewalk::harness {

/// A property that holds in one cell of a kernel. An offered feature takes the place of a property,
/// as "offers:NAME".
struct LedgerKey {
  std::string kernel, contract, pairing, dtype, property;
  auto operator<=>(const LedgerKey&) const = default;  // NOLINT: clang-tidy 14 sees a null
};

using Ledger = std::set<LedgerKey>;

/// The text of the property column for an offered feature.
std::string offered(const std::string& feature);

/// Returns "plain,table,half_split,f32,norm". Messages name a key this way.
std::string to_text(const LedgerKey& key);
/// Reads what to_text() made.
LedgerKey key_from(std::string_view text);

/// Writes the whole file, sorted. `all` are the properties and features that exist: '*' in a row.
std::string to_text(const Ledger& ledger, const std::set<std::string>& all);

/// Reads a file. `file` is its name for messages. Throws BadFile if it is no ledger, if a line is
/// no row, and if a row changes nothing.
Ledger parse_ledger(std::string_view text, const std::string& file,
                    const std::set<std::string>& all);

}  // namespace ropewalk::harness
