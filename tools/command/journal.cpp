#include "tools/command/journal.h"

#include <fstream>
#include <system_error>

#include "base/fingerprint.h"
#include "benchmarks/machine/environment.h"
#include "harness/process/given_plugin.h"
#include "reports/record/record_file.h"
#include "tools/command/session.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace report;
namespace {

// The command without --resume, the files that it runs, and the machine.
RunRow identity_of(const BenchOptions& options) {
  const auto print_of = [](const std::string& file) {
    return fingerprint_of_file(file).value_or("unreadable");
  };
  RunRow run;
  run.version = ROPEWALK_VERSION;
  run.command = options.command_line;
  const std::string flag = " --resume";
  for (std::size_t at; (at = run.command.find(flag)) != std::string::npos;)
    run.command.erase(at, flag.size());
  run.profile = profile_name(options.profile);
  run.seed = options.seed;
  const auto environment = describe_environment();
  for (const char* name : {"cpu_model", "cpu_caches", "compiler", "compiler_flags"})
    if (const auto found = environment.find(name); found != environment.end())
      run.environment.insert(*found);
  run.environment["program"] = print_of(own_executable());
  for (const std::string& plugin : worker_options(options).plugins)
    run.environment["plugin " + plugin] = print_of(given_plugin(plugin).file);
  if (!options.workload_file.empty())
    run.environment["workload_file"] = print_of(options.workload_file);
  for (const std::string& config : options.configs)
    run.environment["config " + config] = print_of(config);
  return run;
}

// Rows of Google Benchmark are not resumed.
std::string folder_of(const BenchOptions& options) {
  return options.engine == Engine::paired ? options.out : "";
}

std::filesystem::path file_in(const std::string& folder) {
  return std::filesystem::path(folder) / "measured.jsonl";
}

}  // namespace

Journal::Journal(const BenchOptions& options) {
  const std::string folder = folder_of(options);
  if (folder.empty()) return;
  file_ = file_in(folder);
  identity_ = identity_of(options);
  if (!options.resume || !has_whole_line(file_)) return;
  Results before = read_results(file_);
  if (to_json_line(before.run) != to_json_line(identity_))
    throw UsageError("--resume: " + file_.string() +
                     " was measured by another command, program or machine");
  resumed_ = std::move(before.timings);
  writer_ = std::make_unique<RecordWriter>(file_);
}

// The file is not made before there is a row to keep.
void Journal::write(const TimingRow& row) {
  if (file_.empty()) return;
  if (!writer_) {
    std::error_code error;
    std::filesystem::remove(file_, error);
    writer_ = std::make_unique<RecordWriter>(file_);
    writer_->write(identity_);
  }
  writer_->write(row);
}

void Journal::forget(const BenchOptions& options) {
  std::error_code error;
  if (const std::string folder = folder_of(options); !folder.empty())
    std::filesystem::remove(file_in(folder), error);
}

}  // namespace ropewalk::tools
