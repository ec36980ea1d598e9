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
  constexpr const char* names[entries] = {"supports", "workspace_bytes", "prepare", "apply",
                                          "release"};
  return names[static_cast<int>(entry)];
}

void EntryWatch::begin(Entry which) {
  if (has_driver_) return;
  begin_heap_guard(entry_name(which));
  if (which != Entry::apply) return;
  process_.begin_alone();
  if (heap_is_watched()) begin_heap_watch();
}

// If an entry ended by an exception, only the exception is reported.
void EntryWatch::quiet() {
  end_heap_guard();
  heap_damage();  // so that the next kernel is not blamed
  end_heap_watch();
  output_.accept();
}

// What the process was left with is told once, and is usual from then on.
void EntryWatch::note(const Deeds& done, const Deeds& left) {
  const std::uint32_t allowed = kernel_ == nullptr ? 0 : kernel_->exceptions;
  std::string text = done.beyond(allowed);
  append(text, left.beyond(allowed));
  if (!text.empty() && conduct_.is_unclean == 0) {
    conduct_.is_unclean = 1;
    text.copy(conduct_.text, sizeof conduct_.text - 1);
  }
  if (left.empty()) return;
  if (process_.has_lost_wire()) throw StepFailed{protocol::Status::failed, left.beyond(0), true};
  conduct_.has_left = 1;
  process_.accept();
}

void EntryWatch::end(Entry which, bool is_one_call) {
  end_heap_guard();
  if (process_.is_copy()) _exit(0);  // a child process must not run the parent's code
  const std::string name = entry_name(which) + std::string(" ");
  Deeds done, left;
  std::uint64_t calls = 0;
  std::int64_t bytes = 0;
  if (which == Entry::apply && !has_driver_) {
    const std::string allocated = end_heap_watch();  // first, since the code below allocates
    calls = heap_calls();
    const Deeds ran = process_.end_alone();
    // Those of other plugins may have called the allocator.
    if (!process_.others_ran()) done.add(ROPE_ALLOCATES, allocated.empty() ? "" : name + allocated);
    done.add_all(name, ran);
    bytes = process_.mapped_bytes();
  }
  if (has_driver_ && script_host != nullptr) script_host->took(&calls, &bytes);
  if (which == Entry::apply && is_one_call) {
    ++conduct_.applies;
    conduct_.heap_calls += calls;
    conduct_.mapped_bytes += bytes;
  }
  std::string broken = heap_damage();
  if (may_print(which))
    output_.accept();
  else if (const std::string printed = output_.written(); !printed.empty())
    done.add(ROPE_PRINTS, name + printed);
  append(broken, memory_.left_changed());
  const std::string blamed = add_name(unwatched_, entry_name(which)) + " ";
  add_name(entered_, entry_name(which));
  int& compared = compared_in_full_[static_cast<int>(which)];
  const bool in_full = compared < always_in_full;
  const bool pure = which == Entry::supports || which == Entry::workspace_bytes;
  if (in_full || !pure) {
    unwatched_.clear();
    left.add_all(blamed, process_.quick_changes(!has_driver_));
  }
  if (in_full) {
    ++compared;
    left.add_all(blamed, process_.other_changes());
    entered_.clear();
  }
  note(done, left);
  if (!broken.empty()) throw StepFailed{protocol::Status::failed, name + broken};
  if (may_print(which)) memory_.wait_for_all(which == Entry::prepare ? "in prepare" : "in release");
}

void EntryWatch::end_state() {
  if (entered_.empty()) return;
  unwatched_.clear();
  Deeds left;
  left.add_all("one of the entries " + std::exchange(entered_, {}) + " ", process_.other_changes());
  note({}, left);
}

bool EntryWatch::left_changed(bool in_full) const {
  return !process_.quick_changes(!has_driver_).empty() ||
         (in_full && !process_.other_changes().empty());
}

}  // namespace ropewalk::harness
