#include "harness/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "harness/fault_place.h"
#include "harness/output_watch.h"
#include "harness/signal_name.h"
#include "harness/time_limits.h"

extern "C" char** environ;  // NOLINT: POSIX's own name

namespace ropewalk {
namespace {

using namespace protocol;
using Clock = std::chrono::steady_clock;

// Who waits counts such looks, not the clock: time in which this process was stopped (^Z) is none.
constexpr double look_every_s = 0.1;

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

}  // namespace

Worker::Worker(WorkerOptions options) : options_(std::move(options)) {}

Worker::~Worker() {
  stop();
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  if (memory_ >= 0) close(memory_);
}

Control& Worker::control() const {
  return *reinterpret_cast<Control*>(mapped_);
}

void Worker::open_memory() {
  if (memory_ >= 0) return;
  // memfd needs no /dev/shm. The seal keeps a kernel from shrinking the file under the parent.
  memory_ = memfd_create("ropewalk", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory_ < 0)
    throw WorkerError(fmt::format("shared memory: memfd_create: {}", strerror(errno)));
  if (fcntl(memory_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    throw WorkerError(fmt::format("shared memory: sealing: {}", strerror(errno)));
  reserve_buffers(1 << 20);
}

std::byte* Worker::reserve_buffers(std::size_t bytes) {
  if (memory_ < 0) open_memory();
  const std::size_t needed = buffers_offset + bytes;
  if (needed > mapped_bytes_) {
    const std::size_t size = std::max(needed, 2 * mapped_bytes_);
    if (ftruncate(memory_, static_cast<off_t>(size)) != 0)
      throw WorkerError(fmt::format("shared memory of {} bytes: {}", size, strerror(errno)));
    if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
    void* all = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
    if (all == MAP_FAILED) {
      mapped_ = nullptr;
      mapped_bytes_ = 0;
      throw WorkerError(fmt::format("shared memory of {} bytes: {}", size, strerror(errno)));
    }
    mapped_ = static_cast<std::byte*>(all);
    mapped_bytes_ = size;
  }
  return mapped_ + buffers_offset;
}

void Worker::start() {
  if (pid_ > 0) return;
  open_memory();
  control() = Control{};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw WorkerError(fmt::format("cannot make a socket for the worker: {}", strerror(errno)));
  socket_ = pair[0];
  // dup2 of a descriptor onto itself would keep close-on-exec: move both out of the way first.
  const int child_socket = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
  const int child_memory = fcntl(memory_, F_DUPFD_CLOEXEC, 10);
  close(pair[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (options_.output_descriptor == WorkerOptions::nowhere)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  else if (options_.output_descriptor != WorkerOptions::watched)
    posix_spawn_file_actions_adddup2(&actions, options_.output_descriptor, STDOUT_FILENO);
  else
    watch_output(actions);
  posix_spawn_file_actions_adddup2(&actions, child_socket, socket_descriptor);
  posix_spawn_file_actions_adddup2(&actions, child_memory, memory_descriptor);

  std::vector<std::string> words{"ropewalk", "worker", "--cpu-features", options_.cpu_features};
  for (const std::string& plugin : options_.plugins) {
    words.emplace_back("--plugin");
    words.push_back(plugin);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawn(&pid_, options_.executable.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(child_socket);
  close(child_memory);
  if (error != 0) {
    pid_ = -1;
    close(socket_);
    socket_ = -1;
    throw WorkerError(
        fmt::format("cannot start the worker {}: {}", options_.executable, strerror(error)));
  }
  group_ = pid_;
  ++starts_;
  const std::string failure = load_failure();
  if (said_ >= 0) show_watched_output(said_);  // by constructors
  if (!failure.empty()) {
    stop();
    throw WorkerError(failure);
  }
}

// What the worker prints goes to memory: stdout to be looked at, stderr to be shown as well.
void Worker::watch_output(posix_spawn_file_actions_t& actions) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    int& output = stream == STDOUT_FILENO ? printed_ : said_;
    output = make_watched_output();
    posix_spawn_file_actions_adddup2(&actions, output, stream);
  }
}

// A plugin's path as it was given: what the worker says is cut to the entry's field.
std::string Worker::whole_path(const std::string& told) const {
  for (const std::string& plugin : options_.plugins)
    if (told.size() + 1 == sizeof(KernelEntry::plugin) && plugin.starts_with(told)) return plugin;
  return told;
}

// Greets a fresh worker and lists its kernels; what went wrong, or nothing.
std::string Worker::load_failure() {
  Reply reply{};
  const auto ask = [&](Command command, std::uint32_t kernel, void* answer, std::size_t bytes) {
    const Request request{version, static_cast<std::uint32_t>(command), kernel, 0};
    return send(&request, sizeof request)
               ? receive(answer, bytes, after(slowness() * options_.load_limit_s))
               : Received::gone;
  };
  const Received how = ask(Command::hello, 0, &reply, sizeof reply);
  if (how != Received::message) {
    const std::string name = text_of(control().now_running);
    const std::string text = end_of(how, {}).text;
    return name.empty()
               ? "the worker " + text + " while it was started"
               : fmt::format("plugin {}: {} (its constructors and rope_kernels_v1 run then)", name,
                             text);
  }
  if (reply.status != static_cast<std::uint32_t>(Status::ok)) return text_of(reply.text);
  kernels_.clear();
  for (std::uint32_t i = 0; i < reply.count; ++i) {
    KernelEntry e{};
    if (ask(Command::list, i, &e, sizeof e) != Received::message) return "the worker went away";
    kernels_.push_back({i, text_of(e.name), text_of(e.summary), text_of(e.source),
                        text_of(e.cpu_features), whole_path(text_of(e.plugin)),
                        text_of(e.cannot_run), e.angle_contract, e.flags, e.error_bound});
  }
  if (kernels_.empty()) return "the worker has no kernels: this build is broken";
  return {};
}

// With all the processes that kernels started in it: the worker leads a group of its own.
void Worker::stop() {
  if (group_ > 0) kill(-group_, SIGKILL);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = group_ = -1;
  if (said_ >= 0) show_watched_output(said_);
  for (int* output : {&printed_, &said_}) {
    if (*output >= 0) close(*output);
    *output = -1;
  }
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

const std::vector<KernelFacts>& Worker::kernels() {
  start();
  return kernels_;
}

bool Worker::send(const void* data, std::size_t bytes) {
  ssize_t sent = 0;
  do sent = ::send(socket_, data, bytes, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

Worker::Received Worker::receive(void* data, std::size_t bytes, Clock::time_point deadline,
                                 std::size_t* got) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Received::late;
    pollfd waiting{socket_, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 1 << 30)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Received::late;
    const ssize_t length = recv(socket_, data, bytes, 0);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return Received::gone;
    if (got != nullptr) *got = static_cast<std::size_t>(length);
    // A kernel that writes to the socket itself is as good as gone.
    return got != nullptr || length == static_cast<ssize_t>(bytes) ? Received::message
                                                                   : Received::gone;
  }
}

std::string Worker::phase_text() const {
  switch (static_cast<Phase>(control().phase)) {
    case Phase::loading:
      return "loading";
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
    default:
      return "the worker's own code (memory damaged earlier?)";
  }
}

// The worker is gone or late: says how it ended, and buries it.
CallResult Worker::end_of(Received how, const std::vector<NamedRegion>& regions) {
  const std::string phase = phase_text();
  if (how == Received::late) {
    int status = 0;
    const bool stopped = waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_ && WIFSTOPPED(status);
    const std::string why =
        stopped ? fmt::format(": it was stopped by {}", signal_name(WSTOPSIG(status))) : "";
    stop();
    return {CallResult::Kind::hang, fmt::format("no answer from {} in time{}", phase, why)};
  }
  // Gone can also mean that the kernel closed the socket: do not wait for ever.
  int status = 0;
  pid_t ended = 0;
  for (int tries = 0; tries < 100 && ended == 0; ++tries) {
    ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0) usleep(10'000);
  }
  if (ended != pid_) {
    stop();
    return {CallResult::Kind::crash, fmt::format("closed the worker's descriptors in {}", phase)};
  }
  pid_ = -1;
  std::string text;
  if (WIFEXITED(status)) {
    text = fmt::format("exited with code {} in {}", WEXITSTATUS(status), phase);
  } else {
    text = fmt::format("{} in {}", signal_name(WTERMSIG(status)), phase);
    if (WTERMSIG(status) == SIGILL)
      text += ": an instruction this machine has not? Then cpu_features must name its set";
  }
  const Control& c = control();
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_unheard && c.last_words[0] != 0)
    text = text_of(c.last_words);
  if ((c.fault_signal == SIGSEGV || c.fault_signal == SIGBUS) && !regions.empty())
    text += ": " + place_of_fault(c, regions);
  stop();
  return {CallResult::Kind::crash, text};
}

CallResult Worker::calls(std::uint32_t kernel, std::span<const CallDescriptor> calls,
                         std::uint32_t steps, const std::vector<NamedRegion>& regions) {
  start();
  std::memcpy(mapped_ + call_offset, calls.data(), calls.size_bytes());
  const Request request{version, static_cast<std::uint32_t>(Command::call), kernel, steps};
  if (!send(&request, sizeof request)) return end_of(Received::gone, regions);
  Reply reply{};
  // Each phase has its own limit, and the next one begins with a whole one. It is of time that the
  // worker ran; what waits without running gets longer, as it may be others who keep it waiting.
  std::uint32_t phase = control().phase;
  double limit_s = 0, ran_s = 0, asleep_s = 0, starved_s = 0;
  const auto begin_phase = [&] {
    phase = control().phase;
    limit_s = phase == static_cast<std::uint32_t>(Phase::prepare)
                  ? prepare_limit_s()
                  : apply_limit_s(calls.front()) * static_cast<double>(calls.size());
    ran_s = cpu_time_s(pid_);
    asleep_s = starved_s = 0;
  };
  const auto in_time = [&] {
    const double most_s = waiting_limit_s(limit_s);
    return cpu_time_s(pid_) - ran_s < limit_s && asleep_s < most_s &&
           asleep_s + starved_s < starving_factor * most_s;
  };
  begin_phase();
  Received how = Received::late;
  do {
    if (phase != control().phase) begin_phase();
    how = receive(&reply, sizeof reply, after(look_every_s));
    if (how == Received::late) (is_runnable(pid_) ? starved_s : asleep_s) += look_every_s;
  } while (how == Received::late && (phase != control().phase || in_time()));
  if (how != Received::message) return end_of(how, regions);
  const std::string text = text_of(reply.text);
  // What a call counted, where it went well; else whether the process was left changed.
  if (reply.count != 0 && reply.status != static_cast<std::uint32_t>(Status::ok)) stop();
  switch (static_cast<Status>(reply.status)) {
    case Status::ok:
      return {CallResult::Kind::ok, {}, reply.count};
    case Status::unsupported:
      return {CallResult::Kind::unsupported, text};
    case Status::skipped:
      return {CallResult::Kind::skipped, text};
    default:
      return {CallResult::Kind::failed, text};
  }
}

Worker::TimeResult Worker::time(
    const std::string& board, double silence_limit_s,
    const std::function<void(const std::string&, const std::string&)>& on_row,
    const std::function<void(const std::string&)>& on_progress) {
  start();
  const Request request{version, static_cast<std::uint32_t>(Command::time), 0,
                        static_cast<std::uint32_t>(board.size())};
  TimeResult out;
  bool sent = send(&request, sizeof request);
  for (std::size_t at = 0; sent && at < board.size(); at += text_packet_bytes)
    sent = send(board.data() + at, std::min(text_packet_bytes, board.size() - at));
  if (!sent) {
    out.result = end_of(Received::gone, {});
    return out;
  }
  std::string last;
  double silent_s = 0;
  auto message = std::make_unique<TimedRow>();
  for (;;) {
    std::size_t got = 0;
    const Received how = receive(message.get(), sizeof *message, after(look_every_s), &got);
    const std::string running = text_of(control().now_running);
    out.now_running = running;
    if (running != last) {
      last = running;
      silent_s = 0;
      on_progress(running);
    }
    if (how == Received::late && (silent_s += look_every_s) < silence_limit_s) continue;
    if (how != Received::message) {
      out.result = end_of(how, {});
      return out;
    }
    if (got == sizeof(TimedRow)) {
      on_row(
          text_of(message->kernel),
          std::string(message->json, std::min<std::size_t>(message->bytes, sizeof message->json)));
      continue;
    }
    if (got != sizeof(Reply)) {  // not a message of this protocol
      out.result = end_of(Received::gone, {});
      return out;
    }
    Reply reply{};
    std::memcpy(&reply, message.get(), sizeof reply);
    out.exit_code = static_cast<int>(reply.count);
    if (reply.status != static_cast<std::uint32_t>(Status::ok))
      out.result = {CallResult::Kind::failed, text_of(reply.text)};
    return out;
  }
}

}  // namespace ropewalk
