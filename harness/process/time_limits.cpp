#include "harness/process/time_limits.h"

#include <algorithm>
#include <ctime>
#include <limits>

#include "base/system/process_stat.h"
#include "harness/call/operands.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {
namespace {

// Sanitizers slow a kernel by a factor of 10, but not the loop in this file.
#ifdef ROPEWALK_SANITIZED
constexpr double sanitizers = 10;
#else
constexpr double sanitizers = 1;
#endif

constexpr double most_limit_s = 20;  // rows far apart span more than they fill
// 100 times 2 ns for each byte of the tensors, which is slow for a scalar kernel. This is an
// allowance, not a measurement.
constexpr double limit_s_per_byte = 100 * 2e-9;
constexpr double limit_s_per_row = 4e-3;  // of an interpreted kernel

double seconds_of(clockid_t clock) {
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The time of a multiplication and an addition that wait for each other. It is 8 cycles of a
// processor, 2 to 4 ns, and 22 ns under qemu 7.2. The least of several tries counts, 0.4 ms in all.
double multiply_add_s() {
  constexpr int tries = 6, steps = 20'000;
  double least_s = std::numeric_limits<double>::infinity();
  volatile double kept = 0.5;
  for (int i = 0; i < tries; ++i) {
    const double begin_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    double x = kept;
    for (int step = 0; step < steps; ++step) x = x * 0.75 + 0.25;
    kept = x;
    least_s = std::min(least_s, (seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin_s) / steps);
  }
  return least_s;
}

// batch * tokens * heads of all tensors.
double rows_of(const rope_problem& problem) {
  double heads = 0;
  for (std::uint32_t i = 0; i < problem.tensor_count; ++i)
    heads += static_cast<double>(problem.tensor[i].heads);
  return static_cast<double>(problem.batch * problem.tokens) * heads;
}

}  // namespace

double slowness() {
  constexpr double usual_s = 3e-9;
  static const double here = sanitizers * std::max(1.0, multiply_add_s() / usual_s);
  return here;
}

double apply_limit_s(const protocol::CallDescriptor& call, std::uint32_t flags) {
  constexpr double usual_dim = 256;
  std::uint64_t bytes = 0;
  for (const protocol::OperandPlace& o : call.given())
    if (o.role == Operand::in || is_output(o.role)) bytes += o.region.mapped_bytes;
  const double usual_s =
      std::max(1.0, static_cast<double>(call.problem.rotary_dim) / usual_dim) *
      std::clamp(limit_s_per_byte * static_cast<double>(bytes), 1.0, most_limit_s);
  if ((flags & ROPE_INTERPRETED) == 0) return slowness() * usual_s;
  return slowness() *
         std::min(5 * usual_s + limit_s_per_row * rows_of(call.problem), 5 * most_limit_s);
}

double scaled_limit_s(double usual_s, double part_s, double times) {
  constexpr double margin = 4;
  return std::max(usual_s, std::min(margin * times * part_s, 10 * most_limit_s * slowness()));
}

double waiting_limit_s(double limit_s) {
  return std::max(10 * slowness(), 2 * limit_s);
}

bool is_runnable(pid_t process) {
  const auto stat = process_stat(process);
  return stat && stat->state == 'R';
}

double cpu_time_s(pid_t process) {
  clockid_t clock{};
  return clock_getcpuclockid(process, &clock) == 0 ? seconds_of(clock) : 0;
}

}  // namespace ropewalk::harness
