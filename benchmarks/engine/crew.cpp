#include "benchmarks/engine/crew.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "benchmarks/machine/environment.h"
#include "reference/frequencies.h"

namespace ropewalk::bench {
namespace {

double seconds_on(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void pin(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : processors) CPU_SET(static_cast<unsigned>(cpu), &set);
  sched_setaffinity(0, sizeof set, &set);
}

/// Gives the same text for all threads of a core.
std::string core_of(int cpu, const SystemFiles& files) {
  const std::string siblings = files.first_line(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
  return siblings.empty() ? std::to_string(cpu) : siblings;
}

}  // namespace

std::vector<int> processors_for(int threads, const std::vector<int>& allowed,
                                const SystemFiles& files) {
  if (threads < 1 || static_cast<std::size_t>(threads) > allowed.size()) return {};
  std::map<std::string, int> used;  // threads used of each core
  std::vector<std::pair<int, int>> by_turn;
  for (const int cpu : allowed) by_turn.emplace_back(used[core_of(cpu, files)]++, cpu);
  std::ranges::sort(by_turn);
  std::vector<int> out;
  for (int i = 0; i < threads; ++i) out.push_back(by_turn[static_cast<std::size_t>(i)].second);
  return out;
}

std::string processors_text(const std::vector<int>& processors, const SystemFiles& files) {
  std::vector<std::pair<std::string, std::string>> cores;  // in the order of their first processor
  for (const int cpu : processors) {
    const std::string core = core_of(cpu, files);
    const auto found =
        std::ranges::find_if(cores, [&](const auto& known) { return known.first == core; });
    if (found == cores.end())
      cores.emplace_back(core, std::to_string(cpu));
    else
      found->second += "+" + std::to_string(cpu);
  }
  std::string out;
  for (const auto& [core, text] : cores) out += (out.empty() ? "" : ",") + text;
  return out;
}

Crew::Crew(std::vector<int> processors)
    : processors_(std::move(processors)),
      times_(std::max<std::size_t>(processors_.size(), 1)),
      began_s_(times_.size()),
      ended_s_(times_.size()),
      gate_(static_cast<std::ptrdiff_t>(times_.size())) {
  if (processors_.empty()) return;
  before_ = allowed_cpus();
  first_ = {processors_.front()};
  pin(first_);
  for (int member = 1; member < size(); ++member)
    threads_.emplace_back([this, member] { work(member); });
}

Crew::~Crew() {
  if (processors_.empty()) return;
  task_ = nullptr;
  gate_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
  pin(before_);
}

void Crew::work(int member) {
  pin({processors_[static_cast<std::size_t>(member)]});
  for (;;) {
    gate_.arrive_and_wait();
    if (task_ == nullptr) break;
    take_part(member);
    gate_.arrive_and_wait();
  }
  free_thread_caches();  // a set's data may have been made on this thread
}

// A barrier releases its threads one after the other. A thread that spins starts at once.
void Crew::take_part(int member) {
  const auto i = static_cast<std::size_t>(member);
  if (waiting_.fetch_add(1) + 1 < size())
    while (waiting_.load(std::memory_order_acquire) < size()) {
    }
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  const double cpu_before_s = seconds_on(CLOCK_THREAD_CPUTIME_ID);
  began_s_[i] = seconds_on(CLOCK_MONOTONIC);
  (*task_)(member);
  ended_s_[i] = seconds_on(CLOCK_MONOTONIC);
  times_[i].cpu_s = seconds_on(CLOCK_THREAD_CPUTIME_ID) - cpu_before_s;
  getrusage(RUSAGE_THREAD, &after);
  times_[i].involuntary_switches = after.ru_nivcsw - before.ru_nivcsw;
}

Crew::Time Crew::run_alone(const std::function<void()>& task) {
  if (!processors_.empty()) pin(processors_);
  Time time;
  const double began_s = seconds_on(CLOCK_MONOTONIC);
  task();
  time.wall_s = seconds_on(CLOCK_MONOTONIC) - began_s;
  if (!processors_.empty()) pin(first_);
  return time;
}

Crew::Time Crew::run(const std::function<void(int)>& task) {
  task_ = &task;
  waiting_ = 0;
  gate_.arrive_and_wait();
  take_part(0);
  gate_.arrive_and_wait();
  Time sum;
  for (const Time& time : times_) {
    sum.cpu_s += time.cpu_s;
    sum.involuntary_switches += time.involuntary_switches;
  }
  sum.wall_s = *std::ranges::max_element(ended_s_) - *std::ranges::min_element(began_s_);
  return sum;
}

}  // namespace ropewalk::bench
