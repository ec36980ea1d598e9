#include "harness/worker/own_executable.h"

#include <sys/auxv.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ropewalk::harness {

std::string own_executable() {
  std::error_code error;
  const auto link = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return link.string();
  // NOLINTNEXTLINE: the kernel hands the path over as an integer
  const auto* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return std::filesystem::absolute(path, error).string();
}

std::string worker_executable() {
  const char* instead = std::getenv("ROPEWALK_WORKER");
  return instead != nullptr ? instead : own_executable();
}

}  // namespace ropewalk::harness
