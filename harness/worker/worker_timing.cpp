// The parent side of `time`: receives a board's messages from a process that contains kernels.

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/printable.h"
#include "harness/worker/worker.h"

namespace ropewalk::harness {
using namespace protocol;

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
    return {end_of(how, {}), 0, label};
  };
  const auto ended_for = [&](const std::string& what, const std::string& who) -> TimeResult {
    stop();
    return {{CallResult::Kind::crash, what}, 0, who};
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

}  // namespace ropewalk::harness
