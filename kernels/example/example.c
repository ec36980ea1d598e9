/* example.cpp in C99: nothing but the contract, so any language with a C ABI can do this. */
#include <kernels/api/rope_kernel.h>
#include <string.h>

static int32_t supports(const rope_problem* p, const char** reason) {
  int f32 = p->angle_source == ROPE_ANGLES_TABLE && p->table_dtype == ROPE_F32;
  for (uint32_t i = 0; i < p->tensor_count; ++i) f32 &= p->tensor[i].in_dtype == ROPE_F32;
  if (!f32 && reason) *reason = "only f32 data with a table of f32";
  return f32 ? ROPE_OK : ROPE_UNSUPPORTED;
}

/* The table row of a token. An axis of size 1 has index 0, whatever its stride. */
static int64_t row_of(const rope_problem* p, const rope_operands* o, int64_t b, int64_t t) {
  int64_t i = b * p->position_batch_stride + t * p->position_token_stride;
  if (p->table_rows_by == ROPE_ROW_BY_TOKEN) return b * p->tokens + t;
  return p->position_dtype == ROPE_I64 ? ((const int64_t*)o->positions)[i]
                                       : ((const int32_t*)o->positions)[i];
}

static void rotate(const rope_problem* p, float* x, const float* cos, const float* sin) {
  int64_t half = p->rotary_dim / 2, split = p->pairing == ROPE_HALF_SPLIT;
  float a = p->attention_scale == 0 ? 1 : (float)p->attention_scale;
  float sign = p->operation == ROPE_TRANSPOSE ? -1 : 1;
  for (int64_t i = 0; i < half; ++i) {
    float *first = x + (split ? i : 2 * i), *second = x + (split ? i + half : 2 * i + 1);
    float x1 = *first, x2 = *second, c = cos[i], s = sign * sin[i];
    *first = a * (x1 * c - x2 * s);
    *second = a * (x2 * c + x1 * s);
  }
}

static int32_t apply(const rope_problem* p, const rope_operands* o, void* state) {
  (void)state;
  for (int64_t b = 0; b < p->batch; ++b)
    for (int64_t t = 0; t < p->tokens; ++t) {
      int64_t at = row_of(p, o, b, t) * p->table_row_stride;
      for (uint32_t i = 0; i < p->tensor_count; ++i) {
        const rope_tensor* s = &p->tensor[i];
        for (int64_t h = 0; h < s->heads; ++h) {
          const float* in = (const float*)o->tensor[i].in + b * s->in_batch_stride +
                            t * s->in_token_stride + h * s->in_head_stride;
          float* out = (float*)o->tensor[i].out + b * s->out_batch_stride +
                       t * s->out_token_stride + h * s->out_head_stride;
          if (out != in) memcpy(out, in, (size_t)s->head_dim * sizeof(float));
          if (s->rotate)
            rotate(p, out + s->rotary_offset, (const float*)o->tensor[i].cos + at,
                   (const float*)o->tensor[i].sin + at);
        }
      }
    }
  return ROPE_OK;
}

static const rope_kernel kernel = {.struct_size = sizeof(rope_kernel),
                                   .abi_version = ROPE_ABI_VERSION,
                                   .name = "example_c",
                                   .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE,
                                   .supports = supports,
                                   .apply = apply};
static const rope_kernel* const kernels[] = {&kernel};
static const rope_kernel_list list = {sizeof(rope_kernel_list), ROPE_ABI_VERSION, 1, kernels};
const rope_kernel_list* rope_kernels_v1(void) {
  return &list;
}
