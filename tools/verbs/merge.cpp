// Joins the shards of verify --exhaustive. With --missing: which shards are not whole yet, and the
// command lines that make them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/fingerprint.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/worker/own_executable.h"
#include "properties/exhaustive/division.h"
#include "reports/pages/certificate.h"
#include "reports/record/fields.h"
#include "reports/record/record.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;
namespace {

namespace fs = std::filesystem;

// The certificate rows of a file. Throws BadMerge if it has none, or a failure.
std::vector<CertificatePart> parts_of(const Results& results, const std::string& file) {
  for (const VerdictRow& verdict : results.verdicts)
    if (is_failure(verdict.verdict))
      throw BadMerge(fmt::format("{}: {} of {} {} {}: a kernel that fails gets no certificate",
                                 file, verdict.verdict, verdict.kernel, verdict.pairing,
                                 verdict.dtype));
  if (results.certificates.empty())
    throw BadMerge(file + ": holds no certificate rows (verify --exhaustive writes them)");
  std::vector<CertificatePart> parts;
  for (const CertificateRow& row : results.certificates) parts.push_back({row, file});
  return parts;
}

// What a run wrote to its folder, as far as it came.
struct ShardRun {
  std::string folder;
  std::string command;  // without --shard and --out
  Shard shard;
  std::vector<CertificatePart> parts;
  bool has_ended = false;
  std::string differs;  // the first field in which it differs from most; empty: none
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
    throw BadMerge(fmt::format("{}: --shard {}: {}", file.string(), shard, wrong));
  run.has_ended = results.complete;
  if (run.has_ended || !results.certificates.empty()) run.parts = parts_of(results, file);
  return run;
}

std::vector<ShardRun> runs_in(const fs::path& folder) {
  std::set<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.insert(entry.path());
  std::vector<ShardRun> runs;
  for (const fs::path& entry : entries) {
    auto run = read_run(entry);
    if (!run) continue;
    runs.push_back(std::move(*run));
    const ShardRun &first = runs.front(), &last = runs.back();
    if (last.shard.n != first.shard.n)
      throw BadMerge(fmt::format("{} is one of {} shards, {} one of {}", first.folder,
                                 first.shard.n, last.folder, last.shard.n));
  }
  if (runs.empty())
    throw BadMerge(folder.string() +
                   ": no folder in it is of verify --exhaustive --shard i/n --out");
  return runs;
}

using RowOfCell = std::map<std::string, CertificateRow>;

// For each kernel, pairing and data type a row of the binary that made most rows. Of as many, this
// command's.
RowOfCell usual_rows(const std::vector<ShardRun>& runs, const std::string& this_command) {
  std::map<std::string, std::map<std::string, int>> votes;
  RowOfCell usual;
  for (const ShardRun& run : runs)
    for (const CertificatePart& part : run.parts) {
      const std::string cell = name_of(part.row);
      std::string made_by;
      each_common_field(
          part.row, [&](const char*, const auto& value) { made_by += fmt::format("{}\n", value); });
      int& count = votes[cell][made_by];
      if (part.row.code_fingerprint == this_command) count |= 1;
      count += 2;
      const bool most =
          std::ranges::all_of(votes[cell], [&](const auto& each) { return each.second <= count; });
      if (most) usual[cell] = part.row;
    }
  return usual;
}

// Shards of another range or shape are refused.
void compare_with_most(std::vector<ShardRun>& runs, const RowOfCell& usual) {
  for (ShardRun& run : runs)
    for (const CertificatePart& part : run.parts) {
      run.differs = difference(part.row, usual.at(name_of(part.row)));
      for (const char* asked :
           {"rotary_dim:", "rope_theta:", "seed:", "whole_first:", "whole_last:"})
        if (run.differs.starts_with(asked))
          throw BadMerge(run.folder + " is not part of the same run as most: " + run.differs);
      if (!run.differs.empty()) break;
    }
}

std::string fault_of(const ShardRun* run) {
  if (run == nullptr) return "is not there";
  if (!run->differs.empty())
    return fmt::format("in {} is of another binary: {}", run->folder, run->differs);
  return fmt::format("in {} was cut off (rows: {})", run->folder, run->parts.size());
}

// The range of each shard; none if no shard has a row.
std::vector<properties::PositionRange> ranges_of(const RowOfCell& usual, std::int64_t n) {
  if (usual.empty()) return {};
  const CertificateRow& row = usual.begin()->second;
  if (row.rotary_dim < 2) return {};  // of a foreign file
  const harness::ChunkPlan plan{Pairing::half_split,
                                row.rotary_dim,
                                row.rope_theta,
                                row.seed,
                                row.whole_first,
                                row.whole_last,
                                bench::dtype_of(row.dtype)};
  return properties::shards_of({plan.first, plan.last}, n, properties::Division(plan));
}

// The rows of all shards in the folder; none if not all are whole, and then how to make the others
// is printed. Throws BadMerge if they are not of one run.
std::vector<CertificatePart> parts_in_folder(const MergeOptions& options) {
  std::vector<ShardRun> runs = runs_in(options.missing);
  const std::string this_command = fingerprint_of_file(harness::own_executable()).value_or("");
  const RowOfCell usual = usual_rows(runs, this_command);
  compare_with_most(runs, usual);
  const auto rank = [](const ShardRun& run) {
    return run.differs.empty() ? (run.has_ended ? 0 : 1) : 2;
  };
  std::ranges::stable_sort(runs,
                           [&](const ShardRun& a, const ShardRun& b) { return rank(a) < rank(b); });
  std::map<std::int64_t, const ShardRun*> best;
  for (const ShardRun& run : runs) best.emplace(run.shard.i, &run);
  const auto ranges = ranges_of(usual, runs.front().shard.n);
  std::FILE* const to = options.json ? stderr : stdout;
  std::vector<CertificatePart> parts;
  std::int64_t there = 0;
  Shard shard = runs.front().shard;
  for (shard.i = 1; shard.i <= shard.n; ++shard.i) {
    const auto found = best.find(shard.i);
    const ShardRun* const run = found == best.end() ? nullptr : found->second;
    if (run != nullptr && rank(*run) == 0) {
      ++there;
      parts.insert(parts.end(), run->parts.begin(), run->parts.end());
    } else if (!options.quiet) {
      const fs::path folder = fs::path(options.missing) / fmt::format("shard{}", shard.i);
      fmt::print(to, "shard {}/{}", shard.i, shard.n);
      if (!ranges.empty()) {
        const auto [first, last] = ranges[static_cast<std::size_t>(shard.i - 1)];
        fmt::print(to, " (positions {}:{})", first, last);
      }
      fmt::print(to, " {}\n  {} --shard {}/{} --out {}\n", fault_of(run), runs.front().command,
                 shard.i, shard.n, shell_word(run == nullptr ? folder.string() : run->folder));
    }
  }
  if (!options.quiet) fmt::print(to, "{} of {} shards are there\n", there, shard.n);
  if (there == shard.n) return parts;
  const bool by_another = std::ranges::any_of(usual, [&](const auto& each) {
    return each.second.plugin.empty() && each.second.code_fingerprint != this_command;
  });
  if (by_another)
    fmt::print(
        stderr,
        "ropewalk: most shards are of another ropewalk than this; these lines need that one\n");
  return {};
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
  const std::vector<CertificateRow> rows = joined(std::move(parts));
  if (!options.out.empty()) write_certificate(options.out, rows);
  for (const CertificateRow& row : rows) {
    if (options.json)
      fmt::print("{}\n", to_json_line(row));
    else if (!options.quiet)
      fmt::print("{} {} {}: positions {}:{}, worst block {:.6f} {}, worst vector {:.6f} {}\n",
                 row.kernel, row.pairing, row.dtype, row.first, row.last, row.block_error,
                 shown_unit(row, true), row.vector_error, shown_unit(row, false));
  }
  return 0;
}

}  // namespace ropewalk::tools
