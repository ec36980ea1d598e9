#include "properties/search/judges.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "base/system/memory_limits.h"
#include "harness/worker/own_workers.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

// Several threads judge a kernel each. Delivers the rows of the next kernel at once. Rows of later
// kernels wait.
class InOrder {
 public:
  InOrder(std::size_t kernels, const std::function<void(const VerdictRow&)>& on_row)
      : on_row_(on_row), rows_(kernels), done_(kernels, false) {}

  void add(std::size_t place, const VerdictRow& row) {
    place == next_ ? deliver(row) : rows_[place].push_back(row);
  }
  void finish(std::size_t place) {
    done_[place] = true;
    while (next_ < done_.size() && done_[next_])
      if (++next_ < done_.size())
        for (const VerdictRow& row : std::exchange(rows_[next_], {})) deliver(row);
  }

 private:
  void deliver(const VerdictRow& row) {
    if (broken_) return;
    broken_ = true;  // if that throws
    on_row_(row);
    broken_ = false;
  }

  const std::function<void(const VerdictRow&)>& on_row_;
  std::vector<std::vector<VerdictRow>> rows_;
  std::vector<bool> done_;
  std::size_t next_ = 0;
  bool broken_ = false;
};

std::vector<KernelFacts> planned_kernels(std::vector<KernelFacts> all, const VerifyPlan& plan) {
  std::erase_if(all, [&](const KernelFacts& k) { return !matches(plan.kernels, k.name); });
  return all;
}

// Judges kernel after kernel, in some threads. Each thread has a worker and an oracle of its own,
// and the worker has only the kernel's plugin.
class Judge {
 public:
  Judge(const WorkerOptions& options, const PluginKernels& found, std::size_t threads)
      : threads_(threads), oracles_(threads) {
    for (std::size_t i = 0; i < threads_.count(); ++i) workers_.emplace_back(options, found);
  }

  void verify(const KernelFacts& kernel, const VerifyPlan& plan,
              const std::function<void(const VerdictRow&)>& on_row,
              const std::function<void(const std::string&)>& on_progress) {
    std::vector<Subject> subjects;
    for (std::size_t i = 0; i < threads_.count(); ++i)
      subjects.push_back({workers_[i].of(kernel), oracles_[i], kernel});
    verify_kernel(threads_, subjects, plan, on_row, on_progress);
  }

 private:
  JudgeThreads threads_;
  std::deque<OwnWorkers> workers_;
  std::deque<Oracle> oracles_;
};

}  // namespace

int usual_judges() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  // A judge with its worker took 525 MiB in the smoke profile, up to 256 of them for the oracle.
  constexpr std::int64_t bytes_of_a_judge = std::int64_t{640} << 20;
  const std::int64_t fit = memory_left().bytes / bytes_of_a_judge;
  return static_cast<int>(std::clamp<std::int64_t>(std::min<std::int64_t>(cores, fit), 1, 8));
}

void verify_with_judges(const WorkerOptions& options, const VerifyPlan& plan, int judges,
                        const std::function<void(const VerdictRow&)>& on_row,
                        const std::function<void(const std::string&)>& on_progress) {
  const PluginKernels found = kernels_by_plugin(options);
  const std::vector<KernelFacts> kernels = planned_kernels(found.kernels, plan);
  const auto counted = [&](std::size_t at) -> std::function<void(const std::string&)> {
    if (kernels.size() == 1) return on_progress;
    return [&, at](const std::string& what) {
      on_progress(fmt::format("kernel {} of {}, {}", at + 1, kernels.size(), what));
    };
  };
  // Threads share out the parts of a kernel. Of many kernels each takes one, so nobody waits.
  constexpr std::size_t many = 4;
  const auto count = static_cast<std::size_t>(std::max(judges, 1));
  if (count == 1 || kernels.size() < many * count) {
    Judge judge(options, found, count);
    for (std::size_t at = 0; at < kernels.size(); ++at)
      judge.verify(kernels[at], plan, on_row, counted(at));
    return;
  }
  JudgeThreads threads(count);
  std::deque<Judge> judge;
  for (std::size_t i = 0; i < count; ++i) judge.emplace_back(options, found, 1);
  std::mutex mutex;
  const auto alone = [&](const auto& call) {
    return [&](const auto& what) {
      const std::lock_guard lock(mutex);
      call(what);
    };
  };
  VerifyPlan shared = plan;
  if (plan.on_offer) shared.on_offer = alone(plan.on_offer);
  InOrder rows(kernels.size(), on_row);
  std::atomic<std::size_t> next = 0;
  threads.run([&](std::size_t i) {
    const std::shared_ptr<void> at_end(nullptr, [&](void*) { next = kernels.size(); });
    for (std::size_t at = next++; at < kernels.size(); at = next++) {
      const auto add = [&](const VerdictRow& row) { rows.add(at, row); };
      const auto show = counted(at);
      judge[i].verify(kernels[at], shared, alone(add), alone(show));
      const std::lock_guard lock(mutex);
      rows.finish(at);
    }
  });
}

}  // namespace ropewalk::properties
