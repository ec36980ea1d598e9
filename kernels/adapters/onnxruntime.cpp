// Adapter: onnxruntime 1.32.0 (PyPI, 28 MB)
// Needs: onnxruntime/capi/libonnxruntime.so.1
//
// The operator RotaryEmbedding of ONNX (opset 23) on one thread: a model of one node for each
// tensor, with buffers of the caller for inputs and output. The wheel has no header, so `Api` has
// the entries of OrtApi that are used. Their places in it are fixed since its first version.
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

/// Each entry that returns a status returns NULL if all went well.
struct Api {
  void *entries_0[3], *(*create_env)(int log_level, const char*name, void**env);
  void *entries_4[4], *(*create_session)(const void*env, const void*model, std::size_t bytes,
                                         const void*options, void**session);
  void* (*run)(void* session, const void* options, const char* const* in_names,
               const void* const* in, std::size_t in_count, const char* const* out_names,
               std::size_t out_count, void** out);
  void* (*create_options)(void** options), *entries_11[13];
  void* (*set_threads)(void* options, int count), *entries_25[24];
  void* (*create_tensor)(const void* memory, void* data, std::size_t bytes,
                         const std::int64_t* shape, std::size_t rank, int type, void** tensor);
  void *entries_50[19], *(*create_cpu_memory)(int allocator, int kind, void**memory);
  void *entries_70[23], (*release_status)(void*), (*release_memory)(void*);
  void (*release_session)(void*), (*release_tensor)(void*);
};
static_assert(offsetof(Api, release_tensor) == 96 * sizeof(void*));

struct ApiBase {
  const Api* (*api)(std::uint32_t version);
  const char* (*version)();
};
extern "C" const ApiBase* OrtGetApiBase();
const Api& api = *OrtGetApiBase()->api(1);

bool succeeded(void* status) {
  if (status != nullptr) api.release_status(status);
  return status == nullptr;
}

/// What all sessions share. It is made in the first `prepare`.
struct Library {
  void *environment = nullptr, *options = nullptr, *memory = nullptr;
  const bool ready = succeeded(api.create_env(4, "ropewalk", &environment)) &&  // 4: fatal errors
                     succeeded(api.create_options(&options)) &&
                     succeeded(api.set_threads(options, 1)) &&
                     succeeded(api.create_cpu_memory(1, 0, &memory));
};
const Library& library() {
  static const Library made;
  return made;
}

enum { f32_elements = 1, i64_elements = 7, f16_elements = 10 };  // as in ONNX's TensorProto

int element_of(const rope_problem& p) {
  return p.tensor[0].in_dtype == ROPE_F32 ? f32_elements : f16_elements;
}

/// The inputs of a node: without the last one, the table has a row for each token.
constexpr const char* input_names[] = {"x", "cos", "sin", "positions"};
std::size_t input_count(const rope_problem& p) {
  return p.table_rows_by == ROPE_ROW_BY_TOKEN ? 3 : 4;
}

/// A dense tensor over memory of the caller. NULL: the library refused it.
struct Tensor {
  Tensor(const void* data, int element, std::initializer_list<std::int64_t> shape) {
    std::size_t bytes = element == i64_elements ? 8 : element == f32_elements ? 4 : 2;
    for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
    if (!succeeded(api.create_tensor(library().memory, const_cast<void*>(data), bytes,
                                     shape.begin(), shape.size(), element, &value)))
      value = nullptr;
  }
  ~Tensor() { api.release_tensor(value); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  void* value = nullptr;
};

// What a model of one node needs of protobuf.
std::string varint(std::uint64_t value) {
  return value < 128 ? std::string(1, static_cast<char>(value))
                     : static_cast<char>(value | 128) + varint(value >> 7);
}
std::string number(std::uint64_t key, std::int64_t value) {
  return varint(key << 3) + varint(static_cast<std::uint64_t>(value));
}
std::string record(std::uint64_t key, const std::string& bytes) {
  return varint(key << 3 | 2) + varint(bytes.size()) + bytes;
}

/// The model that rotates one tensor of the problem, in the fields of ONNX's ModelProto.
std::string model_of(const rope_problem& p, std::int64_t heads) {
  const auto value = [](const char* name, int element) {
    return record(1, name) + record(2, record(1, number(1, element)));
  };
  std::string node, graph;
  for (std::size_t i = 0; i < input_count(p); ++i) {
    node += record(1, input_names[i]);
    graph += record(11, value(input_names[i], i == 3 ? i64_elements : element_of(p)));
  }
  node += record(2, "y") + record(4, "RotaryEmbedding");
  for (const auto& [name, setting] :
       {std::pair{"interleaved", std::int64_t{p.pairing == ROPE_INTERLEAVED}},
        std::pair{"num_heads", heads}, std::pair{"rotary_embedding_dim", p.rotary_dim}})
    node += record(5, record(1, name) + number(3, setting) + number(20, 2));
  graph += record(1, node) + record(2, "rope") + record(12, value("y", element_of(p)));
  return number(1, 10) + record(7, graph) + record(8, record(1, "") + number(2, 23));
}

Refusal why_not(const rope_problem& p) {
  const std::int32_t dtype = p.tensor[0].in_dtype;
  if (p.operation != ROPE_FORWARD) return "has no backward pass";
  if (p.angle_source != ROPE_ANGLES_TABLE) return "needs a table of cos and sin";
  if (scale_of(p) != 1) return "has no attention scale";
  if (dtype != ROPE_F32 && dtype != ROPE_F16) return "only f32 or f16 data";
  if (p.table_dtype != dtype) return "the table must have the type of the data";
  if (!is_packed(p.table_rows, p.rotary_dim / 2, p.table_row_stride)) return "only a packed table";
  if (p.table_rows * p.rotary_dim / 2 >= 0x80000000) return "only a table below 2^31 elements";
  if (p.table_rows_by == ROPE_ROW_BY_POSITION) {
    if (p.tokens > p.table_rows) return "needs as many rows of the table as tokens";
    if (p.position_dtype != ROPE_I64) return "only int64 positions";
    if (const Refusal why = only_packed_positions(p); why != nullptr) return why;
  }
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& t = p.tensor[i];
    if (t.in_dtype != dtype) return "all tensors must have one data type";
    if (t.rotate == 0) return "copies no tensor";
    if (t.in_place != 0) return "does not work in place";
    if (t.rotary_offset != 0) return "the window begins at element 0";
  }
  return only_packed(p);
}

using Sessions = std::array<void*, ROPE_MAX_TENSORS>;

void release(void* state) {
  for (void* session : *static_cast<Sessions*>(state)) api.release_session(session);
  delete static_cast<Sessions*>(state);
}

std::int32_t prepare(const rope_problem* p, void** state) {
  auto* sessions = new Sessions{};
  bool made = library().ready;
  for (std::uint32_t i = 0; made && i < p->tensor_count; ++i) {
    const std::string model = model_of(*p, p->tensor[i].heads);
    made = succeeded(api.create_session(library().environment, model.data(), model.size(),
                                        library().options, &(*sessions)[i]));
  }
  made ? * state = sessions : (release(sessions), nullptr);
  return made ? ROPE_OK : ROPE_FAILED;
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void* state) {
  const int element = element_of(*p);
  const std::int64_t pairs = p->rotary_dim / 2;
  const auto table = [&](const void* data) {
    return input_count(*p) == 3 ? Tensor(data, element, {p->batch, p->tokens, pairs})
                                : Tensor(data, element, {p->table_rows, pairs});
  };
  const Tensor positions(o->positions, i64_elements, {p->batch, p->tokens});
  for (std::uint32_t i = 0; i < p->tensor_count; ++i) {
    const std::int64_t row = p->tensor[i].heads * p->tensor[i].head_dim;
    const Tensor in(o->tensor[i].in, element, {p->batch, p->tokens, row});
    const Tensor out(o->tensor[i].out, element, {p->batch, p->tokens, row});
    const Tensor cos = table(o->tensor[i].cos), sin = table(o->tensor[i].sin);
    const void* inputs[] = {in.value, cos.value, sin.value, positions.value};
    const char* output_name = "y";
    void* output = out.value;
    for (std::size_t k = 0; k < input_count(*p); ++k)
      if (inputs[k] == nullptr || output == nullptr) return ROPE_FAILED;
    if (!succeeded(api.run((*static_cast<Sessions*>(state))[i], nullptr, input_names, inputs,
                           input_count(*p), &output_name, 1, &output)))
      return ROPE_FAILED;
  }
  return ROPE_OK;
}

// Else the library keeps a database in the home folder, and a thread that sends it away.
const int no_telemetry = setenv("ORT_DISABLE_TELEMETRY", "1", 0);
const std::string source = std::string("onnxruntime ") + OrtGetApiBase()->version();

const RegisteredKernel registered{{
    .name = "onnxruntime",
    .summary = "ONNX RotaryEmbedding on one thread",
    .source = source.c_str(),
    .flags = ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE,
    .supports = [](const rope_problem* p,
                   const char** reason) { return refuse_if(reason, {why_not(*p)}); },
    .prepare = prepare,
    .apply = apply,
    .release = release,
    .exceptions = ROPE_ALLOCATES,
}};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
