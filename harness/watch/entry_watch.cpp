#include "harness/watch/entry_watch.h"

#include <unistd.h>

#include "harness/watch/heap_guard.h"
#include "harness/watch/heap_watch.h"

namespace ropewalk::harness {
namespace {

// A full comparison takes about 20 us, a quick one 3 us. A worker makes a full comparison after the
// first calls of each entry, which names the culprit. From then on it makes a quick one after
// prepare, apply and release, and a full one once a state.
constexpr int always_in_full = 8;

void append(std::string& to, const std::string& text) {
  if (!text.empty()) to += (to.empty() ? "" : "; ") + text;
}

// Adds a name to a list of entries. Returns which entry a change is blamed on: "apply", or one of
// several.
std::string add_name(std::string& list, const std::string& name) {
  if (list.find(name) == std::string::npos) list += (list.empty() ? "" : ", ") + name;
  return list == name ? name : "one of the entries " + list;
}

// Pure entries and apply must print nothing; prepare and release may print.
bool may_print(Entry which) {
  return which == Entry::prepare || which == Entry::release;
}

}  // namespace

const char* entry_name(Entry entry) {
  switch (entry) {
    case Entry::supports:
      return "supports";
    case Entry::workspace_bytes:
      return "workspace_bytes";
    case Entry::prepare:
      return "prepare";
    case Entry::apply:
      return "apply";
    case Entry::release:
      return "release";
  }
  __builtin_unreachable();
}

void EntryWatch::begin(Entry which) {
  if (has_driver_) return;
  begin_heap_guard(entry_name(which));
  if (which != Entry::apply) return;
  process_.begin_alone(kernel_);
  const bool allocates = kernel_ != nullptr && (kernel_->flags & ROPE_INTERPRETED) != 0;
  if (heap_is_watched() && !allocates) begin_heap_watch();
}

// If an entry ended by an exception, only the exception is reported.
void EntryWatch::quiet() {
  end_heap_guard();
  heap_damage();  // so that the next kernel is not blamed
  end_heap_watch();
  output_.accept();
}

void EntryWatch::end(Entry which) {
  end_heap_guard();
  std::string broken;  // errors that do not outlast the call
  if (which == Entry::apply && !has_driver_) {
    broken = end_heap_watch();
    const std::string ran = process_.end_alone();
    if (process_.others_ran()) broken.clear();  // those others may have called the allocator
    append(broken, ran);
  }
  if (process_.is_copy()) _exit(0);  // a child process must not run the parent's code
  append(broken, heap_damage());
  if (may_print(which)) {
    output_.accept();
  } else {
    append(broken, output_.written());
  }
  append(broken, memory_.left_changed());
  const std::string name = entry_name(which);
  const std::string blamed = add_name(unwatched_, name);
  add_name(entered_, name);
  int& done = compared_in_full_[static_cast<int>(which)];
  const bool in_full = done < always_in_full;
  if (!broken.empty()) broken = name + " " + broken;
  const bool pure = which == Entry::supports || which == Entry::workspace_bytes;
  if (!in_full && pure) {
    if (!broken.empty()) throw StepFailed{protocol::Status::failed, broken};
    return;
  }
  unwatched_.clear();
  std::string left = process_.quick_changes(!has_driver_);
  if (in_full) {
    ++done;
    append(left, process_.other_changes());
    entered_.clear();
  }
  const bool spoiled = !left.empty();
  if (spoiled) append(broken, blamed + " " + left);
  if (!broken.empty()) throw StepFailed{protocol::Status::failed, broken, spoiled};
}

void EntryWatch::end_state() {
  if (entered_.empty()) return;
  unwatched_.clear();
  const std::string suspects = std::exchange(entered_, {});
  if (const std::string left = process_.other_changes(); !left.empty())
    throw StepFailed{protocol::Status::failed, "one of the entries " + suspects + " " + left, true};
}

bool EntryWatch::left_changed(bool in_full) const {
  return !process_.quick_changes(!has_driver_).empty() ||
         (in_full && !process_.other_changes().empty());
}

}  // namespace ropewalk::harness
