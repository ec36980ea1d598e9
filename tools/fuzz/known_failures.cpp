// A file of known failures is refused by BadFile or is a list. Each of its failures can be written
// as a line that reads the same, and can be looked up without an error.
#include "harness/expected/known_failures.h"
#include "base/text_file.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {
using namespace harness;
using namespace report;
namespace {

std::string line_of(const KnownFailure& known) {
  return known.kernel + ' ' + known.property + ' ' + known.until + ' ' + known.reason + '\n';
}

void judge_rows(std::string_view text) {
  KnownFailures known(text, "FILE", "2026-06-15");
  VerdictRow row;
  for (const char* kernel : {"plain", "mutant_pairing_swapped", ""})
    for (const char* property : {"norm", "relative_position"}) {
      row.kernel = kernel;
      row.property = property;
      row.verdict = Verdict::fail;
      known.judge(row);
      claim(row.known.empty() || row.known >= "until 2026-06-15: ",
            "no line excuses after its day");
    }
  for (const std::string& remark : known.remarks())
    claim(remark.find('\n') == std::string::npos, "a remark is one line");
}

}  // namespace

void run(std::string_view text) {
  const auto list = unless_refused<BadFile>([&] { return parse_known_failures(text, "FILE"); });
  if (!list) return;
  std::string lines;
  for (const KnownFailure& known : *list) lines += line_of(known);
  const auto again = parse_known_failures(lines, "FILE");
  claim(again.size() == list->size(), "as many lines are read as were written");
  for (std::size_t i = 0; i < again.size(); ++i)
    claim(line_of(again[i]) == line_of((*list)[i]), "a line reads the same");
  judge_rows(text);
}

}  // namespace ropewalk::fuzz
