#include "properties/exhaustive/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "base/text_file.h"
#include "harness/cases/names.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

std::string range_text(PositionRange range) {
  return fmt::format("{}:{}", range.first, range.last);
}

using Words = std::map<std::string, std::string>;

Words words_of(const VerdictRow& row) {
  Words words{
      {"judged_on", row.judged_on}, {"declared", row.declared}, {"not sampled", row.reason}};
  std::istringstream in(row.part_of);
  for (std::string word; in >> word;)
    words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return words;
}

[[noreturn]] void missing(const VerdictRow& row, std::int64_t first, std::int64_t last) {
  throw BadFile(
      fmt::format("positions {} of {} are in no file", range_text({first, last}), name_of(row)));
}

// Appends part b to a, whose last position must be just before the first of b. Of equal errors it
// keeps the one at the smaller position, which is a's.
void append(CertificatePart& a, const CertificatePart& b) {
  VerdictRow& whole = a.row;
  const VerdictRow& part = b.row;
  if (const std::string differs = difference(whole, part); !differs.empty())
    throw BadFile(fmt::format("{} and {} are not parts of one run: {}", a.file, b.file, differs));
  const PositionRange before = range_of(whole), range = range_of(part);
  if (range.first <= before.last)
    throw BadFile(fmt::format("positions {} of {} {}: {} and {}", range_text(range), name_of(part),
                              range == before ? "are in two files" : "overlap those in a file",
                              a.file, b.file));
  if (range.first > before.last + 1) missing(part, before.last + 1, range.first - 1);
  if (part.margin > whole.margin) {
    whole.margin = part.margin;
    whole.bound = part.bound;
    whole.bound_unit = part.bound_unit;
    whole.where = part.where;
  }
  whole.planned += part.planned;
  whole.executed += part.executed;
  whole.compared_cases += part.compared_cases;
  whole.compared += part.compared;
  Case c = case_from_text(whole.shrunk_case);
  c.tokens += range.count();
  whole.shrunk_case = to_text(c);
  a.file = b.file;
}

void check_counts(const CertificatePart& part, PositionRange whole, std::int64_t rotary_dim) {
  const VerdictRow& row = part.row;
  const PositionRange range = range_of(row);
  const std::int64_t count = range.count();
  const bool in_whole = whole.first <= range.first && range.last <= whole.last;
  if (in_whole && row.planned == count && row.executed == count && row.compared_cases == count &&
      row.compared == count * ChunkPlan::heads * (rotary_dim / 2) && row.margin <= 1)
    return;
  throw BadFile(fmt::format("{}: the row of {} {} contradicts itself", part.file, name_of(row),
                            range_text(range)));
}

std::string page_of(const VerdictRow& row) {
  const ChunkPlan plan = whole_plan_of(row);
  Words words = words_of(row);
  std::string out = fmt::format("\n## {}\n\n| | |\n|---|---|\n", name_of(row));
  const auto line = [&](std::string_view what, const std::string& text) {
    if (!text.empty()) out += fmt::format("| {} | {} |\n", what, text);
  };
  line("positions", fmt::format("{} to {}, every one", plan.first, plan.last));
  line("planned = executed = compared",
       fmt::format("{} positions, {} blocks (position, pair)", row.compared_cases,
                   row.compared / ChunkPlan::heads));
  const std::string bound =
      row.bound_unit == "bound" ? "" : fmt::format(", {:.6g} {}", row.bound, row.bound_unit);
  line("worst error", fmt::format("{:.6f} of its bound{}; at {}", row.margin, bound, row.where));
  const std::string words_on = words_beside(row.judged_on);
  line("judged on", words_on == by_host_launcher ? words_on + ", not a GPU" : words_on);
  line("declared error", row.declared);
  line("contract, data",
       fmt::format("{}, {}, rotary_dim {}, rope_theta {}, seed {}", row.angle_contract, row.dtype,
                   plan.rotary_dim, plan.rope_theta, plan.seed));
  line("calls", "forward, i32 positions, out of place, one batch row, 3 heads, of 1 to " +
                    words["call_positions"] +
                    " consecutive positions; the seed draws where each begins");
  line("sampled within the same bounds",
       row.reason.empty() ? "calls with int64 positions, and backward" : row.reason);
  line("code", (words["plugin"].empty() ? "ropewalk, " : words["plugin"] + ", ") + words["code"]);
  line("oracle", words["oracle"]);
  line("ropewalk", words["version"]);
  return out;
}

}  // namespace

std::string name_of(const VerdictRow& row) {
  return fmt::format("{} {} {}", row.kernel, row.pairing, row.dtype);
}

PositionRange range_of(const VerdictRow& row) {
  const ChunkPlan plan = chunk_plan_of(case_from_text(row.shrunk_case));
  return {plan.first, plan.last};
}

ChunkPlan whole_plan_of(const VerdictRow& row) {
  return chunk_plan_of(case_from_text(row.part_of.substr(0, row.part_of.find(" call_positions="))));
}

std::string difference(const VerdictRow& a, const VerdictRow& b) {
  Words mine = words_of(a), theirs = words_of(b), all = mine;
  all.insert(theirs.begin(), theirs.end());
  for (const auto& [word, text] : all)
    if (mine[word] != theirs[word])
      return fmt::format("{}: {}, not {}", word, mine[word], theirs[word]);
  return {};
}

std::vector<VerdictRow> joined(std::vector<CertificatePart> parts,
                               std::optional<PositionRange> asked) {
  const auto key = [](const CertificatePart& p) {
    return std::tuple(name_of(p.row), range_of(p.row).first, range_of(p.row).last);
  };
  std::ranges::stable_sort(parts, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<VerdictRow> rows;
  for (auto part = parts.begin(); part != parts.end();) {
    CertificatePart all = *part;
    const ChunkPlan plan = whole_plan_of(all.row);
    const PositionRange whole = asked.value_or(PositionRange{plan.first, plan.last});
    if (range_of(all.row).first > whole.first)
      missing(all.row, whole.first, range_of(all.row).first - 1);
    check_counts(all, whole, plan.rotary_dim);
    while (++part != parts.end() && name_of(part->row) == name_of(all.row)) {
      check_counts(*part, whole, plan.rotary_dim);
      append(all, *part);
    }
    if (range_of(all.row).last < whole.last)
      missing(all.row, range_of(all.row).last + 1, whole.last);
    all.row.plugin = std::filesystem::path(all.row.plugin).filename().string();
    rows.push_back(all.row);
  }
  return rows;
}

std::string certificate_text(const std::vector<VerdictRow>& rows) {
  std::string text =
      "# Certificate\n\nMade by `ropewalk verify --exhaustive`; what it says, what it assumes and "
      "how it is checked: docs/certificate.md.\nEvery 2x2 block (position, pair) was tried by its "
      "two columns, and the arithmetic by one full-mantissa vector a position.\nu is that of the "
      "data type: 2^-24 for f32, 2^-11 for f16, 2^-8 for bf16. rho is the length of a pair.\n";
  for (const VerdictRow& row : rows) text += page_of(row);
  return text;
}

void write_certificate(const std::filesystem::path& folder, const std::vector<VerdictRow>& rows) {
  std::string lines;
  for (const VerdictRow& row : rows) lines += to_json_line(row) + "\n";
  write_whole_file(folder / "certificate.jsonl", lines);
  write_whole_file(folder / "certificate.md", certificate_text(rows));
}

}  // namespace ropewalk::properties
