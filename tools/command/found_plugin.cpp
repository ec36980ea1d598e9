#include "tools/command/found_plugin.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/printable.h"
#include "harness/worker/own_workers.h"

namespace ropewalk::tools {
using namespace harness;
namespace {

namespace fs = std::filesystem;

std::vector<KernelFacts> kernels_of(const WorkerOptions& given, const std::string& plugin) {
  const auto listed = given.first_lists->find(plugin);
  if (listed != given.first_lists->end()) return listed->second;
  std::vector<KernelFacts> kernels = Worker(with_plugin_alone(given, plugin)).kernels();
  std::erase_if(kernels, [&](const KernelFacts& k) { return k.plugin != plugin; });
  return kernels;
}

// Why the plugin cannot be taken; empty: it can. Throws WorkerError for a given plugin that cannot
// be loaded.
std::string fault_of(const WorkerOptions& given, const std::string& file) {
  std::vector<KernelFacts> found;
  try {
    found = kernels_of(given, file);
  } catch (const WorkerError& e) {
    return e.what();
  }
  for (const std::string& plugin : given.plugins)
    for (const KernelFacts& other : kernels_of(given, plugin))
      for (const KernelFacts& k : found)
        if (k.name == other.name)
          return fmt::format("plugin {}: a kernel named {} is in {} too", file, k.name, plugin);
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
  if (!is_new) return known->second;
  known->second = file_beside_command(name);
  const std::string fault = known->second.empty() ? "" : fault_of(given, known->second);
  if (fault.empty()) return known->second;
  fmt::print(stderr, "ropewalk: SKIPPED: {} ({} leaves it out)\n", printable_start(fault, 1000),
             option);
  return known->second = {};
}

}  // namespace ropewalk::tools
