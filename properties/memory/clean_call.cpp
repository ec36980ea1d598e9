// Clean call: apply allocates nothing, maps no memory, prints nothing, and runs no thread or
// process. No entry leaves a thread, a process or another state of the process behind. What the
// kernel declares as an exception (rope_kernel.h), or --tolerate names, is counted instead.
//
// No bound: the watches of the worker (harness/watch) see it or not. They watch the calls of all
// properties, as a path may allocate that only one of them takes. So this row ends its cell, and
// tells of the first call that was not clean.
//
// Kills by itself: allocates_table, maps_memory, prints, leaves_thread, leaves_child, joins_thread
// Kills by itself: changes_umask, leaves_alarm, leaves_cpp_locale, leaves_descriptor, pins_thread
// Kills by itself: leaves_handler_table, blocks_signal, changes_directory, changes_other_table
// Kills by itself: leaves_high_descriptor, leaves_locale, leaves_timer, lowers_priority
// Kills by itself: runs_process_beside, sets_variable, silences_stdout, waits_for_child
#include "harness/judge/executor.h"
#include "harness/process/exceptions.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  Subject watched = subject;
  watched.side_effects = std::make_shared<SideEffects>();
  const Execution execution = execute(watched, problem);
  subject.side_effects->add(*watched.side_effects);
  Finding f = failure_of(execution);
  if (f.kind != Finding::Kind::measured) return f;
  f.bound_unit = "calls";
  f.compared = 2;
  if (watched.side_effects->unclean.empty() || watched.side_effects->is_of_strides()) return f;
  f.kind = Finding::Kind::broken;
  f.compared = 0;
  f.reason = watched.side_effects->unclean;
  f.cause_ids = {exception_words(watched.side_effects->rules, 0)};
  return f;
}

std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  const Case narrow = with(offer.base, offer, "position_from=3");
  return {narrow, with(narrow, offer, "op=transpose; in_place=1")};
}

const Registered clean_call({
    .name = conduct_property,
    .place = {"memory", 5},
    .claim = "a call allocates, prints and runs nothing beside itself, and leaves nothing behind",
    .tells_once = true,
    .shape = any_case,
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
