#include "harness/worker/interpreter.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "harness/process/script_host.h"

namespace ropewalk::harness {
namespace {

// The list LD_PRELOAD ends a path at a space or a colon. Such a file is named by its descriptor.
std::string preloadable(const std::string& file) {
  if (file.find_first_of(" :") == std::string::npos) return file;
  return "/proc/self/fd/" + std::to_string(open(file.c_str(), O_RDONLY));
}

}  // namespace

std::string become_interpreter(const WorkerArguments& arguments) {
  if (arguments.library.empty())
    return "cannot run Python files: this build has no libropewalk_worker.so (builds with a "
           "sanitizer leave it out)";
  const std::string interpreter = script_interpreter();
  const auto folder = std::filesystem::path(arguments.library).parent_path();
  std::vector<std::string> words{interpreter,
                                 "-u",  // else printed text would lie in a buffer past the watch
                                 (folder / "python/ropewalk/worker.py").string(),
                                 arguments.library,
                                 "--cpu-features",
                                 arguments.cpu_features,
                                 "--kept",
                                 "yes"};
  for (const auto& [plugin, tolerated] : arguments.plugins) {
    if (!tolerated.empty()) words.insert(words.end(), {"--tolerate", tolerated});
    words.insert(words.end(), {"--plugin", plugin});
  }
  if (arguments.with_device) words.insert(words.end(), {"--device", "cuda"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // A row is of one thread, and threads of a library's pool would be a finding.
  for (const char* pool : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC",
                           "TORCHINDUCTOR_COMPILE_THREADS"})
    setenv(pool, "1", 0);
  // The library's allocator comes first (heap_watch.h). worker.py gives the user's list back.
  const char* users = std::getenv("LD_PRELOAD");
  const std::string preloaded = preloadable(arguments.library);
  setenv("LD_PRELOAD", users == nullptr ? preloaded.c_str() : (preloaded + ":" + users).c_str(), 1);
  execvp(argv[0], argv.data());
  return "cannot start " + interpreter + ": " + strerror(errno);
}

}  // namespace ropewalk::harness
