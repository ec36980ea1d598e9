// A ledger is refused by BadFile, or its rows are the same after they were written and read again.
#include "base/text_file.h"
#include "harness/expected/ledger.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {
using namespace harness;

void run(std::string_view text) {
  const auto ledger = unless_refused<BadFile>([&] { return parse_ledger(text, "FILE"); });
  if (!ledger) return;
  const std::string written = to_text(*ledger);
  const Ledger again = parse_ledger(written, "FILE");
  claim(again.size() == ledger->size(), "as many rows are read as were written");
  for (const auto& [key, margin] : *ledger) {
    claim(key_from(to_text(key)) == key, "a key reads the same");
    claim(again.contains(key), "no row is lost");
    claim(!margin || (*margin >= 0 && *margin <= 1), "a margin that does not hold is refused");
  }
  claim(to_text(again) == written, "what was written is written again the same");
}

}  // namespace ropewalk::fuzz
