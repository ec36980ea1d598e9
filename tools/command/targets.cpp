#include "tools/command/targets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/glob.h"
#include "base/text_file.h"
#include "harness/process/given_plugin.h"
#include "harness/worker/own_workers.h"
#include "tools/command/session.h"

namespace ropewalk::tools {
using namespace harness;
namespace {

void refuse_source(const std::string& file) {
  for (const auto& [suffix, compiler] :
       {std::pair{".cpp", "g++ -std=c++20 -O3 -ffp-contract=off -fPIC"},
        {".c", "gcc -O3 -ffp-contract=off -fPIC"},
        {".cu", "nvcc -std=c++20 -O3 -Xcompiler -fPIC"}})
    if (file.ends_with(suffix))
      throw UsageError(
          fmt::format("{} is source code; make a shared library of it, for example: "
                      "{} -shared -I\"$(ropewalk include-dir)\" {} -o my_kernel.so",
                      file, compiler, file));
}

}  // namespace

TargetParts parts_of(const std::string& target) {
  const std::size_t at = target.rfind("::");
  if (at == std::string::npos) return {target, ""};
  return {target.substr(0, at), target.substr(at + 2)};
}

std::string library_file(const std::string& name) {
  for (const char* folder : {"python/ropewalk/libraries/", "libraries/"})  // of a wheel
    if (const std::string file = file_beside_command(folder + name + ".py"); !file.empty())
      return file;
  return {};
}

bool has_providers(const std::string& target) {
  const std::string file = parts_of(target).file;
  if (file.ends_with(".safetensors")) return true;  // answers to the questions of vectors
  if (is_file_target(target))
    return file.ends_with(".py") && std::filesystem::exists(file) &&
           read_text_file(file).find("ropewalk.provider(") != std::string::npos;
  return file.starts_with('_') ? false : !library_file(file).empty();
}

std::string plugin_of(const std::string& target) {
  const std::string file = parts_of(target).file;
  return is_file_target(target) ? file : library_file(file);
}

bool is_file_target(const std::string& target) {
  return parts_of(target).file.find_first_of("/.") != std::string::npos;
}

void take_targets(KernelChoice& choice, const std::vector<std::string>& beside, bool provides) {
  if (choice.targets.empty()) return;
  std::vector<TargetParts> files;
  for (const std::string& target : choice.targets) {
    const bool has = has_providers(target);
    if (has && provides) {
      choice.provided.push_back(target);
      continue;
    }
    if (!has && !is_file_target(target)) {
      choice.kernels.push_back(target);
      continue;
    }
    files.push_back(parts_of(target));
    if (has) files.back().file = plugin_of(target);
    const std::string& file = files.back().file;
    refuse_source(file);
    choice.files.push_back(file);
    if (std::ranges::count(choice.plugins, file) == 0) choice.plugins.push_back(file);
  }
  choice.targets.clear();
  if (choice.kernels.empty() && files.empty()) return;  // all of them have providers
  if (choice.kernels.empty()) choice.no_cuda = true, choice.baselines = false;  // nothing of theirs
  Progress progress(false);
  if (!files.empty()) progress.show("loads " + files.front().file);
  const std::vector<KernelFacts> kernels = kernels_by_plugin(worker_options(choice)).kernels;
  for (const TargetParts& target : files) {
    std::vector<std::string> all, chosen;
    for (const KernelFacts& k : kernels)
      if (k.plugin == target.file) {
        all.push_back(k.name);
        if (target.kernel.empty() ||
            glob_matches(given_plugin(target.file).prefix + target.kernel, k.name))
          chosen.push_back(k.name);
      }
    if (chosen.empty() && !all.empty())
      throw UsageError(fmt::format("{} has no kernel {}: it has {}", target.file, target.kernel,
                                   fmt::join(all, ", ")));
    choice.kernels.insert(choice.kernels.end(), chosen.begin(), chosen.end());
  }
  if (choice.kernels.empty()) throw UsageError("no target could be loaded");  // empty means all
  for (const std::string& name : beside)
    for (const KernelFacts& k : kernels)
      if (k.name == name) choice.kernels.push_back(name);
}

}  // namespace ropewalk::tools
