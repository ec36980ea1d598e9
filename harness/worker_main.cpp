#include "harness/worker_main.h"

#include <cxxabi.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>

#include "harness/caller.h"
#include "harness/loaded_kernels.h"
#include "harness/protocol.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk {
namespace {

using namespace protocol;

Control* control = nullptr;

template <std::size_t N>
void copy_text(char (&to)[N], const char* from) {
  const std::size_t length = from == nullptr ? 0 : strnlen(from, N - 1);
  if (length > 0) std::memcpy(to, from, length);
  to[length] = 0;
}

// Notes the address for the parent, then dies of the same signal.
void on_fault(int signal, siginfo_t* info, [[maybe_unused]] void* context) {
  const bool raised = info->si_code <= 0;  // by a call, not by an instruction: there is no address
  control->fault_address = reinterpret_cast<std::uint64_t>(info->si_addr);
#if defined(__x86_64__)
  constexpr long long write_bit = 2;  // of the page-fault error code
  control->fault_is_write =
      (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & write_bit) != 0 ? 1 : 0;
#endif
  control->fault_signal = raised ? 0 : static_cast<std::uint32_t>(signal);
  struct sigaction fallback {};
  fallback.sa_handler = SIG_DFL;
  sigaction(signal, &fallback, nullptr);
  raise(signal);
}

void catch_faults() {
  static std::byte stack[64 * 1024];  // a kernel may have overrun its own
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(signal, &action, nullptr);
}

// The parent's socket.
class Wire {
 public:
  std::optional<Request> receive() {
    Request request{};
    ssize_t got = 0;
    do {
      pollfd waiting{socket_descriptor, POLLIN, 0};  // a kernel may have made it non-blocking
      poll(&waiting, 1, -1);
      got = recv(socket_descriptor, &request, sizeof request, 0);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got <= 0) return {};
    text_.clear();
    if (got == sizeof request && request.command == static_cast<std::uint32_t>(Command::time)) {
      if (!receive_text(request.steps)) return {};
    }
    return request;
  }
  const std::string& text() const { return text_; }

  /// The board follows in packets of its own.
  bool receive_text(std::size_t bytes) {
    std::vector<char> packet(text_packet_bytes);
    while (text_.size() < bytes) {
      const ssize_t got = recv(socket_descriptor, packet.data(), packet.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      text_.append(packet.data(), static_cast<std::size_t>(got));
    }
    return true;
  }

  template <class Message>
  void send(const Message& message, std::size_t bytes = sizeof(Message)) {
    ssize_t sent = 0;
    do sent = ::send(socket_descriptor, &message, bytes, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) _exit(exit_unheard);  // the parent is gone, or a kernel closed the socket
  }

  void answer(Status status, std::uint64_t count = 0, const std::string& text = {}) {
    Reply reply{};
    reply.version = version;
    reply.status = static_cast<std::uint32_t>(status);
    reply.count = count;
    copy_text(reply.text, text.c_str());
    if (status == Status::failed) copy_text(control->last_words, text.c_str());
    send(reply);
    control->last_words[0] = 0;
  }

 private:
  std::string text_;
};

void describe(Wire& wire, const LoadedKernel& loaded, std::uint32_t index) {
  KernelEntry entry{};
  entry.version = version;
  entry.kernel = index;
  const rope_kernel& k = *loaded.kernel;
  copy_text(entry.name, k.name);
  copy_text(entry.summary, k.summary);
  copy_text(entry.source, k.source);
  copy_text(entry.cpu_features, k.cpu_features);
  copy_text(entry.plugin, loaded.plugin.c_str());
  copy_text(entry.cannot_run, loaded.cannot_run.c_str());
  entry.memory = k.memory;
  entry.angle_contract = k.angle_contract;
  entry.flags = k.flags;
  entry.extensions = k.extensions;
  entry.error_bound = k.error_bound;
  wire.send(entry);
}

void run_call(Wire& wire, Caller& caller, const rope_kernel& kernel, std::uint32_t steps,
              const CallDescriptor& call) {
  try {
    wire.answer(Status::ok, caller.run(kernel, call, steps));
  } catch (const StepFailed& failure) {
    // A kernel is asked hundreds of times what it takes: what a refusal left changed beside the
    // usual is seen with the next state.
    const bool refused = failure.status == Status::unsupported;
    const bool spoiled = caller.drop(!refused) || failure.worker_is_spoiled;
    set_phase(*control, Phase::idle);
    wire.answer(failure.status, spoiled ? 1 : 0, failure.text);
  } catch (const abi::__forced_unwind&) {  // must not be caught for good
    wire.answer(Status::failed, 1, "a kernel ended the thread it was called on (pthread_exit)");
    _exit(0);
  } catch (const std::exception& e) {
    const bool spoiled = caller.drop();
    wire.answer(Status::failed, spoiled ? 1 : 0,
                std::string("an exception left the kernel: ") + e.what());
  } catch (...) {
    wire.answer(Status::failed, caller.drop() ? 1 : 0, "an exception left the kernel");
  }
}

void time_board(Wire& wire, const TimingHandler& timing, const std::vector<LoadedKernel>& loaded) {
  std::vector<const rope_kernel*> kernels;
  for (const LoadedKernel& k : loaded) kernels.push_back(k.kernel);
  const auto on_row = [&](const std::string& kernel, const std::string& json) {
    TimedRow row{};
    row.version = version;
    row.bytes = static_cast<std::uint32_t>(std::min(json.size(), sizeof row.json));
    copy_text(row.kernel, kernel.c_str());
    std::memcpy(row.json, json.data(), row.bytes);
    wire.send(row);
  };
  const auto now_running = [](const std::string& label) {
    copy_text(control->now_running, label.c_str());
  };
  set_phase(*control, Phase::timing);
  try {
    const int code = timing(wire.text(), kernels, on_row, now_running);
    set_phase(*control, Phase::idle);
    wire.answer(Status::ok, static_cast<std::uint64_t>(code));
  } catch (const std::exception& e) {
    wire.answer(Status::failed, 2, e.what());
  }
}

// No worker outlives its parent, nor one that was gone before this line.
void die_with_parent() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // a grandchild that a kernel leaves is seen as a child
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd parent{socket_descriptor, 0, 0};
  if (poll(&parent, 1, 0) > 0 && (parent.revents & (POLLHUP | POLLERR)) != 0) _exit(0);
}

std::vector<LoadedKernel> load_all(const WorkerArguments& arguments) {
  set_phase(*control, Phase::loading);
  mask_cpu_features(arguments.cpu_features);
  std::vector<LoadedKernel> kernels = in_tree_kernels();
  for (const std::string& plugin : arguments.plugins) {
    copy_text(control->now_running, plugin.c_str());
    load_plugin(kernels, plugin);
  }
  set_phase(*control, Phase::idle);
  return kernels;
}

}  // namespace

void worker_main(const WorkerArguments& arguments, const TimingHandler& timing) {
  die_with_parent();
  void* shared =
      mmap(nullptr, buffers_offset, PROT_READ | PROT_WRITE, MAP_SHARED, memory_descriptor, 0);
  if (shared == MAP_FAILED) _exit(2);
  control = static_cast<Control*>(shared);
  control->version = version;
  const auto* call =
      reinterpret_cast<const CallDescriptor*>(static_cast<std::byte*>(shared) + call_offset);
  catch_faults();
  Wire wire;
  std::vector<LoadedKernel> kernels;
  std::string load_error;
  try {
    kernels = load_all(arguments);
  } catch (const std::exception& e) {
    load_error = e.what();
  }
#ifdef ROPEWALK_SANITIZED
  std::thread([] {}).join();  // beside the first one a sanitizer may start a thread of its own
#endif
  Caller caller(*control);
  while (const auto request = wire.receive()) {
    const auto command = static_cast<Command>(request->command);
    if (request->version != version) {
      wire.answer(Status::failed, 0,
                  "protocol version " + std::to_string(request->version) + " is unknown");
    } else if (command == Command::quit) {
      break;
    } else if (command == Command::hello) {
      load_error.empty() ? wire.answer(Status::ok, kernels.size())
                         : wire.answer(Status::failed, 0, load_error);
    } else if (command == Command::time) {
      time_board(wire, timing, kernels);
    } else if (request->kernel >= kernels.size()) {
      wire.answer(Status::failed, 0, "no such kernel");
    } else if (command == Command::list) {
      describe(wire, kernels[request->kernel], request->kernel);
    } else if (command == Command::call) {
      run_call(wire, caller, *kernels[request->kernel].kernel, request->steps, *call);
    } else {
      wire.answer(Status::failed, 0, "unknown command");
    }
  }
  _exit(0);
}

}  // namespace ropewalk
