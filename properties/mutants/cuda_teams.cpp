// CUDA bodies whose lanes work together, run by the host launcher on fibers: each correct one is a
// control, and has an error beside it. f32 data only.
#include <cstdint>

#include "kernels/cuda/fibers.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

using namespace cuda;

constexpr std::int64_t most_elements = 1024;

// One warp for a narrow head, and two for others.
Extent block_threads(const rope_problem& p) {
  return {p.rotary_dim > 32 ? 2 * lanes_of_warp : lanes_of_warp};
}

// One head of a launch, and what turns it.
struct TeamHead {
  const Head<float>* head;
  std::int64_t half;
  std::int32_t pairing;
  float scale, sign;

  // The turned element e, from it and its partner.
  float turned(std::int64_t e, float own, float partner) const {
    const std::int64_t pair = pairing == ROPE_HALF_SPLIT ? e % half : e / 2;
    const bool second = e == pair_index(pairing, pair, half).second;
    const float c = head->cos[pair], s = sign * head->sin[pair];
    return scale * (second ? own * c + partner * s : own * c - partner * s);
  }
  std::int64_t partner_of(std::int64_t e) const {
    return pairing == ROPE_HALF_SPLIT ? (e + half) % (2 * half) : e ^ 1;
  }
};

std::size_t workspace(const rope_problem* p) {
  return TeamMemory::bytes_for(block_threads(*p), most_elements * sizeof(float));
}

using TeamBody = void (*)(const TeamHead&, const Lane&, Team&);

// A block for each head, one launch after another.
template <TeamBody body>
std::int32_t apply_team(const rope_problem* p, const rope_operands* o, void*) {
  LaunchFault fault;
  const TeamMemory memory{o->workspace, workspace(p), most_elements * sizeof(float)};
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      const TeamHead its{&head, p->rotary_dim / 2, p->pairing, static_cast<float>(scale_of(*p)),
                         sign_of(*p)};
      run_teams({{1}, block_threads(*p)}, Shuffled{20210420}, memory, fault,
                [&](const Lane& lane, Team& team) { body(its, lane, team); });
    });
  });
  return fault.met() ? ROPE_FAILED : ROPE_OK;
}

// A fiber takes a thousand times as long as a loop, so a call has few heads.
std::int32_t supports_few_heads(const rope_problem* p, const char** reason) {
  for (std::uint32_t i = 0; i < p->tensor_count; ++i)
    if (p->batch * p->tokens * p->tensor[i].heads > 48) return refuse(reason, "at most 48 heads");
  if (p->rotary_dim > most_elements) return refuse(reason, "at most 1024 rotated elements");
  return supports_table(p, reason);
}

KernelInfo team_info(const char* name, decltype(rope_kernel::apply) apply) {
  KernelInfo info = table_info<Correct>(name);
  info.flags |= ROPE_HOST_LAUNCHER;
  info.workspace_bytes = workspace;
  info.apply = apply;
  info.supports = supports_few_heads;
  return info;
}

// Brings the head into the block's shared memory, and turns each element with its partner there.
template <bool waits>
void through_shared_memory(const TeamHead& its, const Lane& lane, Team& team) {
  auto* shared = static_cast<float*>(team.shared());
  for (std::int64_t e = lane.thread.x; e < 2 * its.half; e += lane.threads.x)
    shared[e] = its.head->in[e];
  if (waits) team.barrier();
  for (std::int64_t e = lane.thread.x; e < 2 * its.half; e += lane.threads.x)
    its.head->out[e] = its.turned(e, shared[e], shared[its.partner_of(e)]);
}
const RegisteredKernel shared_memory{
    team_info("control_cuda_barrier_table", apply_team<through_shared_memory<true>>)};
// The barrier is missing: a lane reads what another has not written yet. Seen by agreement.
const RegisteredKernel no_barrier{
    team_info("mutant_cuda_no_barrier_table", apply_team<through_shared_memory<false>>)};

// A lane has an element, and its partner's from the lane beside it: interleaved pairs only.
template <bool all_lanes>
void by_shuffle(const TeamHead& its, const Lane& lane, Team& team) {
  const std::int64_t elements = 2 * its.half;
  // All lanes of the block go on until the last one has no element, as a shuffle joins them.
  for (std::int64_t first = 0; first < elements; first += lane.threads.x) {
    const std::int64_t e = first + lane.thread.x;
    if (!all_lanes && e >= elements) continue;
    const float own = e < elements ? its.head->in[e] : 0;
    const float partner = team.shuffle_xor(own, 1);
    if (e < elements) its.head->out[e] = its.turned(e, own, partner);
  }
}
template <bool all_lanes>
KernelInfo shuffle_info(const char* name) {
  KernelInfo info = team_info(name, apply_team<by_shuffle<all_lanes>>);
  info.supports = [](const rope_problem* p, const char** reason) -> std::int32_t {
    if (p->pairing != ROPE_INTERLEAVED) return refuse(reason, "interleaved pairs only");
    return supports_few_heads(p, reason);
  };
  return info;
}
const RegisteredKernel shuffle{shuffle_info<true>("control_cuda_shuffle_table")};
// The shuffle is inside a branch, which lanes without an element leave out. Seen as a failed launch
// wherever a head does not fill its warps.
const RegisteredKernel shuffle_in_branch{
    shuffle_info<false>("mutant_cuda_shuffle_in_branch_table")};

}  // namespace
}  // namespace ropewalk::mutants
