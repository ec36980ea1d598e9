// Adapter: libggml-python 0.20.2.post1 (PyPI, 3 MB)
// Needs: libggml/include libggml/lib64/libggml-cpu.so libggml/lib64/libggml-base.so
//
// ggml's rope on one thread, as llama.cpp calls it: one graph with a node for each tensor,
// freq_base from the frequencies, and freq_factors where no base makes them. ggml makes its own
// angles in f32: the position times a power of the base, by repeated products.
#include <ggml-cpu.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

struct State {
  ggml_context* context = nullptr;
  ggml_threadpool* pool = nullptr;
  ggml_cgraph* graph = nullptr;
  ggml_cplan plan{};
  ggml_tensor *positions = nullptr, *in[ROPE_MAX_TENSORS]{}, *out[ROPE_MAX_TENSORS]{};
  std::vector<std::uint8_t> work;
  std::vector<float> factors;
};

/// The stride of the tokens of all batch rows, if there is one; else -1.
std::int64_t flat_stride(const rope_problem& p, std::int64_t batch_stride,
                         std::int64_t token_stride) {
  if (p.batch == 1) return token_stride;
  if (p.tokens == 1) return batch_stride;
  return batch_stride == p.tokens * token_stride ? token_stride : -1;
}

std::int32_t supports(const rope_problem* p, const char** reason) {
  if (p->angle_source != ROPE_ANGLES_INV_FREQ)
    return refuse(reason, "makes its own angles and takes no table");
  if (p->position_dtype != ROPE_I32) return refuse(reason, "only int32 positions");
  if (const Refusal why = only_packed_positions(*p); why != nullptr) return refuse(reason, why);
  for (std::uint32_t i = 0; i < p->tensor_count; ++i) {
    const rope_tensor& t = p->tensor[i];
    if (t.in_dtype != p->tensor[0].in_dtype || (t.in_dtype != ROPE_F32 && t.in_dtype != ROPE_F16))
      return refuse(reason, "only f32 or f16 data, of one type");
    if (t.rotate == 0) return refuse(reason, "copies no tensor");
    if (t.rotary_offset != 0) return refuse(reason, "the window begins at element 0");
    if (t.head_dim % 2 != 0) return refuse(reason, "only even head sizes");
    if (flat_stride(*p, t.in_batch_stride, t.in_token_stride) < 0)
      return refuse(reason, "batch rows must follow each other like tokens");
    const bool packed =
        (t.heads == 1 || t.out_head_stride == t.head_dim) &&
        (p->batch * p->tokens == 1 ||
         flat_stride(*p, t.out_batch_stride, t.out_token_stride) == t.heads * t.head_dim);
    if (!packed && (t.in_place == 0 || p->operation == ROPE_TRANSPOSE))
      return refuse(reason, "makes packed results, unless forward in place");
  }
  return ROPE_OK;
}

/// Fills `factors` with what the library's own frequencies have to be divided by, or leaves it
/// empty. Returns the base.
float base_of(const rope_problem& p, std::vector<float>& factors) {
  const std::int64_t pairs = p.rotary_dim / 2;
  const double count = static_cast<double>(pairs), last = p.inv_freq[pairs - 1];
  double base = 1;
  if (pairs > 1 && p.inv_freq[0] == 1 && last > 0 && last < 1)
    base = std::pow(last, -count / (count - 1));
  if (std::abs(base - std::round(base)) < 1e-6 * base) base = std::round(base);
  bool geometric = true;
  std::int64_t longest = 0;  // ggml reads head_dim / 2 factors, although it uses `pairs` of them
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    longest = std::max(longest, p.tensor[i].head_dim);
  factors.resize(static_cast<std::size_t>(longest / 2), 1.0F);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double factor = std::pow(base, -static_cast<double>(i) / count) / p.inv_freq[i];
    factors[static_cast<std::size_t>(i)] = static_cast<float>(factor);
    geometric = geometric && std::abs(factor - 1) < 1e-6;
  }
  if (geometric) factors.clear();
  return static_cast<float>(base);
}

void release(void* pointer) {
  auto* state = static_cast<State*>(pointer);
  ggml_threadpool_free(state->pool);
  ggml_free(state->context);
  delete state;
}

std::int32_t prepare(const rope_problem* p, void** result) {
  ggml_cpu_init();
  auto* state = new State;
  *result = state;
  state->context = ggml_init({ggml_tensor_overhead() * (2 * ROPE_MAX_TENSORS + 2) +
                                  ggml_graph_overhead_custom(4 * ROPE_MAX_TENSORS, false),
                              nullptr, true});
  ggml_context* context = state->context;
  const float base = base_of(*p, state->factors);
  ggml_tensor* factors = nullptr;
  state->positions = ggml_new_tensor_1d(context, GGML_TYPE_I32, p->batch * p->tokens);
  state->graph = ggml_new_graph_custom(context, 4 * ROPE_MAX_TENSORS, false);
  if (!state->factors.empty()) {
    factors = ggml_new_tensor_1d(context, GGML_TYPE_F32,
                                 static_cast<std::int64_t>(state->factors.size()));
    factors->data = state->factors.data();
  }
  const auto rope = p->operation == ROPE_TRANSPOSE ? ggml_rope_ext_back : ggml_rope_ext;
  for (std::uint32_t i = 0; i < p->tensor_count; ++i) {
    const rope_tensor& t = p->tensor[i];
    const auto type = t.in_dtype == ROPE_F32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
    const std::size_t size = ggml_type_size(type);
    ggml_tensor* in = ggml_new_tensor_3d(context, type, t.head_dim, t.heads, p->batch * p->tokens);
    ggml_tensor* out = rope(context, in, state->positions, factors, static_cast<int>(p->rotary_dim),
                            p->pairing == ROPE_HALF_SPLIT ? GGML_ROPE_TYPE_NEOX : 0, 0, base, 1, 0,
                            static_cast<float>(scale_of(*p)), 32, 1);
    if (t.heads > 1) in->nb[1] = size * static_cast<std::size_t>(t.in_head_stride);
    in->nb[2] =
        size * static_cast<std::size_t>(flat_stride(*p, t.in_batch_stride, t.in_token_stride));
    if (t.in_place != 0)
      for (const int axis : {1, 2}) out->nb[axis] = in->nb[axis];
    ggml_build_forward_expand(state->graph, out);
    state->in[i] = in;
    state->out[i] = out;
  }
  ggml_threadpool_params one = ggml_threadpool_params_default(1);
  state->pool = ggml_threadpool_new(&one);
  state->plan = ggml_graph_plan(state->graph, 1, state->pool);
  state->work.resize(state->plan.work_size);
  state->plan.work_data = state->work.data();
  return ROPE_OK;
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void* pointer) {
  auto* state = static_cast<State*>(pointer);
  state->positions->data = const_cast<void*>(o->positions);
  for (std::uint32_t i = 0; i < p->tensor_count; ++i) {
    state->in[i]->data = const_cast<void*>(o->tensor[i].in);
    state->out[i]->data = o->tensor[i].out;
  }
  return ggml_graph_compute(state->graph, &state->plan) == GGML_STATUS_SUCCESS ? ROPE_OK
                                                                               : ROPE_FAILED;
}

/// Within these limits the declared bound covers the angles.
std::int32_t supports_near(const rope_problem* p, const char** reason) {
  if (p->tensor[0].in_dtype != ROPE_F16) return refuse(reason, "only f16 data");
  if (p->min_position <= -512 || p->max_position >= 512)
    return refuse(reason, "only positions -511 .. 511, else the angles are off by more than 5 u");
  return supports(p, reason);
}

KernelInfo ggml_kernel() {
  KernelInfo k;
  k.name = "ggml";
  k.summary = "ggml_rope_ext on one thread";
  k.source = "ggml";
  k.cpu_features = "avx2,fma,f16c";  // those of the wheel
  k.angle_contract = ROPE_CONTRACT_F32_ANGLE;
  k.supports = supports;
  k.prepare = prepare;
  k.apply = apply;
  k.release = release;
  k.exceptions = ROPE_ALLOCATES;
  return k;
}
const RegisteredKernel any{ggml_kernel()};
const RegisteredKernel near{[] {
  KernelInfo k = ggml_kernel();
  k.name = "ggml_f16";
  k.supports = supports_near;
  k.error_bound = 5;
  return k;
}()};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
