#include "harness/watch/process_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>

#include "base/system/signal_name.h"
#include "harness/process/guarded_mapping.h"
#include "harness/process/keeper.h"
#include "harness/process/time_limits.h"
#include "harness/watch/heap_watch.h"

extern "C" char** environ;  // NOLINT: POSIX's own name

namespace ropewalk::harness {
namespace {

// Process 0 is the one that asks.
std::array<std::int64_t, trait_names.size()> process_traits(pid_t process) {
  sched_param parameters{};
  sched_getparam(process, &parameters);
  std::array<unsigned long, 1024> mask{};  // 65,536 processors
  const long bytes = syscall(SYS_sched_getaffinity, process, sizeof mask, mask.data());
  const std::string_view affinity(reinterpret_cast<const char*>(mask.data()),
                                  bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return {getpriority(PRIO_PROCESS, static_cast<id_t>(process)),
          sched_getscheduler(process) * 1000 + parameters.sched_priority,
          static_cast<std::int64_t>(std::hash<std::string_view>()(affinity))};
}

sigset_t signal_mask() {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

std::array<itimerval, 3> interval_timers() {
  std::array<itimerval, 3> out{};
  getitimer(ITIMER_REAL, out.data());
  getitimer(ITIMER_VIRTUAL, &out[1]);
  getitimer(ITIMER_PROF, &out[2]);
  return out;
}

// A running timer counts down.
bool same(const itimerval& a, const itimerval& b) {
  const auto runs = [](const itimerval& t) {
    return t.it_value.tv_sec != 0 || t.it_value.tv_usec != 0;
  };
  return runs(a) == runs(b) && a.it_interval.tv_sec == b.it_interval.tv_sec &&
         a.it_interval.tv_usec == b.it_interval.tv_usec;
}

std::string directory() {
  char path[4096];
  return getcwd(path, sizeof path) != nullptr ? path : "";
}

std::string locale_text() {
  const char* name = std::setlocale(LC_ALL, nullptr);
  return name != nullptr ? name : "";
}

mode_t file_mask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

std::int64_t cpu_time_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

std::int64_t stack_pages() {
  std::ifstream file("/proc/self/status");
  std::string word;
  std::int64_t kib = 0;
  while (file >> word)
    if (word == "VmStk:") {
      file >> kib;
      break;
    }
  return kib * 1024 / sysconf(_SC_PAGESIZE);
}

std::size_t environment_sum() {
  std::size_t sum = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    sum += std::hash<std::string_view>()(*entry);
  return sum;
}

template <class Bits>
void compare_descriptors(Deeds& deeds, const Bits& now, const Bits& then, std::size_t from,
                         std::size_t end) {
  for (std::size_t i = from; i < end; ++i)
    if (now[i] != then[i])
      deeds.add((now[i] ? "left descriptor " : "closed descriptor ") + std::to_string(i) +
                (now[i] ? " open" : ""));
}

}  // namespace

ProcessState::ProcessState() : process_(getpid()), children_of_keeper_(children_file_of_keeper()) {
  task_ = open("/proc/self/task", O_PATH | O_DIRECTORY | O_CLOEXEC);
  note();
}

void ProcessState::note() {
  mask_ = signal_mask();
  timers_ = interval_timers();
  locale_ = locale_text();
  thread_locale_ = uselocale(nullptr);
  directory_ = directory();
  posix_timers_ = posix_timers();
  umask_ = file_mask();
  threads_ = threads();
  tasks_ = loaded().tasks;
  tasks_alive_ = tasks_alive();
  has_children_ = has_children();
  if (has_children_) children_ = descendants();
  open_ = open_descriptors(descriptors_all);
  files_ = first_files();
  handlers_ = handlers();
  environment_ = environment();
  environment_sum_ = environment_sum();
  beside_ = processes_beside();
  stack_pages_ = stack_pages();
  traits_ = process_traits(0);
}

bool ProcessState::has_lost_wire() const {
  const auto now = first_files();
  return now[3].inode != files_[3].inode || now[4].inode != files_[4].inode;
}

void ProcessState::end_new_children() const {
  if (!has_children()) return;
  for (const pid_t child : descendants()) {
    if (std::ranges::find(children_, child) != children_.end()) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, __WALL);
  }
}

void ProcessState::accept() {
  end_new_children();
  const auto threads_before = threads_;
  note_left(loader_, kernel_);
  note();
  cpp_locale_ = std::locale();
  is_known_to_keep_ |= threads_ > threads_before;
}

ProcessState::~ProcessState() {
  if (task_ >= 0) close(task_);
}

// The number of links of /proc/self/task counts the tasks, plus two of the folder's own.
std::int64_t ProcessState::threads() const {
  struct stat s {};
  return task_ >= 0 && fstat(task_, &s) == 0 ? static_cast<std::int64_t>(s.st_nlink) - 2 : -1;
}

std::vector<std::int64_t> ProcessState::times_of_tasks() const {
  std::vector<std::int64_t> out;
  for (const Task& task : tasks_) out.push_back(cpu_time_ns(task));
  return out;
}

std::int64_t ProcessState::tasks_alive() const {
  return std::ranges::count_if(
      tasks_, [](const Task& task) { return !task.is_process && cpu_time_ns(task) >= 0; });
}

bool ProcessState::left_a_child() const {
  if (!has_children()) return false;
  if (!has_children_) return true;
  const std::vector<pid_t> now = descendants();
  return std::ranges::any_of(
      now, [&](pid_t child) { return std::ranges::find(children_, child) == children_.end(); });
}

ProcessState::Descriptors ProcessState::open_descriptors(int count) {
  pollfd asked[descriptors_all];
  for (int i = 0; i < count; ++i) asked[i] = {i, 0, 0};
  Descriptors out;
  if (poll(asked, static_cast<nfds_t>(count), 0) < 0) {
    rlimit limit{};  // poll refuses more than may be open
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(count))
      return out;
    count = static_cast<int>(limit.rlim_cur);
    if (poll(asked, static_cast<nfds_t>(count), 0) < 0) return out;
  }
  out.count = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < out.count; ++i) out.open[i] = (asked[i].revents & POLLNVAL) == 0;
  return out;
}

std::array<ProcessState::File, ProcessState::files> ProcessState::first_files() {
  std::array<File, files> out{};
  for (int i = 0; i < files; ++i) {
    struct stat s {};
    if (fstat(i, &s) == 0)
      out[static_cast<std::size_t>(i)] = {s.st_dev, s.st_ino, fcntl(i, F_GETFL)};
  }
  return out;
}

std::array<ProcessState::Handler, ProcessState::signals> ProcessState::handlers() {
  std::array<Handler, signals> out{};
  for (int i = 1; i < signals; ++i) {
    struct sigaction action {};
    if (sigaction(i, nullptr, &action) != 0) continue;
    // The C library sets a flag of its own whenever it sets a handler. Without a handler, flags do
    // not count.
    constexpr int restorer = 0x04000000;
    const bool handled = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    out[static_cast<std::size_t>(i)] = {reinterpret_cast<void*>(action.sa_sigaction),
                                        handled ? action.sa_flags & ~restorer : 0};
  }
  return out;
}

std::vector<std::string> ProcessState::environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    out.emplace_back(*entry);
  std::ranges::sort(out);
  return out;
}

std::string ProcessState::posix_timers() const {
  char text[1024];
  return std::string(posix_timers_file_.text(text));
}

int ProcessState::processes_beside() const {
  char text[4096];
  return processes_beside_worker(children_of_keeper_.text(text));
}

Deeds ProcessState::quick_changes(bool with_threads) const {
  Deeds deeds;
  const sigset_t mask = signal_mask();
  for (int i = 1; i < signals; ++i)
    if (sigismember(&mask, i) != sigismember(&mask_, i))
      deeds.add(fmt::format("left {} {}", signal_name(i),
                            sigismember(&mask, i) == 1 ? "blocked" : "no longer blocked"));
  const auto timers = interval_timers();
  constexpr const char* timer_names[] = {"ITIMER_REAL (alarm)", "ITIMER_VIRTUAL", "ITIMER_PROF"};
  for (std::size_t i = 0; i < timers.size(); ++i)
    if (!same(timers[i], timers_[i])) deeds.add(fmt::format("left {} changed", timer_names[i]));
  const Descriptors descriptors = open_descriptors(descriptors_low);
  compare_descriptors(deeds, descriptors.open, open_.open, 0,
                      std::min(descriptors.count, open_.count));
  if (const char* locale = std::setlocale(LC_ALL, nullptr); locale == nullptr || locale != locale_)
    deeds.add(fmt::format("left the locale changed: '{}' became '{}'", locale_, locale_text()));
  if (std::locale() != cpp_locale_) deeds.add("left std::locale() changed");
  if (uselocale(nullptr) != thread_locale_)
    deeds.add("left the thread's locale changed (uselocale)");
  if (const std::string now = directory(); now != directory_)
    deeds.add(fmt::format("left the working directory changed: {} became {}", directory_, now));
  if (const mode_t now = file_mask(); now != umask_)
    deeds.add(fmt::format("left the umask changed: {:03o} became {:03o}", umask_, now));
  // A thread that was joined may take a moment to end.
  const auto count_more = [&] { return threads() - tasks_alive() - (threads_ - tasks_alive_); };
  std::int64_t more = with_threads ? count_more() : 0;
  for (int wait = 0; more > 0 && wait < 100 && !is_known_to_keep_; ++wait) {
    usleep(1000);
    more = count_more();
  }
  if (more > 0)
    deeds.add(ROPE_KEEPS_THREADS,
              fmt::format("left {} more {} running", more, more == 1 ? "thread" : "threads"));
  if (left_a_child()) deeds.add("left a child process");
  return deeds;
}

Deeds ProcessState::other_changes() const {
  Deeds deeds;
  const auto handlers_now = handlers();
  for (int i = 1; i < signals; ++i)
    if (handlers_now[static_cast<std::size_t>(i)] != handlers_[static_cast<std::size_t>(i)])
      deeds.add(fmt::format("left {}'s handler changed", signal_name(i)));
  if (posix_timers() != posix_timers_) deeds.add("left the POSIX timers changed");
  const Descriptors descriptors = open_descriptors(descriptors_all);
  compare_descriptors(deeds, descriptors.open, open_.open, descriptors_low,
                      std::min(descriptors.count, open_.count));
  const auto files_now = first_files();
  for (std::size_t i = 0; i < files; ++i)
    if (files_now[i] != files_[i] && descriptors.open[i])
      deeds.add((files_now[i].inode == files_[i].inode ? "left other flags on descriptor "
                                                       : "put another file under descriptor ") +
                std::to_string(i));
  if (environment_sum() != environment_sum_) {
    const std::vector<std::string> environment_now = environment();
    std::vector<std::string> different{"a variable"};
    std::set_symmetric_difference(environment_now.begin(), environment_now.end(),
                                  environment_.begin(), environment_.end(),
                                  std::back_inserter(different));
    deeds.add(fmt::format("left the environment changed: {}",
                          different.back().substr(0, different.back().find('='))));
  }
  for (const Loaded::Table& table : loaded().tables)
    if (std::memcmp(table.registered, table.bytes.data(), table.bytes.size()) != 0)
      deeds.add(fmt::format("left the rope_kernel of {} changed", table.name));
  // Other processes change these too (renice, taskset, a cpuset), and then they change them for the
  // parent as well.
  const auto traits_now = process_traits(0);
  for (std::size_t i = 0; i < traits_now.size(); ++i)
    if (traits_now[i] != traits_[i] && process_traits(getppid())[i] != traits_now[i])
      deeds.add(fmt::format("left the {} changed", trait_names[i]));
  if (processes_beside() > beside_) deeds.add("ran a process beside the worker's");
  return deeds;
}

// The clocks cannot be read at one instant, so the time of other threads lies between two bounds.
// The noted tasks are compared one by one, and this time leaves them out.
ProcessState::Usage ProcessState::usage() const {
  Usage u{};
  const auto known = [&] {
    std::int64_t sum = cpu_time_ns(CLOCK_THREAD_CPUTIME_ID);
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (!tasks_[i].is_process) sum += std::max<std::int64_t>(u.tasks[i], 0);
    return sum;
  };
  u.tasks = times_of_tasks();
  const std::int64_t before = known();
  const std::int64_t all = cpu_time_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (!tasks_.empty()) u.tasks = times_of_tasks();
  const std::int64_t after = known();
  u.other_low_ns = all - after;
  u.other_high_ns = all - before;
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  u.children = children.ru_minflt + children.ru_utime.tv_usec + children.ru_stime.tv_usec +
               children.ru_utime.tv_sec + children.ru_stime.tv_sec;
  u.threads = threads();
  u.pages = -1;
#if !defined(ROPEWALK_SANITIZED)
  char text[128];
  const std::string_view told = memory_.text(text);
  std::from_chars(told.data(), told.data() + told.size(), u.pages);
#endif
  return u;
}

// A thread that served prepare may be on its way back to sleep. One that does not rest is waited
// for only once, and counts as running in every later apply. The limit is CPU time.
void ProcessState::wait_for_rest() {
  constexpr std::int64_t most_ns = 10'000'000;
  for (Task& task : tasks_) {
    const std::int64_t begun_ns = cpu_time_ns(task);
    while (task.loader == loader_ && !task.restless && is_runnable(task.id)) {
      usleep(1000);
      task.restless = cpu_time_ns(task) - begun_ns > most_ns;
    }
  }
}

void ProcessState::about(const rope_kernel* kernel) {
  kernel_ = kernel;
  loader_ = loader_of(kernel);
  is_known_to_keep_ = kernel != nullptr && (kernel->exceptions & ROPE_KEEPS_THREADS) != 0;
}

void ProcessState::begin_alone() {
  others_ran_ = false;
  if (!is_known_to_keep_) wait_for_rest();
  begun_ = usage();
}

void ProcessState::add_tasks_that_ran(const Usage& now, Deeds& to) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    std::int64_t ran_ns = now.tasks[i];
    const bool own = is_charged_to(kernel_, tasks_[i]), is_process = tasks_[i].is_process;
    if (own && is_process) {  // its time is written down when it rests
      usleep(1000);
      ran_ns = cpu_time_ns(tasks_[i]);
    }
    const bool ran = ran_ns != begun_.tasks[i];  // an ended task has another time as well
    if (!ran && !(own && tasks_[i].restless)) continue;
    if (!own)
      others_ran_ = true;
    else
      to.add(
          is_process ? 0u : ROPE_USES_THREADS | ROPE_KEEPS_THREADS,
          fmt::format("ran a {} that its plugin began", is_process ? "child process" : "thread"));
  }
}

Deeds ProcessState::end_alone() {
  Deeds deeds;
  const Usage now = usage();
  if (now.children != begun_.children) deeds.add("ran a child process");
  add_tasks_that_ran(now, deeds);
  mapped_bytes_ = (now.pages - begun_.pages) * static_cast<std::int64_t>(page_bytes());
  // An emulator, a sanitizer and a crew of callers run other threads, too.
  if (threads_ - tasks_alive_ != 1 || others_ran_) return deeds;
  if (now.other_low_ns > begun_.other_high_ns)
    deeds.add(ROPE_USES_THREADS | (now.threads > begun_.threads ? 1u * ROPE_KEEPS_THREADS : 0u),
              "ran another thread");
  if (now.pages == begun_.pages) return deeds;
  // Deep calls grow the stack, which is no allocation. The loader maps a large thread_local once.
  const std::int64_t stack = stack_pages(), grown = now.pages - begun_.pages;
  if (stack == stack_pages_ && !loader_has_allocated() && grown_++ > 0)
    deeds.add(ROPE_ALLOCATES, fmt::format("{} {} pages of memory",
                                          grown > 0 ? "mapped" : "unmapped", std::abs(grown)));
  stack_pages_ = stack;
  return deeds;
}

}  // namespace ropewalk::harness
