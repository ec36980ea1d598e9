#include "tools/command/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/system/descriptor.h"
#include "tools/command/session.h"

namespace ropewalk::tools {
namespace {

namespace fs = std::filesystem;

// A killed run's last child may hold the lock until it has become a worker.
constexpr auto patience = std::chrono::seconds(1);
constexpr auto between_tries = std::chrono::milliseconds(20);

// Descriptors that a forked child must close, because a judge may outlive a killed parent for a
// moment.
std::vector<int>& held() {
  static std::vector<int> descriptors;
  return descriptors;
}

void close_in_child() {
  for (const int descriptor : held()) close(descriptor);
  held().clear();
}

int try_for_a_while(int descriptor) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > end) return errno;
    std::this_thread::sleep_for(between_tries);
  }
  return 0;
}

struct OutputFolder {
  fs::path path;  // empty: the verb writes to no folder
  bool may_be_made = true;
};

template <class Options>
OutputFolder folder_of(const Options& options) {
  if constexpr (requires { options.out; })
    return {options.out};
  else
    return {};
}

// The folder of the given results exists already.
OutputFolder folder_of(const ReportOptions& options) {
  if (!options.out.empty()) return {options.out};
  const fs::path folder = fs::path(options.results_file).parent_path();
  return {folder.empty() ? "." : folder, false};
}

// Removes what a kill left of a file that was being written whole (reports/record/record_file.h).
// Only a run that has locked the folder can tell that no other process is writing the file.
void remove_unfinished_files(const fs::path& folder) {
  constexpr std::string_view mark = ".part-";
  constexpr std::array<std::string_view, 6> names = {"report.html",       "report.md",
                                                     "results.csv",       "junit.xml",
                                                     "certificate.jsonl", "certificate.md"};
  std::error_code error;
  std::vector<fs::path> unfinished;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    const std::size_t end = file.rfind(mark);
    if (end != std::string::npos &&
        std::find(names.begin(), names.end(), file.substr(0, end)) != names.end())
      unfinished.push_back(entry.path());
  }
  for (const fs::path& file : unfinished) fs::remove(file, error);
}

}  // namespace

FolderLock::FolderLock(const VerbOptions& options) {
  const OutputFolder folder = std::visit([](const auto& o) { return folder_of(o); }, options);
  folder_ = folder.path;
  if (folder_.empty()) return;
  std::error_code error;
  if (folder.may_be_made) is_new_ = fs::create_directories(folder_, error);
  if (error)
    throw UsageError("cannot make the folder " + folder_.string() + ": " + error.message());
  if (fs::is_directory(folder_, error)) lock();
}

FolderLock::~FolderLock() {
  std::error_code error;
  if (is_new_) fs::remove(folder_, error);  // removes an empty folder only
  if (descriptor_ < 0) return;
  std::erase(held(), descriptor_);
  close(descriptor_);
}

void FolderLock::lock() {
  Descriptor folder{open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  const int error = folder.is_open() ? try_for_a_while(folder.number()) : errno;
  if (error == 0) {
    [[maybe_unused]] static const int once = pthread_atfork(nullptr, nullptr, close_in_child);
    descriptor_ = folder.release();
    held().push_back(descriptor_);
    return remove_unfinished_files(folder_);
  }
  if (error == EWOULDBLOCK)
    throw UsageError(folder_.string() +
                     ": another run writes there; wait until it ends, or give this run a folder of "
                     "its own with --out");
  fmt::print(stderr, "ropewalk: {} cannot be locked ({}): do not let another run write there\n",
             folder_.string(), std::generic_category().message(error));
}

}  // namespace ropewalk::tools
