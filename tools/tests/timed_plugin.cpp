// Kernels for tests of timing, each f32 with tables. same_NN: one function under many names.
// slow_NN: the same function, which does a fortieth of its work again in four calls of five. On
// workloads of 40 heads that is 2 % more. cheat_*: right for as many calls as verification makes.
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

constexpr std::int64_t long_enough = 150'000, crash_at = 250'000, far_position = 1 << 17;

void rotate_head(const rope_problem& p, const Head<float>& head, float* to) {
  const std::int64_t half = p.rotary_dim / 2;
  const float scale = p.attention_scale == 0 ? 1.0f : static_cast<float>(p.attention_scale);
  const float turn = p.operation == ROPE_TRANSPOSE ? -1.0f : 1.0f;
  if (head.cos == nullptr || head.sin == nullptr)
    __builtin_unreachable();  // supports() asks for them
  for (std::int64_t i = 0; i < half; ++i) {
    const PairIndex at = pair_index(p.pairing, i, half);
    const float a = head.in[at.first], b = head.in[at.second], sin = turn * head.sin[i];
    to[at.first] = scale * (a * head.cos[i] - b * sin);
    to[at.second] = scale * (a * sin + b * head.cos[i]);
  }
}

/// `extra` is the number of the head that is rotated once more in each token; NULL for none.
std::int32_t rotate_all(const rope_problem& p, const rope_operands& o, float* extra) {
  for_each_token(p, o, [&](const Token& token) {
    bool first = true;
    for_each_head<float>(p, o, token, [&](const Head<float>& head) {
      if (first && extra != nullptr) rotate_head(p, head, extra);
      first = false;
      rotate_head(p, head, head.out);
    });
  });
  return ROPE_OK;
}

std::int32_t same(const rope_problem* p, const rope_operands* o, void*) {
  return rotate_all(*p, *o, nullptr);
}
std::int32_t slow(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t calls = 0;
  return rotate_all(*p, *o, ++calls % 5 == 0 ? nullptr : static_cast<float*>(o->workspace));
}
std::size_t one_head(const rope_problem* p) {
  return static_cast<std::size_t>(p->rotary_dim) * sizeof(float);
}

// ---- cheats

std::int32_t lazy(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t calls = 0;
  return ++calls < long_enough ? rotate_all(*p, *o, nullptr) : ROPE_OK;
}
std::int32_t crash(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t calls = 0;
  if (++calls == crash_at) std::raise(SIGSEGV);
  return rotate_all(*p, *o, nullptr);
}
std::int32_t no_tail(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t calls = 0;
  rope_problem seen = *p;
  if (++calls >= long_enough && seen.tensor[0].heads > 1 && seen.tensor[0].in_place != 0)
    --seen.tensor[0].heads;
  return rotate_all(seen, *o, nullptr);
}
std::int32_t cached(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t calls = 0;
  static std::array<std::byte, 1 << 20> kept;
  static std::size_t kept_bytes = 0;
  const rope_tensor& q = p->tensor[0];
  const auto bytes = static_cast<std::size_t>(p->batch * p->tokens * q.heads * q.head_dim) * 4;
  if (++calls > long_enough && kept_bytes == bytes) {
    std::memcpy(o->tensor[0].out, kept.data(), bytes);
    return ROPE_OK;
  }
  rotate_all(*p, *o, nullptr);
  if (calls == long_enough && bytes <= kept.size()) {
    std::memcpy(kept.data(), o->tensor[0].out, bytes);
    kept_bytes = bytes;
  }
  return ROPE_OK;
}
std::int32_t far(const rope_problem* p, const rope_operands* o, void*) {
  rope_problem seen = *p;
  if (p->max_position < far_position) return rotate_all(*p, *o, nullptr);
  for_each_token(*p, *o, [&](const Token& token) {
    seen.operation = token.position > far_position ? 1 - p->operation : p->operation;
    for_each_head<float>(*p, *o, token,
                         [&](const Head<float>& head) { rotate_head(seen, head, head.out); });
  });
  return ROPE_OK;
}

std::int32_t throwing(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t calls = 0;
  if (++calls >= long_enough) throw std::bad_alloc();
  return rotate_all(*p, *o, nullptr);
}
std::int32_t helped(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t calls = 0;
  if (++calls < long_enough) return rotate_all(*p, *o, nullptr);
  std::thread([&] { rotate_all(*p, *o, nullptr); }).join();
  return ROPE_OK;
}
// Skips every second pair of backward and forward calls: the buffer already holds the data turned
// forward.
std::int32_t half_the_pairs(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t calls = 0, left = 0;
  if (++calls < long_enough) return rotate_all(*p, *o, nullptr);
  if (p->operation == ROPE_TRANSPOSE) {
    left = calls;
    return ROPE_OK;
  }
  return left == calls - 1 ? ROPE_OK : rotate_all(*p, *o, nullptr);
}
std::int32_t only_300_tokens(const rope_problem* p, const char** reason) {
  return p->tokens == 300 ? supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason)
                          : ROPE_UNSUPPORTED;
}
std::int32_t tokens_by_sixteen(const rope_problem* p, const char** reason) {
  return p->tokens % 16 == 0 ? supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason)
                             : ROPE_UNSUPPORTED;
}
std::int32_t dies_when_asked(const rope_problem*, const char**) {
  std::abort();
}

std::int32_t supports(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason);
}

using Apply = std::int32_t (*)(const rope_problem*, const rope_operands*, void*);

KernelInfo info_of(const char* name, Apply apply) {
  KernelInfo info;
  info.name = name;
  info.supports = supports;
  info.apply = apply;
  return info;
}

constexpr std::size_t copies = 11;
struct TimedKernels {
  std::deque<std::string> names;
  std::deque<RegisteredKernel> kernels;
  TimedKernels() {
    for (std::size_t i = 0; i < copies; ++i) {
      const std::string number = (i < 10 ? "0" : "") + std::to_string(i);
      names.push_back("same_" + number);
      kernels.emplace_back(info_of(names.back().c_str(), same));
      names.push_back("slow_" + number);
      KernelInfo info = info_of(names.back().c_str(), slow);
      info.workspace_bytes = one_head;
      kernels.emplace_back(info);
    }
    for (const auto& [name, apply] : {std::pair<const char*, Apply>{"cheat_lazy", lazy},
                                      {"cheat_crash", crash},
                                      {"cheat_no_tail", no_tail},
                                      {"cheat_cached", cached},
                                      {"cheat_throws", throwing},
                                      {"cheat_helped", helped},
                                      {"cheat_pairs", half_the_pairs},
                                      {"cheat_far", far}})
      kernels.emplace_back(info_of(name, apply));
    using Supports = std::int32_t (*)(const rope_problem*, const char**);
    for (const auto& [name, supports] :
         {std::pair<const char*, Supports>{"cheat_dies_when_asked", dies_when_asked},
          {"only_300_tokens", only_300_tokens},
          {"tokens_by_sixteen", tokens_by_sixteen}}) {
      KernelInfo info = info_of(name, same);
      info.supports = supports;
      kernels.emplace_back(info);
    }
  }
};
const TimedKernels registry;

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
