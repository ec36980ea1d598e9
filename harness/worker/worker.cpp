#include "harness/worker/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "base/printable.h"
#include "base/system/memory_limits.h"
#include "base/system/process_stat.h"
#include "base/system/signal_name.h"
#include "harness/process/guarded_mapping.h"
#include "harness/process/keeper.h"
#include "harness/process/script_host.h"
#include "harness/watch/output_watch.h"

namespace ropewalk::harness {
using namespace protocol;
namespace {

constexpr std::size_t bytes_at_first = 1 << 20;

std::size_t size_of(int file) {
  struct stat s {};
  return fstat(file, &s) == 0 ? static_cast<std::size_t>(s.st_size) : 0;
}

using namespace protocol;
using Clock = std::chrono::steady_clock;

// The number of processes that the system had killed for the memory of this process's groups, at
// the last look. Earlier kills explain no later end.
std::int64_t& known_memory_kills() {
  static std::int64_t known = memory_kills();
  return known;
}

std::string cause_of_kill() {
  static std::mutex alone;
  const std::lock_guard lock(alone);
  const std::int64_t before = std::exchange(known_memory_kills(), memory_kills());
  return before >= 0 && known_memory_kills() > before
             ? ": the system killed a process for lack of memory"
             : "";
}

// Names the operand that the noted address belongs to, and the offset from its first byte.
std::pair<std::string, std::string> place_of_fault(const Control& c, const CallDescriptor& call) {
  std::string best, offset;
  std::uint64_t best_distance = GuardedMapping::widest_guard;  // no other operand is this near
  const auto look = [&](const MappedRegion& m, const std::string& name, std::uint64_t begin,
                        std::uint64_t bytes) {
    const std::uint64_t end = begin + bytes, at = c.fault_address;
    const bool inside = at >= begin && at < end;
    const std::uint64_t distance = inside ? 0 : at >= end ? at - end : begin - at;
    if (m.bytes == 0 || distance >= best_distance) return;
    best_distance = distance;
    const char* where = inside ? "in read-only" : at >= end ? "past the end of" : "before";
    best = fmt::format("{} {} {}", c.fault_is_write != 0 ? "write" : "read", where, name);
    offset = fmt::format(", byte offset {} (it has {} bytes)",
                         static_cast<std::int64_t>(at - begin), bytes);
  };
  for (std::size_t i = 0; i < call.given().size(); ++i) {
    const OperandPlace& o = call.given()[i];
    const MappedRegion& m = c.mapped[i];
    const bool is_exact = is_of_problem(o.role);
    look(m, operand_name(o.role, o.tensor), m.begin + (is_exact ? 0 : o.region.at),
         is_exact ? m.bytes : o.bytes);
  }
  const MappedRegion& workspace = c.mapped[most_operands];
  look(workspace, operand_name(Operand::workspace, 0), workspace.begin, workspace.bytes);
  if (best.empty()) offset = fmt::format("address {:#x}, near no buffer", c.fault_address);
  return {best, offset};
}

// What an answer says.
CallResult result_of(const Reply& reply) {
  CallResult out{CallResult::Kind::failed, printable(text_of(reply.text)),
                 printable(text_of(reply.raised)), reply.repeated, reply.conduct};
  out.conduct.text[sizeof out.conduct.text - 1] = 0;
  if (reply.status == Status::ok) out.kind = CallResult::Kind::ok;
  if (reply.status == Status::unsupported) out.kind = CallResult::Kind::unsupported;
  if (reply.status == Status::skipped) out.kind = CallResult::Kind::skipped;
  if (reply.status == Status::failed && out.text.empty()) out.text = "failed without a reason";
  return out;
}

}  // namespace

/// Receives the whole text that a message begins. False if other messages came.
bool Worker::receive_rest(std::string& text, TimedRow& message, double limit_s) {
  if (message.bytes > timed_text_most) return false;
  const std::size_t whole = message.bytes;
  text.assign(message.text, std::min(whole, sizeof message.text));
  while (text.size() < whole) {
    if (receive(&message, sizeof message, after(limit_s)) != Received::message ||
        message.bytes != whole - text.size())
      return false;
    text.append(message.text, std::min<std::size_t>(message.bytes, sizeof message.text));
  }
  return true;
}

Worker::TimeResult Worker::time(const std::string& board, double silence_limit_s,
                                const BoardSinks& sinks) {
  start();
  if (pid_ <= 0) return {{CallResult::Kind::crash, cannot_start_}, 0, ""};
  std::string label, text;
  double silent_s = 0;
  bool ended = false;
  auto message = std::make_unique<TimedRow>();
  const auto read_label = [&] { return printable(text_of(control().now_running)); };
  const auto died = [&](Received how) -> TimeResult {
    label = read_label();
    return {end_of(how), 0, label};
  };
  const auto ended_for = [&](const std::string& what, const std::string& kernel) -> TimeResult {
    stop();
    return {{CallResult::Kind::crash, what}, 0, kernel};
  };
  std::memcpy(reserve_buffers(board.size()), board.data(), board.size());
  const Received sent = send_request({.command = Command::time, .text_bytes = board.size()});
  if (sent != Received::message) return died(sent);
  for (;;) {
    std::size_t got = 0;
    const Received how = receive(message.get(), sizeof *message, after(look_every_s), &got);
    if (const std::string now = read_label(); now != label) {
      label = now;
      silent_s = 0;
      sinks.progress(label);
    }
    if (const std::string damage = memory_.damage();
        !damage.empty() && (how == Received::late || how == Received::message))
      return ended_for(damage, label);
    if (how == Received::late && (silent_s += look_every_s) < silence_limit_s) continue;
    if (how != Received::message) return died(how);
    if (got == sizeof(Reply)) {
      if (!ended) return ended_for("sent its last answer before the end of its board", "");
      Reply reply{};
      std::memcpy(static_cast<void*>(&reply), message.get(), sizeof reply);
      if (reply.status == Status::ok) return {{}, static_cast<int>(reply.exit_code), ""};
      return {{CallResult::Kind::failed, printable(text_of(reply.text))}, 0, label};
    }
    silent_s = 0;
    const auto kind = static_cast<Timed>(message->kind);
    if (ended || !receive_rest(text, *message, silence_limit_s))
      return ended_for("sent a message that has no place in a board", "");
    if (kind == Timed::end) ended = true;
    if (kind == Timed::shown || kind == Timed::remark) sinks.show(text, kind == Timed::remark);
    if (kind != Timed::row) continue;
    if (const std::string wrong = sinks.row(text); !wrong.empty()) return ended_for(wrong, "");
  }
}

void SharedMemory::close() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (file_ >= 0) ::close(file_);
  data_ = nullptr;
  file_ = -1;
  bytes_ = 0;
}

void SharedMemory::open() {
  close();
  // memfd needs no /dev/shm. The seal keeps a kernel from shrinking the file under the parent. A
  // kernel can grow the file, as the parent must be able to.
  file_ = memfd_create("ropewalk", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file_ < 0) throw WorkerError(fmt::format("shared memory: memfd_create: {}", strerror(errno)));
  if (fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    throw WorkerError(fmt::format("shared memory: sealing: {}", strerror(errno)));
  reserve(bytes_at_first);
}

std::byte* SharedMemory::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return data_;
  const std::size_t size = std::max(bytes, 2 * bytes_);
  const auto fail = [&] {
    throw WorkerError(fmt::format("shared memory of {} bytes: {}", size, strerror(errno)));
  };
  // A file that a kernel has already grown cannot be cut to size; damage() reports it.
  if (ftruncate(file_, static_cast<off_t>(size)) != 0 && size_of(file_) < size) fail();
  if (data_ != nullptr) munmap(std::exchange(data_, nullptr), bytes_);
  bytes_ = 0;
  void* all = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (all == MAP_FAILED) fail();
  data_ = static_cast<std::byte*>(all);
  bytes_ = size;
  return data_;
}

std::string SharedMemory::damage() const {
  const std::size_t now = size_of(file_);
  if (now == bytes_) return {};
  return fmt::format("grew the worker's shared memory (descriptor 4) from {} to {} bytes", bytes_,
                     now);
}

Worker::Worker(WorkerOptions options, std::vector<KernelFacts> known)
    : options_(std::move(options)), kernels_(std::move(known)) {
  known_memory_kills();
}

Worker::~Worker() {
  stop();
}

Worker::Deadline Worker::after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Control& Worker::control() const {
  return *reinterpret_cast<Control*>(memory_.data());
}

std::byte* Worker::reserve_buffers(std::size_t bytes) {
  start();
  if (memory_.data() == nullptr) throw WorkerError(cannot_start_);
  return memory_.reserve(buffers_offset + bytes) + buffers_offset;
}

// Waits for the started process. `alive_too`: waits even if the worker is alive.
bool Worker::ends_within(double seconds, bool alive_too) const {
  constexpr int pause_us = 100;
  wake_keeper();
  for (std::int64_t left = pauses_in(seconds, pause_us); left > 0; --left) {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid == pid_)
      return true;
    if (!alive_too && is_alive()) return false;
    usleep(pause_us);
  }
  return false;
}

// A kernel may have stopped the keeper. A stopped keeper neither ends nor sees what ends.
void Worker::wake_keeper() const {
  if (control().worker != 0) kill(pid_, SIGCONT);
}

// False if /proc does not tell. The process id counts as the worker told it before any kernel ran:
// a kernel may have written over it since.
bool Worker::is_alive() const {
  const auto told = running_ > 0 ? running_ : static_cast<pid_t>(control().worker);
  const bool has_keeper = told > 0 && told != pid_;
  const auto stat = process_stat(has_keeper ? told : pid_);
  return stat && !stat->is_ending && (!has_keeper || stat->parent == pid_);
}

// The process that runs kernels. The worker names it, so it is believed only if it is a child of
// the keeper.
pid_t Worker::running() const {
  const auto told = static_cast<pid_t>(control().worker);
  const auto stat = process_stat(told);
  const bool is_ours = told > 0 && (stat ? stat->parent == pid_ : !process_stat(getpid()));
  return is_ours ? told : pid_;
}

// The keeper ends the worker and all processes that a kernel started.
void Worker::stop() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    ends_within(slowness() + keeper_patience_s, true);
    bury();
  }
  running_ = -1;
  is_changed_ = false;
  if (said_ >= 0) show_watched_output(said_);
  for (int* descriptor : {&printed_, &said_, &socket_}) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
  }
}

// Returns how the process ended.
int Worker::bury() {
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

const std::vector<KernelFacts>& Worker::kernels() {
  start();
  return kernels_;
}

// The socket has room: the worker has read the request before this one.
Worker::Received Worker::send_request(const Request& request) {
  ssize_t sent = 0;
  do sent = ::send(socket_, &request, sizeof request, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == sizeof request ? Received::message : Received::gone;
}

Worker::Received Worker::receive(void* data, std::size_t bytes, Deadline deadline,
                                 std::size_t* got) {
  for (;;) {
    if (Clock::now() >= deadline) return Received::late;
    const ssize_t length = recv(socket_, data, bytes, MSG_TRUNC);  // waits look_every_ms
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) {
      wake_keeper();
      continue;
    }
    pollfd end{socket_, 0, 0};  // a packet may be empty, too
    if (length < 0 || (length == 0 && poll(&end, 1, 0) > 0 && (end.revents & POLLHUP) != 0))
      return Received::gone;
    const auto whole = static_cast<std::size_t>(length);
    if (got != nullptr) *got = whole;
    // If several kinds of messages are allowed, the shortest is a Reply.
    const bool short_one = got != nullptr && whole == sizeof(Reply);
    return is_answer(data, whole, short_one ? whole : bytes) ? Received::message
                                                             : Received::foreign;
  }
}

// A kernel can write to the socket itself.
bool Worker::is_answer(const void* data, std::size_t length, std::size_t expected) {
  AnswerHead head{};
  if (length >= sizeof head) std::memcpy(&head, data, sizeof head);
  if (length == expected && head.version == version) return true;
  foreign_ = fmt::format(
      "wrote to the worker's socket (descriptor 3): a packet of {} bytes, where an answer of "
      "version {} has {}",
      length, version, expected);
  return false;
}

std::string Worker::phase_text() const {
  switch (static_cast<Phase>(control().phase)) {
    case Phase::loading:
      return is_script(text_of(control().now_running)) ? "importing" : "loading";
    case Phase::supports:
      return "supports";
    case Phase::workspace:
      return "workspace_bytes";
    case Phase::prepare:
      return "prepare";
    case Phase::apply:
      return "apply";
    case Phase::release:
      return "release";
    case Phase::timing:
      return "a timed call";
    case Phase::supports_without_reason:
      return "supports with reason == NULL";
    case Phase::copying:
      return "a copy of the buffers";
    case Phase::idle:
    case Phase::listing:
      break;
  }
  return running_ > 0 ? "the worker's own code (memory damaged earlier?)" : "its start";
}

// The worker is gone or late. Returns how it ended, and reaps it.
CallResult Worker::end_of(Received how, const CallDescriptor& call) {
  const std::string phase = phase_text();
  if (how == Received::late) {
    const auto stopped_by = static_cast<int>(control().stopped_by);
    const std::string why =
        stopped_by != 0 ? fmt::format(": it was stopped by {}", signal_name(stopped_by)) : "";
    stop();
    return {CallResult::Kind::hang, fmt::format("no answer from {} in time{}", phase, why),
            "late in " + phase};
  }
  if (how == Received::foreign) {
    const bool in_an_entry = control().phase != static_cast<std::uint32_t>(Phase::idle);
    stop();
    return {CallResult::Kind::crash, foreign_ + (in_an_entry ? " in " + phase : ""), "foreign"};
  }
  if (!ends_within(keeper_patience_s, false)) {
    // The worker's own words: it would have seen the same.
    const std::string told = printable(text_of(control().last_words));
    stop();
    return {CallResult::Kind::crash, told.empty() ? phase + " closed descriptor 3" : told,
            "closed"};
  }
  const int status = bury();
  std::string text, id;
  if (WIFEXITED(status)) {
    text = id = fmt::format("exited with code {} in {}", WEXITSTATUS(status), phase);
  } else {
    text = id = fmt::format("{} in {}", signal_name(WTERMSIG(status)), phase);
    if (WTERMSIG(status) == SIGILL)
      text += ": does this machine lack the instruction? Then cpu_features must name its set";
    if (WTERMSIG(status) == SIGKILL) text += cause_of_kill();
  }
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const Control& c = control();
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_unheard && c.last_words[0] != 0)
    text = printable(text_of(c.last_words));
  if (c.fault_signal == SIGSEGV || c.fault_signal == SIGBUS) {
    const std::string in_heap = printable(text_of(c.last_words));
    if (!in_heap.empty())
      text += ": " + in_heap;
    else if (call.count > 0) {
      const auto [operand, offset] = place_of_fault(c, call);
      id += ": " + operand;
      text += ": " + operand + offset;
    }
  }
  stop();
  return {CallResult::Kind::crash, text, id, 0, {}, killed};
}

// The damage to the memory may harm the next call. A fresh worker has fresh memory.
CallResult Worker::damaged(const std::string& how) {
  stop();
  return {CallResult::Kind::failed, how};
}

// The limit of a call that is late. A kernel whose work is the square of the head is slow, and no
// hang. A fresh process makes a sixteenth of the call while the late one goes on.
double Worker::limit_by_part_s(std::uint32_t kernel, const CallDescriptor& call, double usual_s) {
  constexpr std::int64_t parts = 16;
  constexpr std::size_t most_bytes = std::size_t{1} << 30;  // rows far apart span more
  CallDescriptor part = call;
  std::int64_t &tokens = part.problem.tokens, &batch = part.problem.batch;
  const std::int64_t all = batch * tokens;
  if (tokens < parts) batch = std::max<std::int64_t>(1, all / parts);
  tokens = std::max<std::int64_t>(1, tokens / parts);
  const bool is_on_host = kernels_.at(kernel).memory == ROPE_HOST;
  if (runs_parts_ || !is_on_host || memory_.bytes() > most_bytes) return usual_s;
  try {
    Worker other(options_, kernels_);
    other.runs_parts_ = true;
    const std::size_t bytes = memory_.bytes() - buffers_offset;
    std::memcpy(other.reserve_buffers(bytes), memory_.data() + buffers_offset, bytes);
    CallResult result = other.call(kernel, part, step_supports | step_prepare);
    const double begin_s = cpu_time_s(other.running_);
    if (result.kind == CallResult::Kind::ok) result = other.call(kernel, part, step_apply);
    if (result.kind != CallResult::Kind::ok) return usual_s;
    const double times = static_cast<double>(all) / static_cast<double>(batch * tokens);
    return scaled_limit_s(usual_s, cpu_time_s(other.running_) - begin_s, times);
  } catch (const WorkerError&) {
    return usual_s;
  }
}

// Beside the calls of one thread, other threads may work for a device.
static double repeating_s(std::uint32_t steps) {
  return (steps & protocol::step_repeat) != 0 ? 10 * protocol::repeat_limit_s : 0;
}

CallResult Worker::calls(std::uint32_t kernel, std::span<const CallDescriptor> calls,
                         std::uint32_t steps) {
  if (pid_ <= 0)
    return {CallResult::Kind::crash,
            cannot_start_.empty() ? "the worker had ended before this call" : cannot_start_};
  std::memcpy(memory_.data() + call_offset, calls.data(), calls.size_bytes());
  Received how = send_request({.command = Command::call, .kernel = kernel, .steps = steps});
  const auto ended = [&](const std::string& harm = {}) {
    const std::uint32_t at = control().question;
    CallResult end = harm.empty() ? end_of(how, calls.back()) : damaged(harm);
    end.repeated = at;
    return end;
  };
  if (how != Received::message) return ended();
  Reply reply{};
  std::string damage;
  // Each phase has its own limit, which begins anew with the phase. The limit counts time in which
  // the worker ran. A worker that could run while other processes do is not late. No clock is read
  // before the first look of a phase.
  std::uint32_t phase = 0, question = 0;
  bool is_first_look = true, is_measured = false;
  double limit_s = 0, ran_s = 0, asleep_s = 0;
  const auto in_time = [&] {
    if (std::exchange(is_first_look, false) || phase != control().phase ||
        question != control().question) {
      phase = control().phase;
      question = control().question;
      const bool is_long = phase == static_cast<std::uint32_t>(Phase::prepare) ||
                           phase == static_cast<std::uint32_t>(Phase::copying);
      const double of_apply_s = apply_limit_s(calls.front(), kernels_.at(kernel).flags);
      const std::size_t at_once = steps == step_supports ? 1 : calls.size();
      limit_s = repeating_s(steps) +
                (is_long ? prepare_limit_s() : of_apply_s * static_cast<double>(at_once));
      ran_s = cpu_time_s(running_);
      asleep_s = 0;
      return true;
    }
    if (!is_runnable(running_)) asleep_s += look_every_s;
    if (cpu_time_s(running_) - ran_s >= limit_s &&
        phase == static_cast<std::uint32_t>(Phase::apply) && !std::exchange(is_measured, true))
      limit_s = limit_by_part_s(kernel, calls.front(), limit_s);
    return cpu_time_s(running_) - ran_s < limit_s && asleep_s < waiting_limit_s(limit_s);
  };
  do {
    how = receive(&reply, sizeof reply, after(look_every_s));
    damage = memory_.damage();
  } while (how == Received::late && damage.empty() && in_time());
  // A write to the socket may be the reason why the worker ended.
  if (how != Received::foreign && !damage.empty()) return ended(damage);
  if (how == Received::late && control().stopped_by == 0) {
    const bool slept = asleep_s >= waiting_limit_s(limit_s);
    CallResult late = ended();
    late.text += slept ? fmt::format(" ({:.2g} s of sleep)", waiting_limit_s(limit_s))
                       : fmt::format(" ({:.2g} s of processor time)", limit_s);
    return late;
  }
  if (how != Received::message) return ended();
  is_changed_ |= reply.conduct.has_left != 0;
  if (reply.is_spoiled != 0) stop();
  return result_of(reply);
}

}  // namespace ropewalk::harness
