// Verbs about tensors and models from elsewhere. The package in Python does them: checking,
// identify, diff.py and vectors.py.
#include <fmt/format.h>

#include <filesystem>

#include "base/printable.h"
#include "benchmarks/configs/model_config.h"
#include "reports/document/document.h"
#include "reports/record/record.h"
#include "tools/command/session.h"
#include "tools/command/targets.h"
#include "tools/command/workload_choice.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
namespace {

// From a process in which code of others runs. The bounds hold also for what pads the cells.
report::Table foreign_table(const std::string& json) {
  report::Table out;
  auto cell = [cells = 0](const std::string& text) mutable {
    if (++cells > 10'000) throw BadFile("a table from another process: more than 10,000 cells");
    return printable_start(text, 4096);
  };
  const auto row = report::row_from<report::SaidRow>(json);
  for (const std::string& head : row.heads)
    out.columns.push_back({cell(head), !out.columns.empty()});
  for (const std::vector<std::string>& texts : row.rows)
    for (auto& to = out.rows.emplace_back().cells; const std::string& text : texts)
      to.emplace_back(cell(text));
  return out;
}

// Prints a row of channel.py.
void print_row(const std::string& key, const std::string& text) {
  if (key == "printed") return fmt::print("{}\n", printable(text));
  if (key == "note") return fmt::print("{}", terminal_text(report::Paragraph{report::Text(text)}));
  if (key == "table") return fmt::print("{}", terminal_text(foreign_table(text)));
  for (const char* other : {"import", "working", "end"})
    if (key == other) return;
  throw BadFile("a row from another process: unknown kind " + printable_start(key, 40));
}

// Prints the rows of a module's main(). Returns the exit code that it gives.
int print_python(const std::string& module, const std::vector<std::string>& words,
                 const std::string& file, const std::string& config = "") {
  if (!config.empty()) (void)bench::load_model_config(config, {});  // throws what is wrong with it
  int code = 1;
  run_python(file, module, words, [&](const std::string& key, const std::string& text) {
    print_row(key, text);
    if (key == "end") code = text == "0" ? 0 : text == "kernels" ? -1 : 1;
  });
  return code;
}

// Throws UsageError for a target that is no model. Returns the config.json of a folder; empty: the
// target is a function.
std::string config_of_target(const std::string& target) {
  namespace fs = std::filesystem;
  const auto [file, function] = parts_of(target);
  std::error_code error;
  if (fs::is_directory(target, error)) {
    const fs::path config = fs::path(target) / "config.json";
    if (fs::exists(config, error)) return config.string();
    throw UsageError(target + ": this folder has no config.json");
  }
  if (!fs::exists(file, error))
    throw UsageError(file + ": no such file or folder (check downloads nothing)");
  if (!file.ends_with(".py") || function.empty())
    throw UsageError(target +
                     ": neither a folder with a config.json nor FILE.py::FUNCTION, a function "
                     "that returns a model");
  return {};
}

}  // namespace

// Exit codes: 0 if no row fails that counts; else 1. The config that judges is read before the
// import of torch, which takes seconds.
int run(const CheckOptions& options) {
  const std::string own = config_of_target(options.target);
  const std::string& config = options.config.empty() ? own : options.config;
  if (!config.empty()) (void)bench::load_model_config(config, {.pairing = options.pairing});
  return print_python("checking",
                      {options.target, options.config, options.strict ? "strict" : "",
                       options.json ? "json" : "", options.pairing},
                      options.target);
}

int list_libraries() {
  return print_python("libraries", {}, "libraries");
}

// Exit codes: 0 if one rotation explains all, and is the config's; else 1.
int run(const IdentifyOptions& options) {
  return print_python("identify", {options.file, options.config, options.json ? "json" : ""},
                      options.file, options.config);
}

int run(const VectorsOptions& options) {
  const std::vector<std::string> words{"ask",           options.file,   options.dtype,
                                       options.pairing, options.config, options.shape};
  return print_python("vectors", words, options.file, options.config);
}

std::optional<int> diff_in_python(const DiffOptions& options) {
  const std::string config = options.configs.empty() ? "" : options.configs[0];
  const std::vector<std::string> words{options.targets[0], options.targets[1], config,
                                       fmt::format("{}", options.max_ulp),
                                       options.json ? "json" : ""};
  if (!options.svg.empty()) throw UsageError("--svg draws how two kernels part, and no files");
  (void)read_configs(options);  // by the words for what a config leaves out, too
  const int code = print_python("diff", words, "diff");
  return code < 0 ? std::nullopt : std::optional(code);
}

DumpCase case_of_dump(const std::string& file, const std::string& config) {
  if (!config.empty()) (void)bench::load_model_config(config, {});
  DumpCase out;
  run_python(file, "diff:case", {file, config},
             [&](const std::string& key, const std::string& text) {
               if (key == "case") out.inputs = text;
               if (key == "outputs") out.outputs = text;
             });
  return out;
}

int verify_answers(const std::string& file) {
  return print_python("vectors", {"judge", file}, file);
}

}  // namespace ropewalk::tools
