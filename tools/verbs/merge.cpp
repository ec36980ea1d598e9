// Joins the shards of verify --exhaustive. With --missing: which shards are not whole yet, and the
// command lines that make them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "harness/cases/case.h"
#include "properties/exhaustive/certify.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace properties;
using namespace report;
namespace {

namespace fs = std::filesystem;

// The rows of a file that are parts of a certificate. Throws BadFile if it has none, or a failure.
std::vector<CertificatePart> parts_of(const Results& results, const std::string& file) {
  std::vector<CertificatePart> parts;
  for (const VerdictRow& row : results.verdicts) {
    if (is_failure(row.verdict))
      throw BadFile(fmt::format("{}: {} of {}: a kernel that fails gets no certificate", file,
                                row.verdict, name_of(row)));
    if (row.part_of.empty()) continue;
    try {
      whole_plan_of(row);
      range_of(row);
    } catch (const harness::BadCase& bad) {
      throw BadFile(fmt::format("{}: {}: {}", file, name_of(row), bad.what()));
    }
    parts.push_back({row, file});
  }
  if (parts.empty())
    throw BadFile(file + ": holds no certificate rows (verify --exhaustive writes them)");
  return parts;
}

// What a run wrote to its folder, as far as it came.
struct ShardRun {
  std::string folder;
  std::string command;  // without --shard and --out
  Shard shard;
  std::vector<CertificatePart> parts;
  bool has_ended = false;
  std::string differs;  // the first word in which it differs from most; empty: none
  int rank() const { return !differs.empty() ? 2 : has_ended ? 0 : 1; }  // 0: whole
  std::string fault() const {
    if (!differs.empty()) return fmt::format("in {} is of another binary: {}", folder, differs);
    return fmt::format("in {} was cut off (rows: {})", folder, parts.size());
  }
};

// Takes an option out of a recorded command line and returns its value; empty if it is not there.
std::string take_option(std::string& command, const std::string& name) {
  const std::size_t at = command.find(" " + name), value = at + name.size() + 2;
  if (at == std::string::npos || value >= command.size()) return {};
  const bool is_quoted = command[value] == '\'';
  std::size_t end = command.find(is_quoted ? "' " : " ", value + 1);
  end = end == std::string::npos ? command.size() : end + (is_quoted ? 1 : 0);
  std::string text = command.substr(value, end - value);
  command.erase(at, end - at);
  return text;
}

// Empty if no exhaustive run wrote its first row there yet.
std::optional<ShardRun> read_run(const fs::path& folder) {
  const fs::path file = folder / "results.jsonl";
  std::error_code error;
  if (!fs::is_regular_file(file, error) || !has_whole_line(file)) return std::nullopt;
  const Results results = read_results(file);
  ShardRun run;
  run.folder = folder;
  run.command = results.run.command;
  if (run.command.find(" --exhaustive") == std::string::npos) return std::nullopt;
  take_option(run.command, "--out");
  const std::string shard = take_option(run.command, "--shard");
  if (const std::string wrong = shard.empty() ? "" : read_shard(shard, run.shard); !wrong.empty())
    throw BadFile(fmt::format("{}: --shard {}: {}", file.string(), shard, wrong));
  run.has_ended = results.complete;
  if (run.has_ended || !results.verdicts.empty()) run.parts = parts_of(results, file);
  return run;
}

std::vector<ShardRun> runs_in(const fs::path& folder) {
  std::set<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) entries.insert(entry.path());
  if (error) throw UsageError(folder.string() + ": cannot be read: " + error.message());
  std::vector<ShardRun> runs;
  for (const fs::path& entry : entries) {
    auto run = read_run(entry);
    if (!run) continue;
    runs.push_back(std::move(*run));
    const ShardRun &first = runs.front(), &last = runs.back();
    if (last.shard.n != first.shard.n)
      throw BadFile(fmt::format("{} is one of {} shards, {} one of {}", first.folder, first.shard.n,
                                last.folder, last.shard.n));
  }
  if (runs.empty())
    throw BadFile(folder.string() +
                  ": no folder in it is of verify --exhaustive --shard i/n --out");
  return runs;
}

// Compares each with a row of the binary that made most rows of that kernel, pairing and data type.
// Shards of another range or shape are refused.
void compare_with_most(std::vector<ShardRun>& runs) {
  std::map<std::string, int> votes;
  std::map<std::string, VerdictRow> usual;
  for (const ShardRun& run : runs)
    for (const auto& [row, file] : run.parts)
      if (VerdictRow& of_most = usual[name_of(row)]; ++votes[row.part_of] > votes[of_most.part_of])
        of_most = row;
  for (ShardRun& run : runs)
    for (const auto& [row, file] : run.parts) {
      run.differs = difference(row, usual.at(name_of(row)));
      for (const char* asked : {"rotary_dim:", "rope_theta:", "seed:", "positions:", "tokens:"})
        if (run.differs.starts_with(asked))
          throw BadFile(run.folder + " is not part of the same run as most: " + run.differs);
      if (!run.differs.empty()) break;
    }
}

// The rows of all shards in the folder; none if not all are whole, and then how to make the others
// is printed. Throws BadFile if they are not of one run.
std::vector<CertificatePart> parts_in_folder(const MergeOptions& options) {
  std::vector<ShardRun> runs = runs_in(options.missing);
  compare_with_most(runs);
  std::ranges::stable_sort(runs, {}, &ShardRun::rank);
  std::map<std::int64_t, const ShardRun*> best;
  for (const ShardRun& run : runs) best.emplace(run.shard.i, &run);
  std::FILE* const to = options.json ? stderr : stdout;
  std::vector<CertificatePart> parts;
  std::int64_t there = 0;
  const std::int64_t n = runs.front().shard.n;
  for (std::int64_t i = 1; i <= n; ++i) {
    const auto found = best.find(i);
    const ShardRun* const run = found == best.end() ? nullptr : found->second;
    if (run != nullptr && run->rank() == 0) {
      ++there;
      parts.insert(parts.end(), run->parts.begin(), run->parts.end());
    } else if (!options.quiet) {
      const fs::path folder = fs::path(options.missing) / fmt::format("shard{}", i);
      fmt::print(to, "shard {}/{} {}\n  {} --shard {}/{} --out {}\n", i, n,
                 run == nullptr ? "is not there" : run->fault(), runs.front().command, i, n,
                 shell_word(run == nullptr ? folder.string() : run->folder));
    }
  }
  if (!options.quiet) fmt::print(to, "{} of {} shards are there\n", there, n);
  return there == n ? parts : std::vector<CertificatePart>{};
}

}  // namespace

int run(const MergeOptions& options) {
  std::vector<CertificatePart> parts;
  if (!options.missing.empty()) parts = parts_in_folder(options);
  for (const std::string& file : options.files) {
    const auto more = parts_of(read_results(file), file);
    parts.insert(parts.end(), more.begin(), more.end());
  }
  if (parts.empty()) return 3;
  const std::vector<VerdictRow> rows = joined(std::move(parts));
  if (!options.out.empty()) write_certificate(options.out, rows);
  for (const VerdictRow& row : rows) {
    if (options.json)
      fmt::print("{}\n", to_json_line(row));
    else if (!options.quiet)
      fmt::print("{}: positions {}:{}, worst margin {:.6f} of {:.4g} {}\n", name_of(row),
                 range_of(row).first, range_of(row).last, row.margin, row.bound, row.bound_unit);
  }
  return 0;
}

}  // namespace ropewalk::tools
