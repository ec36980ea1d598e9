// Facts about model code. apply_rotary_pos_emb in the modeling_NAME.py of transformers pairs either
// the halves of a head (its rotate_half) or neighbours (rotate_every_two, or a complex view). The
// facts come from knowledge of that code, not of its every release: `list --config` shows what was
// assumed. For a type that is missing here, the command asks for --pairing.
#include "benchmarks/configs/model_types.h"

#include <algorithm>
#include <iterator>

namespace ropewalk::bench {
namespace {

constexpr Pairing halves = Pairing::half_split, neighbours = Pairing::interleaved;

constexpr ModelType types[] = {
    // Columns: name, base if missing, pairing, K like Q, whole head, head_dim by division.
    {"codegen", 10000, neighbours, true, false, true},
    {"cohere", 0, neighbours, false, true, true},
    {"cohere2", 0, neighbours, false, true, true},
    {"deepseek_v2", 0, neighbours, false, true, false},
    {"deepseek_v3", 0, neighbours, false, true, false},
    {"gemma", 10000, halves, false, true, false},
    {"gemma2", 10000, halves, false, true, false},
    {"gemma3_text", 0, halves, false, true, false},
    {"glm", 0, neighbours, false, false, false},
    {"glm4", 0, neighbours, false, false, false},
    {"gpt_neox", 10000, halves, true, false, true},
    {"gptj", 10000, neighbours, true, false, true},
    {"granite", 0, halves, false, true, true},
    {"llama", 10000, halves, true, true, true},
    {"mistral", 10000, halves, false, true, true},
    {"mixtral", 0, halves, false, true, true},
    {"mllama_text_model", 0, halves, false, true, true},
    {"olmo", 10000, halves, true, true, true},
    {"olmo2", 0, halves, true, true, true},
    {"persimmon", 0, halves, true, false, true},
    {"phi", 10000, halves, true, false, true},
    {"phi3", 10000, halves, true, true, true},
    {"qwen2", 10000, halves, false, true, true},
    {"qwen2_moe", 0, halves, false, true, true},
    {"qwen2_vl", 0, halves, false, true, true},
    {"qwen2_vl_text", 0, halves, false, true, true},
    {"qwen2_5_vl", 0, halves, false, true, true},
    {"qwen2_5_vl_text", 0, halves, false, true, true},
    {"qwen3", 0, halves, false, true, false},
    {"qwen3_moe", 0, halves, false, true, false},
    {"stablelm", 0, halves, false, false, true},
    {"starcoder2", 0, halves, false, true, true},
};

}  // namespace

const ModelType* find_model_type(std::string_view name) {
  const auto found = std::find_if(std::begin(types), std::end(types),
                                  [&](const ModelType& type) { return type.name == name; });
  return found == std::end(types) ? nullptr : found;
}

}  // namespace ropewalk::bench
