// The kernels of a worker: the binary's own and those of plugins. Each is checked when it is
// registered.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

struct LoadedKernel {
  /// A plugin's is a copy, in this header's size, with the prefix before its name. Its `exceptions`
  /// include those that its flags stand for, and those that are tolerated.
  const rope_kernel* kernel;
  const rope_kernel* registered;  ///< as it lies in the plugin; may be of an older header
  std::string plugin;             ///< as given to --plugin; empty for an in-tree kernel
  /// the reason on this machine; empty if the kernel can run. Kernels of a device can run only
  /// after a device was opened (harness/device).
  std::string cannot_run;
  std::uint32_t tolerated = 0;  ///< exceptions that the kernel does not declare
};

/// The message about a second kernel of the same name. `plugin` brought the first kernel; empty:
/// the binary did.
std::string name_is_taken(const std::string& kernel, const std::string& plugin);

/// The binary's own kernels, sorted by name. Throws std::runtime_error that names an ill-formed
/// kernel.
std::vector<LoadedKernel> in_tree_kernels();

/// Opens a plugin and adds its kernels. This runs the plugin's constructors, so only a worker may
/// call it. `plugin` is as given to --plugin (given_plugin.h). Throws std::runtime_error: one line
/// that names it and says what is wrong with it.
/// `tolerated`: exceptions (rope_kernel.h) that its kernels may make without declaring them.
void load_plugin(std::vector<LoadedKernel>& kernels, const std::string& plugin,
                 std::uint32_t tolerated);

}  // namespace ropewalk::harness
