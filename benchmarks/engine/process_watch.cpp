#include "benchmarks/engine/process_watch.h"

#include <unistd.h>

#include <stdexcept>

namespace ropewalk::bench {
using namespace harness;
namespace {

void append(std::string& to, const std::string& text) {
  if (!text.empty()) to += (to.empty() ? "" : "; ") + text;
}

}  // namespace

void ProcessWatch::begin(const rope_kernel* kernel) {
  if (has_driver_) return;
  may_allocate_ = kernel != nullptr && (kernel->flags & ROPE_INTERPRETED) != 0;
  state_.begin_alone(kernel);
  if (heap_is_watched()) begin_heap_watch();
}

void ProcessWatch::end(bool refused) {
  if (has_driver_) return compare("", "");
  std::string seen = end_heap_watch();  // first, since the code below allocates
  const std::string ran = state_.end_alone();
  if (refused || may_allocate_ || state_.others_ran()) seen.clear();
  append(seen, ran);
  compare("", seen);
}

void ProcessWatch::check(const std::string& entry) {
  compare(entry + " ", "");
}

void ProcessWatch::check_printing(const std::string& entry) {
  output_.accept();
  compare(entry + " ", "");
}

void ProcessWatch::compare(const std::string& what_ran, const std::string& seen) {
  if (state_.is_copy()) _exit(0);  // a forked child must not go on as its parent does
  std::string changed = seen;
  append(changed, state_.quick_changes(!has_driver_));
  append(changed, state_.other_changes());
  append(changed, output_.written());
  if (!changed.empty()) throw std::runtime_error(what_ran + changed);
}

}  // namespace ropewalk::bench
