#include "benchmarks/engine/epochs.h"

#include <sys/resource.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace ropewalk::bench {
using namespace harness;
void ProcessWatch::about(const rope_kernel* kernel) {
  allowed_ = kernel == nullptr ? 0 : kernel->exceptions;
  state_.about(kernel);
}

void ProcessWatch::begin() {
  if (has_driver_) return;
  state_.begin_alone();
  count(-1);
  if (heap_is_watched()) begin_heap_watch();
}

void ProcessWatch::end(bool refused) {
  if (has_driver_) return compare("", {});
  const std::string allocated = end_heap_watch();  // first, since the code below allocates
  count(1);
  Deeds done = state_.end_alone();
  if (!refused && !state_.others_ran()) done.add(ROPE_ALLOCATES, allocated);
  compare("", std::move(done));
}

// Taken from what the counters of the process say at the end, and before at the begin.
void ProcessWatch::count(int sign) {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  if (sign < 0) faults_ = switches_ = 0;
  faults_ += sign * (u.ru_minflt + u.ru_majflt);
  switches_ += sign * (u.ru_nvcsw + u.ru_nivcsw);
}

void ProcessWatch::check(const std::string& entry) {
  compare(entry + " ", {});
}

void ProcessWatch::check_printing(const std::string& entry) {
  output_.accept();
  compare(entry + " ", {});
}

void ProcessWatch::compare(const std::string& what_ran, Deeds done) {
  if (state_.is_copy()) _exit(0);  // a forked child must not go on as its parent does
  Deeds left = state_.quick_changes(!has_driver_);
  left.add_all("", state_.other_changes());
  const bool has_left = !left.empty();
  done.add_all("", left);
  done.add(ROPE_PRINTS, output_.written());
  const std::string changed = done.beyond(allowed_);
  if (!changed.empty()) throw std::runtime_error(what_ran + changed);
  if (has_left) state_.accept();
}

}  // namespace ropewalk::bench
