#include <fmt/format.h>

#include <filesystem>

#include "tools/command/session.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {

// In a build tree and a wheel, else in an installation.
int run(const IncludeDirOptions&) {
  for (const char* name : {"include/kernels", "../include/ropewalk/kernels"})
    if (const std::string found = file_beside_command(name); !found.empty()) {
      fmt::print("{}\n", std::filesystem::path(found).parent_path().string());
      return 0;
    }
  throw UsageError("no headers lie beside the command");
}

}  // namespace ropewalk::tools
