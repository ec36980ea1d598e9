#include "harness/worker/worker_main.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>

#include "harness/device/device_memory.h"
#include "harness/process/exceptions.h"
#include "harness/process/host_memory.h"
#include "harness/process/keeper.h"
#include "harness/process/loaded_kernels.h"
#include "harness/process/script_host.h"
#include "harness/protocol.h"
#include "harness/watch/heap_guard.h"
#include "harness/watch/left_running.h"
#include "harness/worker/caller.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk::harness {
namespace {

using namespace protocol;

Control* control = nullptr;

template <std::size_t N>
void copy_text(char (&to)[N], const char* from) {
  const std::size_t length = from == nullptr ? 0 : strnlen(from, N - 1);
  if (length > 0) std::memcpy(to, from, length);
  to[length] = 0;
}

// Notes the address for the parent, then ends the process by the same signal.
void on_fault(int signal, siginfo_t* info, [[maybe_unused]] void* context) {
  const bool raised = info->si_code <= 0;  // a call raised it, so there is no address
  control->fault_address = reinterpret_cast<std::uint64_t>(info->si_addr);
#if defined(__x86_64__)
  constexpr long long write_bit = 2;  // of the page-fault error code
  control->fault_is_write =
      (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & write_bit) != 0 ? 1 : 0;
#endif
  control->fault_signal = raised ? 0 : static_cast<std::uint32_t>(signal);
  // A kernel may have written to these fields earlier. Such text is not the place of this fault.
  if (raised || !place_in_heap(control->fault_address, control->fault_is_write != 0,
                               control->last_words, sizeof control->last_words))
    control->last_words[0] = 0;
  struct sigaction fallback {};
  fallback.sa_handler = SIG_DFL;
  sigaction(signal, &fallback, nullptr);
  raise(signal);
}

void catch_faults() {
  static std::byte stack[64 * 1024];  // a kernel may have overrun its own stack
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

// Reads and writes the parent's socket.
class Wire {
 public:
  std::optional<Request> receive() {
    Request request{};
    ssize_t got = 0;
    for (;;) {
      got = recv(socket_descriptor, &request, sizeof request, 0);
      if (got >= 0 || (errno != EINTR && errno != EAGAIN)) break;
      pollfd waiting{socket_descriptor, POLLIN, 0};  // a kernel has made it non-blocking
      poll(&waiting, 1, -1);
    }
    if (got <= 0) return {};
    return request;
  }

  template <class Message>
  void send(Message& message) {
    message.version = version;
    ssize_t sent = 0;
    for (;;) {
      sent = ::send(socket_descriptor, &message, sizeof message, MSG_NOSIGNAL);
      if (sent >= 0 || (errno != EINTR && errno != EAGAIN)) break;
      pollfd waiting{socket_descriptor, POLLOUT, 0};  // a kernel may have made it non-blocking
      poll(&waiting, 1, -1);
    }
    if (sent < 0) end_unheard(std::string("descriptor 3 takes no answer: ") + strerror(errno));
  }

  /// Used if a kernel closed or spoiled the socket, or if the parent is gone.
  [[noreturn]] static void end_unheard(const std::string& why) {
    if (control->last_words[0] == 0) copy_text(control->last_words, why.c_str());
    _exit(exit_unheard);
  }

  /// Sends `reply` with this status and text.
  void answer(Status status, const std::string& text = {}, Reply reply = {}) {
    reply.status = status;
    copy_text(reply.text, text.c_str());
    if (status == Status::failed) copy_text(control->last_words, text.c_str());
    send(reply);
    control->last_words[0] = 0;
  }
};

void describe(Wire& wire, const LoadedKernel& loaded, std::uint32_t index, const Device* device) {
  KernelEntry entry{};
  entry.kernel = index;
  const rope_kernel& k = *loaded.kernel;
  copy_text(entry.name, k.name);
  copy_text(entry.summary, k.summary);
  copy_text(entry.source, k.source);
  copy_text(entry.cpu_features, k.cpu_features);
  copy_text(entry.plugin, loaded.plugin.c_str());
  copy_text(entry.cannot_run, loaded.cannot_run.c_str());
  if (device != nullptr && k.memory == ROPE_CUDA) copy_text(entry.device, device->name().c_str());
  if ((k.flags & ROPE_INTERPRETED) != 0 && script_host != nullptr) {
    std::string runs_in = entry.device;
    runs_in += (runs_in.empty() ? "" : ", ") + std::string(script_host->runs_in(loaded.registered));
    copy_text(entry.device, runs_in.c_str());
  }
  entry.memory = k.memory;
  entry.angle_contract = k.angle_contract;
  entry.flags = k.flags;
  entry.extensions = k.extensions;
  entry.error_bound = k.error_bound;
  entry.exceptions = k.exceptions;
  entry.reads_past = k.reads_past;
  entry.tolerated = loaded.tolerated;
  wire.send(entry);
}

// False: a refusal that the parent has heard, of a problem that others follow.
bool run_call(Wire& wire, Caller& caller, const rope_kernel& kernel, std::uint32_t steps,
              const CallDescriptor& call, std::uint32_t at, bool is_last) {
  static std::string refused_last;
  const auto refuse = [&](Status status, bool is_spoiled, const std::string& text,
                          const std::string& raised = {}) {
    refused_last = status == Status::unsupported ? text : "";
    Reply reply{
        .repeated = at, .is_spoiled = is_spoiled ? 1u : 0u, .conduct = caller.take_conduct()};
    copy_text(reply.raised, raised.c_str());
    wire.answer(status, text, reply);
  };
  try {
    const std::uint64_t repeated = caller.run(kernel, call, steps);
    wire.answer(Status::ok, {}, {.repeated = at + repeated, .conduct = caller.take_conduct()});
  } catch (const StepFailed& failure) {
    // supports is asked hundreds of times. After a refusal only the quick comparison is made; the
    // next state shows any other change.
    const bool refused = failure.status == Status::unsupported;
    if (caller.is_lost()) Wire::end_unheard(failure.text);
    if (refused && !is_last && !failure.worker_is_spoiled && !caller.has_conduct() &&
        failure.text == refused_last)
      return false;
    const bool spoiled = caller.drop(!refused) || failure.worker_is_spoiled;
    set_phase(*control, Phase::idle);
    refuse(failure.status, spoiled, failure.text, failure.raised);
  } catch (const abi::__forced_unwind&) {  // such a handler must not end, so the process does
    refuse(Status::failed, true, "a kernel ended the thread it was called on (pthread_exit)");
    _exit(0);
  } catch (const std::exception& e) {
    const bool spoiled = caller.drop();  // before what(), which may be code of the kernel
    refuse(Status::failed, spoiled, std::string("an exception left the kernel: ") + e.what());
  } catch (...) {
    refuse(Status::failed, caller.drop(), "an exception left the kernel");
  }
  return true;
}

/// Sends the messages of a board.
class BoardWire {
 public:
  explicit BoardWire(Wire& wire) : wire_(wire) {}

  void send(Timed kind, const std::string& text = {}) {
    if (text.size() > timed_text_most)
      throw std::runtime_error("a row of this board is longer than 16 MiB");
    std::size_t at = 0;
    do {
      message_ = TimedRow{};
      message_.bytes = static_cast<std::uint32_t>(text.size() - at);
      message_.kind = static_cast<std::uint32_t>(kind);
      const std::size_t part = std::min(text.size() - at, sizeof message_.text);
      std::memcpy(message_.text, text.data() + at, part);
      wire_.send(message_);
      at += part;
    } while (at < text.size());
  }

 private:
  Wire& wire_;
  TimedRow message_{};
};

void time_board(Wire& wire, const TimingHandler& timing, const std::vector<LoadedKernel>& loaded,
                Device* device, std::size_t text_bytes) {
  std::vector<const rope_kernel*> kernels;
  for (const LoadedKernel& k : loaded) kernels.push_back(k.kernel);
  BoardWire board(wire);
  const TimingSinks sinks{
      [&](const std::string& json) { board.send(Timed::row, json); },
      [](const std::string& label) { copy_text(control->now_running, label.c_str()); },
      [&](const std::string& shown, bool remark) {
        board.send(remark ? Timed::remark : Timed::shown, shown);
      }};
  control->now_running[0] = 0;
  set_phase(*control, Phase::timing);
  try {
    const std::vector<std::byte> text = read_shared(buffers_offset, text_bytes);
    const int code =
        timing({reinterpret_cast<const char*>(text.data()), text.size()}, kernels, device, sinks);
    set_phase(*control, Phase::idle);
    board.send(Timed::end);
    wire.answer(Status::ok, {}, {.exit_code = static_cast<std::uint32_t>(code)});
  } catch (const StepFailed& failed) {
    board.send(Timed::end);
    wire.answer(Status::failed, failed.text);
  } catch (const std::exception& e) {
    copy_text(control->last_words, e.what());  // a kernel may have closed the socket
    board.send(Timed::end);
    wire.answer(Status::failed, e.what());
  }
}

std::vector<LoadedKernel> load_all(const WorkerArguments& arguments) {
  set_phase(*control, Phase::loading);
  mask_cpu_features(arguments.cpu_features);
#ifdef ROPEWALK_SANITIZED
  std::thread([] {}).join();  // beside the first one a sanitizer may start its own
#endif
  note_before_loading();
  std::vector<LoadedKernel> kernels = in_tree_kernels();
  note_loaded(kernels, 0, 0);
  int loader = 0;
  for (const auto& given : arguments.plugins) {
    const std::string& plugin = given.first;
    copy_text(control->now_running, plugin.c_str());
    const std::size_t first = kernels.size();
    const std::uint32_t tolerated = tolerated_by(given.second).value_or(0);
    const std::string lost =
        watch_loading(plugin, [&] { load_plugin(kernels, plugin, tolerated); });
    if (!lost.empty()) Wire::end_unheard(lost);
    note_loaded(kernels, first, ++loader);
  }
  set_phase(*control, Phase::idle);
  return kernels;
}

// Makes the calls of kernels in the host's memory, and of those in a device's.
class Callers {
 public:
  /// Opens the device first, so that the watch of entries finds its driver there.
  explicit Callers(std::vector<LoadedKernel>* with_device)
      : device_(with_device == nullptr ? nullptr : open_device_for(*with_device)),
        host_memory_(*control),
        host_(*control, host_memory_, device_ != nullptr) {
    if (device_ == nullptr) return;
    device_memory_.emplace(*control, *device_);
    on_device_.emplace(*control, *device_memory_, true);
  }

  Device* device() const { return device_.get(); }
  /// NULL for a kernel of a device that is not there, or not any more. Its supports reads the
  /// host's memory alone, and is asked all the same.
  Caller* of(const rope_kernel& kernel, std::uint32_t steps) {
    if (kernel.memory != ROPE_CUDA || (!on_device_ && steps == step_supports)) return &host_;
    return on_device_ ? &*on_device_ : nullptr;
  }
  void accept_output() { host_.accept_output(); }

 private:
  std::unique_ptr<Device> device_;
  HostMemory host_memory_;
  std::optional<DeviceMemory> device_memory_;
  Caller host_;
  std::optional<Caller> on_device_;
};

// The list LD_PRELOAD ends a path at a space or a colon. Such a file is named by its descriptor.
std::string preloadable(const std::string& file) {
  if (file.find_first_of(" :") == std::string::npos) return file;
  return "/proc/self/fd/" + std::to_string(open(file.c_str(), O_RDONLY));
}

// Makes this process the interpreter, which loads the worker as a library (decision 48). Process,
// descriptors, group and death signal stay. Returns only if that fails, with the reason.
std::string become_interpreter(const WorkerArguments& arguments) {
  if (arguments.library.empty())
    return "cannot run Python files: this build has no libropewalk_worker.so (builds with a "
           "sanitizer leave it out)";
  const std::string interpreter = script_interpreter();
  // A wheel has the package's files beside the library, other installations in python/ropewalk.
  const auto folder = std::filesystem::path(arguments.library).parent_path();
  std::filesystem::path program = folder / "worker.py";
  std::error_code error;
  if (!std::filesystem::exists(program, error)) program = folder / "python/ropewalk/worker.py";
  std::vector<std::string> words{interpreter,
                                 "-u",  // else printed text would lie in a buffer past the watch
                                 program.string(),
                                 arguments.library,
                                 "--cpu-features",
                                 arguments.cpu_features,
                                 "--kept",
                                 "yes"};
  for (const auto& [plugin, tolerated] : arguments.plugins) {
    if (!tolerated.empty()) words.insert(words.end(), {"--tolerate", tolerated});
    words.insert(words.end(), {"--plugin", plugin});
  }
  if (arguments.with_device) words.insert(words.end(), {"--device", "cuda"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // A row is of one thread, and threads of a library's pool would be a finding.
  for (const char* pool : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC",
                           "TORCHINDUCTOR_COMPILE_THREADS"})
    setenv(pool, "1", 0);
  // The library's allocator comes first (heap_watch.h). worker.py gives the user's list back.
  const char* users = std::getenv("LD_PRELOAD");
  const std::string preloaded = preloadable(arguments.library);
  setenv("LD_PRELOAD", users == nullptr ? preloaded.c_str() : (preloaded + ":" + users).c_str(), 1);
  execvp(argv[0], argv.data());
  return "cannot start " + interpreter + ": " + strerror(errno);
}

}  // namespace

WorkerArguments worker_arguments(int count, const char* const* words) {
  WorkerArguments arguments;
  std::string tolerated;
  for (int i = 0; i + 1 < count; i += 2) {
    const std::string option = words[i], value = words[i + 1];
    if (option == "--tolerate") tolerated = value;
    if (option == "--plugin") arguments.plugins.emplace_back(value, std::exchange(tolerated, {}));
    if (option == "--cpu-features") arguments.cpu_features = value;
    if (option == "--device") arguments.with_device = value == "cuda";
    if (option == "--kept") arguments.is_kept = value == "yes";
  }
  return arguments;
}

void worker_main(const WorkerArguments& arguments, const TimingHandler& timing) {
  void* shared =
      mmap(nullptr, buffers_offset, PROT_READ | PROT_WRITE, MAP_SHARED, memory_descriptor, 0);
  if (shared == MAP_FAILED) _exit(2);
  control = static_cast<Control*>(shared);
  control->version = version;
  if (arguments.is_kept)
    stay_under_keeper();
  else
    continue_under_keeper(*control);
  const bool has_script = std::any_of(arguments.plugins.begin(), arguments.plugins.end(),
                                      [](const auto& plugin) { return is_script(plugin.first); });
  if (has_script && !arguments.is_kept) Wire::end_unheard(become_interpreter(arguments));
  const auto* call =
      reinterpret_cast<const CallDescriptor*>(static_cast<std::byte*>(shared) + call_offset);
  catch_faults();
  // The C library would allocate the buffer of stdout in the first call that prints.
  static char stdout_buffer[BUFSIZ];
  std::setvbuf(stdout, stdout_buffer, _IOFBF, sizeof stdout_buffer);
  Wire wire;
  std::vector<LoadedKernel> kernels;
  std::string load_error;
  try {
    kernels = load_all(arguments);
  } catch (const std::exception& e) {
    load_error = e.what();
  }
  if (has_script) catch_faults();  // again, as faulthandler of an import takes the handlers
  Callers callers(arguments.with_device ? &kernels : nullptr);
  while (const auto request = wire.receive()) {
    const Command command = request->command;
    if (command == Command::hello) {
      const auto count = static_cast<std::uint32_t>(kernels.size());
      load_error.empty() ? wire.answer(Status::ok, loaded().remarks, {.kernels = count})
                         : wire.answer(Status::failed, load_error);
    } else if (command == Command::time) {
      time_board(wire, timing, kernels, callers.device(), request->text_bytes);
      callers.accept_output();
    } else if (request->kernel >= kernels.size()) {
      wire.answer(Status::failed, "no such kernel");
    } else if (command == Command::list) {
      describe(wire, kernels[request->kernel], request->kernel, callers.device());
    } else {
      const LoadedKernel& asked = kernels[request->kernel];
      Caller* caller = callers.of(*asked.kernel, request->steps);
      if (caller == nullptr) wire.answer(Status::failed, asked.cannot_run);
      const std::uint32_t questions =
          request->steps != step_supports ? 1 : std::clamp(call->callers, 1u, most_questions);
      for (std::uint32_t i = 0; caller != nullptr && i < questions; ++i) {
        control->question = i;
        if (run_call(wire, *caller, *asked.kernel, request->steps, call[i], i, i + 1 == questions))
          break;
      }
    }
  }
  _exit(0);
}

}  // namespace ropewalk::harness
