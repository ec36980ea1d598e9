// The command: picks the verb, turns errors into one line and an exit code.
#include <malloc.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>

#include "tools/options.h"
#include "tools/verbs.h"

namespace ropewalk {
namespace {

// The hidden verb: how a parent starts its workers (docs/worker-protocol.md).
WorkerArguments worker_arguments(int argc, char** argv) {
  WorkerArguments arguments;
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--plugin") == 0) arguments.plugins.emplace_back(argv[i + 1]);
    if (std::strcmp(argv[i], "--cpu-features") == 0) arguments.cpu_features = argv[i + 1];
  }
  return arguments;
}

int run_verb(const Options& options) {
  static const std::map<std::string, int (*)(const Options&)> verbs = {
      {"list", run_list},       {"verify", run_verify}, {"replay", run_replay},
      {"mutants", run_mutants}, {"bench", run_bench},   {"report", run_report},
      {"run", run_everything},
  };
  try {
    return verbs.at(options.verb)(options);
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "ropewalk: %s\n", e.what());
    return 2;
  }
}

}  // namespace
}  // namespace ropewalk

int main(int argc, char** argv) {
  using namespace ropewalk;
  // Buffers of a few megabytes come and go with every case: keep them rather than fault them in.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  if (argc > 1 && std::strcmp(argv[1], "worker") == 0)
    worker_main(worker_arguments(argc, argv), timing_handler());
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, not a way to die
  const Parsed parsed = parse_command_line(argc, argv);
  int code = parsed.run ? run_verb(parsed.options) : parsed.exit_code;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fputs("ropewalk: standard output cannot be written\n", stderr);
    code = 2;
  }
  return code;
}
