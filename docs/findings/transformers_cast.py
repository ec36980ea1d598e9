"""transformers 5.24.0: a Llama that is cast by .to(torch.bfloat16) or .half() rotates by a rounded inv_freq.

severity  wrong at an edge
from      .to(torch.bfloat16) of a model; one that is loaded with dtype=torch.bfloat16 keeps its inv_freq
size      at position 2047 cos is off by 0.33
matters   two usual ways to get a bf16 model give different angles
replay    ropewalk replay 'provider=transformers::llama property=cast position=2047'
upstream  https://github.com/huggingface/transformers/issues/25681 speaks of it
"""
import mpmath as mp
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

module = LlamaRotaryEmbedding(LlamaConfig(hidden_size=256, num_attention_heads=4))
for kind in ("before the cast", "after it"):
    cos = module(torch.zeros(1), torch.tensor([[2047]]))[0][0, 0, :32].double().tolist()
    right = [mp.cos(2047 * mp.mpf(10000) ** (-mp.mpf(i) / 32)) for i in range(32)]
    off, pair = max((abs(float(c - r)), i) for i, (c, r) in enumerate(zip(cos, right)))
    print(f"{kind}, position 2047, pair {pair}: library cos {cos[pair]:.4f}, right "
          f"{float(right[pair]):.4f}, off by {off:.4f}")
    module.to(torch.bfloat16)
