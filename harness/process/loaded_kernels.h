// The kernels a worker has: the binary's own and those of plugins, checked as they are registered.
#pragma once
#include <string>
#include <vector>

#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

struct LoadedKernel {
  const rope_kernel* kernel;
  std::string plugin;      ///< as given; empty for an in-tree kernel
  std::string cannot_run;  ///< why not on this machine; empty when it can
};

/// What is said of a second kernel of one name. `plugin` brought the first; empty: the binary.
std::string name_is_taken(const std::string& kernel, const std::string& plugin);

/// The binary's own kernels by name. Throws std::runtime_error naming an ill-formed one.
std::vector<LoadedKernel> in_tree_kernels();

/// Opens a plugin and adds its kernels. Runs the plugin's constructors: only ever called in a
/// worker. Throws std::runtime_error: one line that names the file and what is wrong with it.
void load_plugin(std::vector<LoadedKernel>& kernels, const std::string& file);

}  // namespace ropewalk::harness
