// A plugin for tests. Its kernel `hostile` harms the process it runs in. HOSTILE_DO in the
// environment names the harm, and HOSTILE_IN the place: load, supports, prepare or apply
// (the default). `hostile_neighbour` is correct.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>

#include "harness/protocol.h"
#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

using harness::protocol::memory_descriptor;
using harness::protocol::Reply;
using harness::protocol::socket_descriptor;

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

void send_packet(std::size_t bytes) {
  const std::string packet(bytes, '\3');
  (void)!write(socket_descriptor, packet.data(), packet.size());
}

// Writes a Reply that says all went well. Only its nonce is wrong, because a kernel cannot know the
// nonce.
void forge_reply() {
  const Reply reply{.repeated = 1, .kernels = 1};
  (void)!write(socket_descriptor, &reply, sizeof reply);
}

// Leaves a process in a session of its own. The parent of this process ends at once.
void leave_process() {
  if (fork() != 0) return;
  setsid();
  if (fork() == 0)
    for (int s = 0; s < 60; ++s) sleep(1);
  _exit(0);
}

// Returns false in the first process that asks.
bool was_loaded_before() {
  const std::string mark = variable("HOSTILE_MARK", "");
  if (access(mark.c_str(), F_OK) == 0) return true;
  close(open(mark.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  return false;
}

void grow_by_writing() {
  const std::string block(1 << 16, 'x');
  for (off_t at = 1 << 20; at < (off_t{1} << 28); at += 1 << 16)
    (void)!pwrite(memory_descriptor, block.data(), block.size(), at);
}

void act(const std::string& what) {
  if (what == "grow") (void)!ftruncate(memory_descriptor, off_t{1} << 40);
  if (what == "grow_by_writing") grow_by_writing();
  if (what == "seal") fcntl(memory_descriptor, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL);
  if (what == "close_socket") close(socket_descriptor);
  if (what == "close_memory") close(memory_descriptor);
  if (what == "another_socket") dup2(STDIN_FILENO, socket_descriptor);
  if (what == "shut_socket") shutdown(socket_descriptor, SHUT_RDWR);
  if (what == "packet_of_5") send_packet(5);
  if (what == "packet_of_0") (void)!send(socket_descriptor, "", 0, 0);
  if (what == "forged_reply") forge_reply();
  for (int i = 0; what == "flood" && i < 1000; ++i) send_packet(512);
  if (what == "no_wait") fcntl(socket_descriptor, F_SETFL, O_NONBLOCK);
  if (what == "leave_process") leave_process();
  if (what == "leave_and_crash") leave_process(), std::raise(SIGSEGV);
  if (what == "kill_parent") kill(getppid(), SIGKILL), pause();
  if (what == "stop_parent") kill(getppid(), SIGSTOP), std::abort();
  if (what == "load_once" && was_loaded_before()) std::_Exit(5);
  if (what == "change_directory") (void)!chdir("/");
}

void act_in(const std::string& place) {
  if (variable("HOSTILE_IN", "apply") == place) act(variable("HOSTILE_DO", ""));
}

void rotate_head(const rope_problem& p, const Head<float>& head) {
  const auto scale = static_cast<float>(scale_of(p));
  const std::int64_t half = p.rotary_dim / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [a, b] = pair_index(p.pairing, i, half);
    const float x1 = head.in[a], x2 = head.in[b], sin = sign_of(p) * head.sin[i];
    head.out[a] = scale * (x1 * head.cos[i] - x2 * sin);
    head.out[b] = scale * (x2 * head.cos[i] + x1 * sin);
  }
}

const KernelInfo right = f32_table_kernel<rotate_head>("hostile_neighbour");

std::int32_t hostile_supports(const rope_problem* p, const char** reason) {
  act_in("supports");
  return right.supports(p, reason);
}
std::int32_t hostile_prepare(const rope_problem*, void**) {
  act_in("prepare");
  return ROPE_OK;
}
std::int32_t hostile_apply(const rope_problem* p, const rope_operands* o, void* state) {
  act_in("apply");
  return right.apply(p, o, state);
}

KernelInfo hostile() {
  act_in("load");
  KernelInfo k = right;
  k.name = "hostile";
  k.supports = hostile_supports;
  k.prepare = hostile_prepare;
  k.apply = hostile_apply;
  return k;
}

const RegisteredKernel neighbour{right};
const std::unique_ptr<RegisteredKernel> not_always(variable("HOSTILE_DO", "") == "vanish" &&
                                                           was_loaded_before()
                                                       ? nullptr
                                                       : new RegisteredKernel(hostile()));

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
