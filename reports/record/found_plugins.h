// The plugins that the command takes from beside itself, by their file names.
#pragma once
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

namespace ropewalk::report {

inline constexpr const char* cuda_plugin = "ropewalk_cuda.so";
inline constexpr std::array baseline_plugins = {"ropewalk_baselines_gcc.so",
                                                "ropewalk_baselines_clang.so"};

/// Whether the plugin of this path holds compiler baselines.
inline bool has_baselines(const std::filesystem::path& plugin) {
  return std::ranges::count(baseline_plugins, plugin.filename()) > 0;
}

/// As pages show a plugin: one that may have been found by its file name alone, since its folder is
/// that of the command and says nothing. Replay lines keep the path.
inline std::string shown_plugin(const std::filesystem::path& plugin) {
  const bool may_be_found = has_baselines(plugin) || plugin.filename() == cuda_plugin;
  return (may_be_found ? plugin.filename() : plugin).string();
}

}  // namespace ropewalk::report
