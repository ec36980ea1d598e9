#include "tools/command/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "tools/command/session.h"

namespace ropewalk::tools {
namespace {

namespace fs = std::filesystem;

// The folder to which a verb writes; empty: none.
template <class Options>
fs::path folder_of(const Options& options) {
  if constexpr (requires { options.results_file; }) {
    if (!options.out.empty()) return options.out;
    const fs::path file = fs::absolute(options.results_file);  // the report lies beside it
    return fs::exists(file) ? file.parent_path() : "";
  } else if constexpr (requires { options.out; }) {
    return options.out;
  } else {
    return {};
  }
}

}  // namespace

FolderLock::FolderLock(const VerbOptions& options)
    : folder_(std::visit([](const auto& o) { return folder_of(o); }, options)) {
  if (folder_.empty()) return;
  std::error_code error;
  is_new_ = fs::create_directories(folder_, error);
  if (error)
    throw UsageError("cannot make the folder " + folder_.string() + ": " + error.message());
  descriptor_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) return;  // a file in its place, of which the verb tells
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK)
    throw UsageError(folder_.string() +
                     ": another run writes there; wait until it ends, or give this run a folder of "
                     "its own with --out");
  fmt::print(stderr, "ropewalk: {} cannot be locked ({}): do not let another run write there\n",
             folder_.string(), std::generic_category().message(errno));
}

FolderLock::~FolderLock() {
  std::error_code error;
  if (is_new_) fs::remove(folder_, error);  // removes an empty folder only
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace ropewalk::tools
