#include "benchmarks/cells/kernel_states.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "base/printable.h"
#include "benchmarks/workloads/workload_layout.h"
#include "harness/process/float_state.h"
#include "harness/process/script_host.h"
#include "harness/process/step_failed.h"
#include "harness/watch/shown_problem.h"

namespace ropewalk::bench {
using namespace harness;
using namespace report;
namespace {

std::string thrown_by(const std::function<void()>& code) {
  try {
    code();
    return {};
  } catch (const abi::__forced_unwind&) {  // must be rethrown
    throw;
  } catch (const std::exception& e) {
    return "an exception left the kernel: " + printable_start(e.what(), 400);
  } catch (...) {
    return "an exception left the kernel";
  }
}

constexpr std::size_t workspace_bytes_max = std::size_t{1} << 30;

/// Bytes of the heap in use, if the C library tells.
std::int64_t heap_bytes() {
#if defined(__GLIBC__)
  const struct mallinfo2 now = mallinfo2();
  return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
#else
  return 0;
#endif
}

}  // namespace

Operation back_from(const Workload& w) {
  return w.operation == Operation::forward ? Operation::transpose : Operation::forward;
}

bool drifts(const Workload& w, const KernelPlan& plan) {
  return is_in_place(w) && (!plan.alternates || element_bytes(w) == 2);
}

Turns turns_of(const Workload& w, const KernelPlan& plan, std::uint64_t calls,
               const PositionsBefore& positions) {
  Turns turns;
  turns.calls = is_in_place(w) ? calls : 1;
  const std::uint64_t turning = !is_in_place(w) ? 1 : plan.alternates ? calls % 2 : calls;
  for (std::uint64_t i = 0; i < turning; ++i)
    turns.by.push_back(positions(static_cast<std::int64_t>(i)));
  return turns;
}

Expected expected_after(const Workload& w, const KernelPlan& plan, std::uint64_t calls,
                        const PositionsBefore& positions) {
  Expected expected;
  if (drifts(w, plan) && calls > static_cast<std::uint64_t>(Cell::few_calls)) {
    expected.rows = Expected::Rows::by_length;
    expected.all.calls = calls;
  } else {
    expected.all = turns_of(w, plan, calls, positions);
  }
  return expected;
}

std::string entered(const std::string& entry, const std::function<void()>& code) {
  const FloatState before = FloatState::now();
  const std::string thrown = thrown_by(code);
  const FloatState after = FloatState::now();
  before.restore();
  if (!thrown.empty()) return entry + ": " + thrown;
  return after == before
             ? ""
             : fmt::format("{} left the floating-point environment changed: {} became {}", entry,
                           before.text(), after.text());
}

std::optional<Refusal> KernelStates::begin(
    const std::vector<double>& inv_freq,
    const std::function<void(std::int64_t bytes)>& take_workspace, TimingRow& row) {
  std::optional<Refusal> refusal;
  std::string wrong =
      entered("prepare", [&] { refusal = try_to_begin(inv_freq, take_workspace, row); });
  if (wrong.empty()) wrong = changed_problem("prepare");
  if (!wrong.empty()) refusal = Refusal{Outcome::broken, wrong};
  return refusal;
}

std::optional<Refusal> KernelStates::try_to_begin(
    const std::vector<double>& inv_freq,
    const std::function<void(std::int64_t bytes)>& take_workspace, TimingRow& row) {
  const std::int32_t angles = plan_.table ? ROPE_ANGLES_TABLE : ROPE_ANGLES_INV_FREQ;
  std::size_t workspace_bytes = 0;
  for (int i = 0; i <= (plan_.alternates ? 1 : 0); ++i) {
    calls_[i].problem = make_problem(workload_, inv_freq, angles,
                                     i == 0 ? workload_.operation : back_from(workload_));
    std::memcpy(&calls_[i].shown, &calls_[i].problem, sizeof calls_[i].shown);
    ++shown_count_;
    if (kernel_.workspace_bytes != nullptr)
      workspace_bytes = std::max(workspace_bytes, kernel_.workspace_bytes(&calls_[i].problem));
  }
  if (workspace_bytes > workspace_bytes_max)
    return Refusal{Outcome::skipped,
                   fmt::format("asks for {} bytes of workspace, more than 1 GiB", workspace_bytes)};
  try {
    take_workspace(static_cast<std::int64_t>(workspace_bytes));
  } catch (const std::bad_alloc&) {
    return Refusal{Outcome::skipped, "memory for its workspace could not be had"};
  } catch (const StepFailed& failed) {
    return Refusal{Outcome::skipped, failed.text};
  }
  row.workspace_bytes = static_cast<std::int64_t>(workspace_bytes);
  for (int i = 0; i <= (plan_.alternates ? 1 : 0); ++i) {
    if (kernel_.prepare == nullptr) continue;
    const std::int64_t held = heap_bytes();
    const auto begin = std::chrono::steady_clock::now();
    const std::int32_t status = kernel_.prepare(&calls_[i].problem, &calls_[i].state);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    row.prepare_s += took.count();
    row.kept_bytes += std::max<std::int64_t>(heap_bytes() - held, 0);
    if (status != ROPE_OK)
      return Refusal{Outcome::broken, fmt::format("prepare returned {}{}", status, why_failed())};
    ++prepared_count_;
  }
  return {};
}

std::string KernelStates::changed_problem(const std::string& entry) const {
  for (int i = 0; i < shown_count_; ++i)
    if (!same_bytes(calls_[i].problem, calls_[i].shown))
      return entry + " wrote into its rope_problem";
  return {};
}

std::string KernelStates::release(bool and_problems) {
  const int count = std::exchange(prepared_count_, 0);
  if (kernel_.release == nullptr) return {};
  const std::string wrong = entered("release", [&] {
    for (int i = 0; i < count; ++i) kernel_.release(calls_[i].state);
  });
  return wrong.empty() && and_problems ? changed_problem("release") : wrong;
}

}  // namespace ropewalk::bench
