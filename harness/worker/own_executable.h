// Finds the program from which a worker is started.
#pragma once
#include <sys/auxv.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace ropewalk::harness {

/// The path of the running program. It is found even if /proc is not mounted.
inline std::string own_executable() {
  std::error_code error;
  const auto link = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return link.string();
  // NOLINTNEXTLINE: the kernel hands the path over as an integer
  const auto* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return std::filesystem::absolute(path, error).string();
}

/// The program to start as a worker: this program, or the value of ROPEWALK_WORKER in the
/// environment (for an emulator's wrapper).
inline std::string worker_executable() {
  const char* instead = std::getenv("ROPEWALK_WORKER");
  return instead != nullptr ? instead : own_executable();
}

}  // namespace ropewalk::harness
