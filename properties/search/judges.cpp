#include "properties/search/judges.h"

#include <sched.h>

#include <algorithm>
#include <memory>

#include "base/system/memory_limits.h"
#include "harness/worker/own_workers.h"
#include "properties/search/share_out.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

// The first letter of a line that a judge of kernels sends.
constexpr char row_line = 'r', offer_line = 'o', progress_line = 'p';

// Delivers the rows of the next kernel at once. Rows of later kernels wait.
class InOrder {
 public:
  InOrder(std::size_t kernels, const std::function<void(const VerdictRow&)>& on_row)
      : on_row_(on_row), rows_(kernels), done_(kernels, false) {}

  void add(std::size_t place, const VerdictRow& row) {
    if (place == next_) return on_row_(row);
    rows_[place].push_back(row);
  }
  void finish(std::size_t place) {
    done_[place] = true;
    while (!complete() && done_[next_]) {
      ++next_;
      if (complete()) return;
      for (const VerdictRow& row : rows_[next_]) on_row_(row);
      rows_[next_].clear();
    }
  }

 private:
  bool complete() const { return next_ == rows_.size(); }

  const std::function<void(const VerdictRow&)>& on_row_;
  std::vector<std::vector<VerdictRow>> rows_;
  std::vector<bool> done_;
  std::size_t next_ = 0;
};

std::vector<KernelFacts> planned_kernels(std::vector<KernelFacts> all, const VerifyPlan& plan) {
  std::erase_if(all, [&](const KernelFacts& k) { return !matches(plan.kernels, k.name); });
  return all;
}

// Runs each kernel in a worker that has only that kernel's plugin.
class Judge {
 public:
  Judge(const WorkerOptions& options, const PluginKernels& found) : workers_(options, found) {}

  void verify(const KernelFacts& kernel, const VerifyPlan& plan,
              const std::function<void(const VerdictRow&)>& on_row,
              const std::function<void(const std::string&)>& on_progress) {
    Subject subject{workers_.of(kernel), oracle_, kernel};
    verify_kernel(subject, plan, on_row, on_progress);
  }

 private:
  OwnWorkers workers_;
  Oracle oracle_;
};

// Makes the judge of one process.
Work judge_of(const WorkerOptions& options, const VerifyPlan& plan, const PluginKernels& found,
              const std::vector<KernelFacts>& kernels) {
  const auto judge = std::make_shared<Judge>(options, found);
  return [=, &kernels](std::uint32_t job, const Tell& tell) {
    VerifyPlan mine = plan;
    if (plan.on_offer)
      mine.on_offer = [&](const LedgerKey& key) { tell(offer_line, to_text(key)); };
    judge->verify(
        kernels[job], mine, [&](const VerdictRow& row) { tell(row_line, to_json_line(row)); },
        [&](const std::string& what) { tell(progress_line, what); });
  };
}

}  // namespace

int usual_judges() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  // A judge with its worker took 525 MiB in the smoke profile, up to 256 of them for the oracle.
  constexpr std::int64_t bytes_of_a_judge = std::int64_t{640} << 20;
  const std::int64_t fit = shared_memory_left().bytes / bytes_of_a_judge;
  return static_cast<int>(std::clamp<std::int64_t>(std::min<std::int64_t>(cores, fit), 1, 8));
}

void verify_with_judges(const WorkerOptions& options, const VerifyPlan& plan, int judges,
                        const std::function<void(const VerdictRow&)>& on_row,
                        const std::function<void(const std::string&)>& on_progress) {
  const PluginKernels found = kernels_by_plugin(options);
  const std::vector<KernelFacts> kernels = planned_kernels(found.kernels, plan);
  if (judges <= 1 || kernels.size() <= 1) {
    Judge judge(options, found);
    for (const KernelFacts& kernel : kernels) judge.verify(kernel, plan, on_row, on_progress);
    return;
  }
  InOrder rows(kernels.size(), on_row);
  ShareOut jobs;
  jobs.jobs = static_cast<std::uint32_t>(kernels.size());
  jobs.processes = judges;
  jobs.make_work = [&] { return judge_of(options, plan, found, kernels); };
  jobs.on_line = [&](std::uint32_t job, char kind, const std::string& text) {
    if (kind == row_line) rows.add(job, verdict_row_from(text));
    if (kind == offer_line) plan.on_offer(key_from(text));
    if (kind == progress_line) on_progress(text);
  };
  jobs.on_done = [&](std::uint32_t job) {
    rows.finish(job);
    return true;
  };
  share_out(jobs);
}

}  // namespace ropewalk::properties
