#include "tools/command/found_plugin.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/printable.h"
#include "harness/process/given_plugin.h"
#include "harness/worker/own_workers.h"

namespace ropewalk::tools {
using namespace harness;
namespace {

namespace fs = std::filesystem;

bool is_given(const WorkerOptions& given, const std::string& file) {
  std::error_code error;
  for (const std::string& plugin : given.plugins)
    if (fs::equivalent(given_plugin(plugin).file, file, error)) return true;
  return false;
}

std::vector<KernelFacts> kernels_of(const WorkerOptions& given, const std::string& plugin) {
  const auto listed = given.first_lists->find(plugin);
  if (listed != given.first_lists->end()) return listed->second;
  std::vector<KernelFacts> kernels = Worker(with_plugin_alone(given, plugin)).kernels();
  std::erase_if(kernels, [&](const KernelFacts& k) { return k.plugin != plugin; });
  return kernels;
}

// Why the plugin cannot be taken; empty: it can. A given plugin that cannot be loaded is another
// matter, of which the verb tells.
std::string fault_of(const WorkerOptions& given, const std::string& file) {
  std::vector<KernelFacts> found;
  try {
    found = kernels_of(given, file);
  } catch (const WorkerError& e) {
    return e.what();
  }
  for (const std::string& plugin : given.plugins) try {
      for (const KernelFacts& other : kernels_of(given, plugin))
        for (const KernelFacts& k : found)
          if (k.name == other.name)
            return fmt::format("plugin {}: a kernel named {} is in {} too", file, k.name, plugin);
    } catch (const WorkerError&) {
      continue;
    }
  return {};
}

bool worker_starts_without_plugins(const WorkerOptions& given) {
  try {
    Worker(with_plugin_alone(given, "")).kernels();
    return true;
  } catch (const WorkerError&) {
    return false;
  }
}

std::string look(const WorkerOptions& given, const std::string& name, const char* option) {
  const std::string file = file_beside_command(name);
  if (file.empty() || is_given(given, file)) return {};
  const std::string fault = fault_of(given, file);
  if (fault.empty()) return file;
  if (!worker_starts_without_plugins(given)) return {};  // the verb tells of that
  fmt::print(stderr, "ropewalk: SKIPPED: {} ({} leaves it out)\n", printable_start(fault, 1000),
             option);
  return {};
}

}  // namespace

std::string file_beside_command(const std::string& name) {
  const fs::path folder = fs::path(own_executable()).parent_path();
  std::error_code error;
  for (const fs::path& place : {folder, folder / ROPEWALK_PLUGIN_FOLDER}) {
    const fs::path file = place / name;
    if (fs::exists(file, error)) return file.lexically_normal().string();
  }
  return {};
}

std::string found_plugin(const WorkerOptions& given, const std::string& name, const char* option) {
  static std::map<std::string, std::string> found;
  const auto [known, is_new] = found.try_emplace(name);
  if (is_new) known->second = look(given, name, option);
  return known->second;
}

}  // namespace ropewalk::tools
