#include "harness/worker_main.h"

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

#include "harness/guarded_mapping.h"
#include "harness/loaded_kernels.h"
#include "harness/protocol.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk {
namespace {

using namespace protocol;

constexpr std::size_t largest_workspace_bytes = std::size_t{1} << 30;

Control* control = nullptr;

void set_phase(Phase phase) {
  control->phase = static_cast<std::uint32_t>(phase);
}

template <std::size_t N>
void copy_text(char (&to)[N], const char* from) {
  const std::size_t length = from == nullptr ? 0 : strnlen(from, N - 1);
  if (length > 0) std::memcpy(to, from, length);
  to[length] = 0;
}

// Notes the address for the parent, then dies of the same signal.
void on_fault(int signal, siginfo_t* info, [[maybe_unused]] void* context) {
  control->fault_address = reinterpret_cast<std::uint64_t>(info->si_addr);
#if defined(__x86_64__)
  constexpr long long write_bit = 2;  // of the page-fault error code
  control->fault_is_write =
      (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & write_bit) != 0 ? 1 : 0;
#endif
  control->fault_signal = static_cast<std::uint32_t>(signal);
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
    do got = recv(socket_descriptor, &request, sizeof request, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return {};
    text_.clear();
    if (got == sizeof request && request.command == static_cast<std::uint32_t>(Command::time)) {
      text_.resize(1 << 16);  // the board follows in a message of its own
      const ssize_t length = recv(socket_descriptor, text_.data(), text_.size(), 0);
      if (length < 0) return {};
      text_.resize(static_cast<std::size_t>(length));
    }
    return request;
  }
  const std::string& text() const { return text_; }

  template <class Message>
  void send(const Message& message, std::size_t bytes = sizeof(Message)) {
    ssize_t sent = 0;
    do sent = ::send(socket_descriptor, &message, bytes, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) _exit(0);  // the parent is gone
  }

  void answer(Status status, std::uint64_t count = 0, const std::string& text = {}) {
    Reply reply{};
    reply.version = version;
    reply.status = static_cast<std::uint32_t>(status);
    reply.count = count;
    copy_text(reply.text, text.c_str());
    send(reply);
  }

 private:
  std::string text_;
};

// The state between prepare and release, with the frequencies that must live as long.
struct Prepared {
  const rope_kernel* kernel = nullptr;
  void* state = nullptr;
  rope_problem problem{};  // what prepare was shown
  GuardedMapping inv_freq;
};

struct StepFailed {
  Status status;
  std::string text;
};

class Caller {
 public:
  /// Runs the steps of the descriptor; throws StepFailed.
  void run(const rope_kernel& kernel, const CallDescriptor& call, std::uint32_t steps) {
    map_regions(call);
    if ((steps & (step_supports | step_prepare)) != 0) hold_frequencies(call);
    if ((steps & step_supports) != 0) ask_supports(kernel, problem_of(call));
    if ((steps & step_prepare) != 0) prepare(kernel, call);
    if ((steps & step_apply) != 0) apply(kernel, call);
    if ((steps & step_release) != 0) release();
    set_phase(Phase::idle);
    mappings_.clear();
  }

  void drop() {
    mappings_.clear();
    prepared_ = {};
  }

 private:
  void map_regions(const CallDescriptor& call) {
    mappings_.clear();
    int next = 0;
    const auto map = [&](const Region& region) {
      const int slot = next++;
      addresses_[slot] = nullptr;
      control->mapped[slot] = {};
      if (region.mapped_bytes == 0) return;
      auto found = std::find_if(mappings_.begin(), mappings_.end(),
                                [&](const auto& m) { return m.first == region.file_offset; });
      if (found == mappings_.end()) {
        mappings_.emplace_back(region.file_offset,
                               GuardedMapping(memory_descriptor, region.file_offset,
                                              region.mapped_bytes, region.writable != 0));
        found = std::prev(mappings_.end());
      }
      const GuardedMapping& mapping = found->second;
      addresses_[slot] = mapping.data() + region.at;
      control->mapped[slot] = {reinterpret_cast<std::uint64_t>(mapping.data()), mapping.bytes()};
    };
    map(call.inv_freq);
    map(call.positions);
    for (const auto& t : call.tensor) {
      map(t.in);
      map(t.out);
      map(t.cos);
      map(t.sin);
    }
  }

  // inv_freq must stay where it is until release, so it moves out of the shared memory.
  void hold_frequencies(const CallDescriptor& call) {
    prepared_ = {};
    const auto bytes = static_cast<std::size_t>(call.problem.rotary_dim / 2) * sizeof(double);
    prepared_.inv_freq = GuardedMapping(bytes);
    frequencies_at_ = prepared_.inv_freq.data() + prepared_.inv_freq.bytes() - bytes;
    std::memcpy(frequencies_at_, addresses_[0], bytes);
    prepared_.inv_freq.make_read_only();
    control->mapped[0] = {reinterpret_cast<std::uint64_t>(prepared_.inv_freq.data()),
                          prepared_.inv_freq.bytes()};
  }

  rope_problem problem_of(const CallDescriptor& call) const {
    rope_problem p = call.problem;
    p.inv_freq = reinterpret_cast<const double*>(frequencies_at_);
    p.next = nullptr;
    return p;
  }

  static void ask_supports(const rope_kernel& kernel, const rope_problem& p) {
    set_phase(Phase::supports);
    const char* reason = nullptr;
    const std::int32_t answer = kernel.supports(&p, &reason);
    const std::string text = reason != nullptr ? reason : "no reason given";
    if (answer == ROPE_UNSUPPORTED) throw StepFailed{Status::unsupported, text};
    if (answer != ROPE_OK)
      throw StepFailed{Status::failed, "supports answered " + std::to_string(answer)};
  }

  void prepare(const rope_kernel& kernel, const CallDescriptor& call) {
    prepared_.kernel = &kernel;
    if (kernel.prepare == nullptr) return;
    set_phase(Phase::prepare);
    // Apply gets another rope_problem. This one is overwritten and stays so, that a kept address
    // shows.
    prepared_.problem = problem_of(call);
    const std::int32_t answer = kernel.prepare(&prepared_.problem, &prepared_.state);
    std::memset(static_cast<void*>(&prepared_.problem), 0xa5, sizeof prepared_.problem);
    if (answer != ROPE_OK)
      throw StepFailed{Status::failed, "prepare answered " + std::to_string(answer)};
  }

  void apply(const rope_kernel& kernel, const CallDescriptor& call) {
    const rope_problem p = problem_of(call);
    rope_operands o{};
    o.struct_size = sizeof o;
    o.positions = addresses_[1];
    for (std::uint32_t i = 0; i < ROPE_MAX_TENSORS; ++i) {
      std::byte* const* at = addresses_ + 2 + 4 * i;
      o.tensor[i] = {at[0], at[1], at[2], at[3]};
    }
    const GuardedMapping workspace =
        make_workspace(kernel, p, call.workspace_at_end != 0, o.workspace);
    set_phase(Phase::apply);
    const std::int32_t answer = kernel.apply(&p, &o, prepared_.state);
    set_phase(Phase::idle);
    if (answer != ROPE_OK)
      throw StepFailed{Status::failed, "apply answered " + std::to_string(answer)};
  }

  static GuardedMapping make_workspace(const rope_kernel& kernel, const rope_problem& p,
                                       bool at_end, void*& address) {
    control->mapped[workspace_region] = {};
    set_phase(Phase::workspace);
    const std::size_t bytes = kernel.workspace_bytes == nullptr ? 0 : kernel.workspace_bytes(&p);
    if (bytes == 0) return {};
    if (bytes > largest_workspace_bytes)
      throw StepFailed{Status::skipped,
                       "workspace of " + std::to_string(bytes) + " bytes is above 1 GiB"};
    GuardedMapping mapping(bytes);
    std::memset(mapping.data(), 0xff, mapping.bytes());  // NaN in every type
    constexpr std::size_t alignment = 64;
    address = mapping.data() + (at_end ? (mapping.bytes() - bytes) / alignment * alignment : 0);
    control->mapped[workspace_region] = {reinterpret_cast<std::uint64_t>(mapping.data()),
                                         mapping.bytes()};
    return mapping;
  }

  void release() {
    if (prepared_.kernel != nullptr && prepared_.kernel->prepare != nullptr &&
        prepared_.kernel->release != nullptr) {
      set_phase(Phase::release);
      prepared_.kernel->release(prepared_.state);
    }
    prepared_ = {};
  }

  std::vector<std::pair<std::uint64_t, GuardedMapping>> mappings_;
  std::byte* addresses_[region_count] = {};
  std::byte* frequencies_at_ = nullptr;
  Prepared prepared_;
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
    caller.run(kernel, call, steps);
    wire.answer(Status::ok);
  } catch (const StepFailed& failure) {
    caller.drop();
    set_phase(Phase::idle);
    wire.answer(failure.status, 0, failure.text);
  } catch (const std::exception& e) {
    caller.drop();
    wire.answer(Status::failed, 0, std::string("an exception left the kernel: ") + e.what());
  } catch (...) {
    caller.drop();
    wire.answer(Status::failed, 0, "an exception left the kernel");
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
  set_phase(Phase::timing);
  try {
    const int code = timing(wire.text(), kernels, on_row, now_running);
    set_phase(Phase::idle);
    wire.answer(Status::ok, static_cast<std::uint64_t>(code));
  } catch (const std::exception& e) {
    wire.answer(Status::failed, 2, e.what());
  }
}

std::vector<LoadedKernel> load_all(const WorkerArguments& arguments) {
  set_phase(Phase::loading);
  mask_cpu_features(arguments.cpu_features);
  std::vector<LoadedKernel> kernels = in_tree_kernels();
  for (const std::string& plugin : arguments.plugins) {
    copy_text(control->now_running, plugin.c_str());
    load_plugin(kernels, plugin);
  }
  set_phase(Phase::idle);
  return kernels;
}

}  // namespace

void worker_main(const WorkerArguments& arguments, const TimingHandler& timing) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no worker outlives its parent
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
  Caller caller;
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
