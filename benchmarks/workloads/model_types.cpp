// Facts about model code. apply_rotary_pos_emb in the modeling_NAME.py of transformers pairs either
// the halves of a head (its rotate_half) or neighbours (rotate_every_two, or a complex view). The
// facts come from knowledge of that code, not of its every release: `list --config` shows what was
// assumed. For a type that is missing here, the command asks for --pairing.
#include "benchmarks/workloads/model_types.h"

#include <algorithm>
#include <iterator>

namespace ropewalk::bench {
namespace {

constexpr Pairing halves = Pairing::half_split, neighbours = Pairing::interleaved;

constexpr ModelType types[] = {
    // Columns: name, pairing, base if missing, K like Q, whole head, head_dim by division.
    {"codegen", neighbours, 10000, true, false, true},
    {"cohere", neighbours, 0, false, true, true},
    {"cohere2", neighbours, 0, false, true, true},
    {"deepseek_v2", neighbours, 0, false, true, false},
    {"deepseek_v3", neighbours, 0, false, true, false},
    {"gemma", halves, 10000, false, true, false},
    {"gemma2", halves, 10000, false, true, false},
    {"gemma3_text", halves, 0, false, true, false},
    {"glm", neighbours, 0, false, false, false},
    {"glm4", neighbours, 0, false, false, false},
    {"gpt_neox", halves, 10000, true, false, true},
    {"gptj", neighbours, 10000, true, false, true},
    {"granite", halves, 0, false, true, true},
    {"llama", halves, 10000, true, true, true},
    {"mistral", halves, 10000, false, true, true},
    {"mixtral", halves, 0, false, true, true},
    {"mllama_text_model", halves, 0, false, true, true},
    {"olmo", halves, 10000, true, true, true},
    {"olmo2", halves, 0, true, true, true},
    {"persimmon", halves, 0, true, false, true},
    {"phi", halves, 10000, true, false, true},
    {"phi3", halves, 10000, true, true, true},
    {"qwen2", halves, 10000, false, true, true},
    {"qwen2_moe", halves, 0, false, true, true},
    {"qwen2_vl", halves, 0, false, true, true},
    {"qwen2_vl_text", halves, 0, false, true, true},
    {"qwen2_5_vl", halves, 0, false, true, true},
    {"qwen2_5_vl_text", halves, 0, false, true, true},
    {"qwen3", halves, 0, false, true, false},
    {"qwen3_moe", halves, 0, false, true, false},
    {"stablelm", halves, 0, false, false, true},
    {"starcoder2", halves, 0, false, true, true},
};

}  // namespace

const ModelType* find_model_type(std::string_view name) {
  const auto found = std::find_if(std::begin(types), std::end(types),
                                  [&](const ModelType& type) { return type.name == name; });
  return found == std::end(types) ? nullptr : found;
}

}  // namespace ropewalk::bench
