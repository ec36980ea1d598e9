/* Answers a file of questions (docs/vectors.md) by a kernel of a plugin:
 *
 *   answer_file PLUGIN.so KERNEL questions.safetensors answers.safetensors
 *
 * It reads the header as `ropewalk vectors` writes it, in whose order the words stand. */
#define _GNU_SOURCE /* aligned_alloc, open_memstream */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/api/rope_kernel.h"

typedef struct {
  char dtype[8];
  long long shape[4], begin, end; /* [batch, tokens, heads, head_dim]; bytes behind the header */
} Tensor;

static char *header, *data;

static void stop(const char* why, const char* what) {
  fprintf(stderr, "answer_file: %s %s\n", why, what);
  exit(2);
}

static int find(int question, const char* name, const char* end, Tensor* t) {
  char key[64];
  snprintf(key, sizeof key, "\"%d.%s%s\": {\"dtype\": \"", question, name, end);
  const char* at = strstr(header, key);
  if (at == NULL) return 0;
  memset(t, 0, sizeof *t);
  sscanf(at + strlen(key), "%7[^\"]\", \"shape\": [%lld, %lld, %lld, %lld", t->dtype, &t->shape[0],
         &t->shape[1], &t->shape[2], &t->shape[3]);
  at = strstr(at, "\"data_offsets\": [");
  return sscanf(at, "\"data_offsets\": [%lld, %lld", &t->begin, &t->end) == 2;
}

/* What stands behind a key of the text `at`, which is JSON in a string of JSON. */
static const char* value(const char* at, const char* key) {
  char text[64];
  snprintf(text, sizeof text, "\\\"%s\\\": ", key);
  at = strstr(at, text);
  if (at == NULL) stop("the questions have no", key);
  return at + strlen(text);
}

/* A table with a row for each position, of which those asked for are set. */
static float* table(int question, const char* name, const char* what, const long long* positions,
                    long long rows, long long pairs) {
  Tensor t;
  char end[8];
  snprintf(end, sizeof end, "_%s", what);
  if (!find(question, name, end, &t) && !find(question, "", what, &t)) stop("no table", what);
  float* out = calloc((size_t)(rows * pairs), sizeof *out);
  for (long long i = 0; i < (t.end - t.begin) / (4 * pairs); ++i)
    memcpy(out + positions[i] * pairs, data + t.begin + 4 * pairs * i, (size_t)(4 * pairs));
  return out;
}

static void answer(const rope_kernel* kernel, int question, const char* asked, FILE* entries,
                   FILE* outputs) {
  static const char* const names[ROPE_MAX_TENSORS] = {"q", "k", "v", "w"};
  static double no_frequencies[1 << 16];
  rope_problem p = {.struct_size = sizeof p, .abi_version = ROPE_ABI_VERSION};
  rope_operands o = {.struct_size = sizeof o};
  Tensor t;
  if (!find(question, "", "position_ids", &t)) stop("no", "position_ids");
  long long* positions = malloc((size_t)(t.end - t.begin));
  memcpy(positions, data + t.begin, (size_t)(t.end - t.begin));
  for (long long i = 0; i < (t.end - t.begin) / 8; ++i)
    if (positions[i] > p.max_position) p.max_position = positions[i];
  p.batch = t.shape[0], p.tokens = t.shape[1];
  p.operation = *value(asked, "inverse") == 't' ? ROPE_TRANSPOSE : ROPE_FORWARD;
  p.pairing = strncmp(value(asked, "pairing"), "\\\"half", 6) ? ROPE_INTERLEAVED : ROPE_HALF_SPLIT;
  p.table_dtype = ROPE_F32, p.position_dtype = ROPE_I64;
  p.rotary_dim = atoll(value(asked, "rotary_dim"));
  p.attention_scale = atof(value(asked, "scale"));
  p.position_batch_stride = p.tokens, p.position_token_stride = 1;
  p.table_rows = p.max_position + 1, p.table_row_stride = p.rotary_dim / 2;
  p.inv_freq = no_frequencies;
  o.positions = positions;
  for (int i = 0; i < ROPE_MAX_TENSORS && find(question, names[i], "", &t); ++i) {
    const char* words = value(asked, names[i]);
    rope_tensor* one = &p.tensor[p.tensor_count++];
    one->heads = t.shape[2], one->head_dim = t.shape[3];
    one->in_head_stride = t.shape[3], one->in_token_stride = t.shape[2] * t.shape[3];
    one->in_batch_stride = t.shape[1] * one->in_token_stride;
    one->out_head_stride = one->in_head_stride, one->out_token_stride = one->in_token_stride;
    one->out_batch_stride = one->in_batch_stride;
    one->in_dtype = !strcmp(t.dtype, "F16") ? ROPE_F16 : t.dtype[0] == 'B' ? ROPE_BF16 : ROPE_F32;
    one->out_dtype = one->in_dtype;
    one->rotary_offset = atoll(value(words, "rotary_offset"));
    one->rotate = *value(words, "rotate") == 't';
    o.tensor[i].in =
        memcpy(malloc((size_t)(t.end - t.begin)), data + t.begin, (size_t)(t.end - t.begin));
    o.tensor[i].out = malloc((size_t)(t.end - t.begin));
    if (one->rotate) {
      o.tensor[i].cos =
          table(question, names[i], "cos", positions, p.table_rows, p.table_row_stride);
      o.tensor[i].sin =
          table(question, names[i], "sin", positions, p.table_rows, p.table_row_stride);
    }
  }
  const char* reason = "?";
  void* state = NULL;
  if (kernel->supports(&p, &reason) != ROPE_OK) stop("unsupported:", reason);
  const size_t bytes = kernel->workspace_bytes ? kernel->workspace_bytes(&p) : 0;
  if (bytes) o.workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (kernel->prepare && kernel->prepare(&p, &state) != ROPE_OK) stop("failed:", "prepare");
  if (kernel->apply(&p, &o, state) != ROPE_OK) stop("failed:", "apply");
  if (kernel->release) kernel->release(state);
  for (unsigned i = 0; i < p.tensor_count; ++i) {
    find(question, names[i], "", &t);
    const long long at = ftell(outputs);
    fprintf(entries,
            ", \"%d.%s_out\": {\"dtype\": \"%s\", \"shape\": [%lld, %lld, %lld, %lld], "
            "\"data_offsets\": [%lld, %lld]}",
            question, names[i], t.dtype, t.shape[0], t.shape[1], t.shape[2], t.shape[3], at,
            at + t.end - t.begin);
    fwrite(o.tensor[i].out, 1, (size_t)(t.end - t.begin), outputs);
    free((void*)o.tensor[i].in), free(o.tensor[i].out);
    free((void*)o.tensor[i].cos), free((void*)o.tensor[i].sin);
  }
  free(positions), free(o.workspace);
}

int main(int count, char** words) {
  if (count != 5) stop("it takes", "PLUGIN.so KERNEL QUESTIONS ANSWERS");
  void* plugin = dlopen(words[1], RTLD_NOW);
  if (plugin == NULL) stop("cannot load", dlerror());
  const rope_kernel_list* (*kernels)(void) = NULL;
  *(void**)&kernels = dlsym(plugin, "rope_kernels_v1");
  const rope_kernel* kernel = NULL;
  for (size_t i = 0; kernels != NULL && i < kernels()->count; ++i)
    if (!strcmp(kernels()->kernels[i]->name, words[2])) kernel = kernels()->kernels[i];
  if (kernel == NULL) stop("has no kernel", words[2]);

  FILE* file = fopen(words[3], "rb");
  unsigned long long length = 0;
  if (file == NULL || fread(&length, 8, 1, file) != 1) stop("cannot read", words[3]);
  fseek(file, 0, SEEK_END);
  const long long size = ftell(file) - 8 - (long long)length;
  header = calloc(length + 1, 1), data = malloc((size_t)size);
  fseek(file, 8, SEEK_SET);
  if (fread(header, 1, length, file) != length ||
      fread(data, 1, (size_t)size, file) != (size_t)size)
    stop("cannot read", words[3]);

  char *text = NULL, *bytes = NULL;
  size_t text_size = 0, bytes_size = 0;
  FILE *entries = open_memstream(&text, &text_size), *outputs = open_memstream(&bytes, &bytes_size);
  *strrchr(header, '}') = 0; /* the new entries come before it */
  fputs(header, entries);
  fwrite(data, 1, (size_t)size, outputs);
  const char* asked = header;
  for (int n = 0; (asked = strstr(asked + 1, "{\\\"pairing\\\": ")) != NULL; ++n)
    answer(kernel, n, asked, entries, outputs);
  fputs("}", entries);
  fclose(entries), fclose(outputs);
  file = fopen(words[4], "wb");
  if (file == NULL) stop("cannot write", words[4]);
  length = text_size;
  fwrite(&length, 8, 1, file), fwrite(text, 1, text_size, file), fwrite(bytes, 1, bytes_size, file);
  return fclose(file) != 0;
}
