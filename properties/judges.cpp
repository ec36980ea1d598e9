#include "properties/judges.h"

#include <sched.h>

#include <algorithm>
#include <memory>

#include "properties/share_out.h"

namespace ropewalk {
namespace {

// What a judge of kernels says.
constexpr char row_line = 'r', offer_line = 'o', progress_line = 'p';

// Rows of the kernel that is next in line go out at once, those of later ones wait.
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

std::vector<std::uint32_t> planned_kernels(const std::vector<KernelFacts>& all,
                                           const VerifyPlan& plan) {
  std::vector<std::uint32_t> out;
  for (const KernelFacts& facts : all)
    if (matches(plan.kernels, facts.name)) out.push_back(facts.index);
  return out;
}

// A worker and an oracle of its own for each process.
Work judge_of(const WorkerOptions& options, const VerifyPlan& plan,
              const std::vector<KernelFacts>& all, const std::vector<std::uint32_t>& kernels) {
  const auto worker = std::make_shared<Worker>(options, all);
  const auto oracle = std::make_shared<Oracle>();
  return [=, &kernels](std::uint32_t job, const Tell& tell) {
    VerifyPlan mine = plan;
    if (plan.on_offer)
      mine.on_offer = [&](const LedgerKey& key) { tell(offer_line, to_text(key)); };
    Subject subject{*worker, *oracle, worker->kernels().at(kernels[job])};
    verify_kernel(
        subject, mine, [&](const VerdictRow& row) { tell(row_line, to_json_line(row)); },
        [&](const std::string& what) { tell(progress_line, what); });
  };
}

}  // namespace

int usual_judges() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::clamp(cores, 1, 8);
}

void verify_with_judges(const WorkerOptions& options, const VerifyPlan& plan, int judges,
                        const std::function<void(const VerdictRow&)>& on_row,
                        const std::function<void(const std::string&)>& on_progress) {
  std::vector<KernelFacts> all;
  std::vector<std::uint32_t> kernels;
  {
    Worker worker(options);
    all = worker.kernels();
    kernels = planned_kernels(all, plan);
    if (judges <= 1 || kernels.size() <= 1) {
      Oracle oracle;
      return verify(worker, oracle, plan, on_row, on_progress);
    }
  }
  InOrder rows(kernels.size(), on_row);
  ShareOut jobs;
  jobs.jobs = static_cast<std::uint32_t>(kernels.size());
  jobs.processes = judges;
  jobs.make_work = [&] { return judge_of(options, plan, all, kernels); };
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

}  // namespace ropewalk
