"""A causal transformer of two layers, 64 wide, with two heads of 32."""

import torch
from kernel import BASE
from torch import nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS = 2, 64, 2
SLOPES = torch.tensor([2.0 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)])  # ALiBi's, each head


def sinusoids(tokens):
    """[tokens, WIDTH]: sines, then cosines (Vaswani et al., section 3.5, in another order)."""
    inv_freq = BASE ** (-torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)
    angles = torch.arange(tokens, dtype=torch.float64)[:, None] * inv_freq
    return torch.cat((angles.sin(), angles.cos()), dim=1).float()


class Model(nn.Module):
    """`encoding` is "sinusoidal", "alibi", "none", or the kernel that rotates q and k. `linear` is
    attention by phi(x) = elu(x) + 1, of which the numerator alone is rotated (RoFormer, eq. 19)."""

    def __init__(self, vocabulary, encoding, linear, seed):
        super().__init__()
        self.encoding, self.linear = encoding, linear
        generator = torch.Generator().manual_seed(seed)

        def weights(rows, columns, scale):
            return nn.Parameter(torch.randn(rows, columns, generator=generator) * scale)

        self.embedding = weights(vocabulary, WIDTH, 1.0)
        self.layers = nn.ParameterList()
        for _ in range(LAYERS):
            for out, into in ((3, 1), (1, 1), (4, 1), (1, 4)):  # q k v, attention's out, the MLP
                self.layers.append(weights(out * WIDTH, into * WIDTH, (into * WIDTH) ** -0.5))
        self.head = weights(vocabulary, WIDTH, WIDTH**-0.5)

    def attention(self, x, qkv):
        batch, tokens, _ = x.shape
        q, k, v = F.linear(x, qkv).view(batch, tokens, 3, HEADS, -1).unbind(2)
        if self.linear:
            q, k = F.elu(q) + 1, F.elu(k) + 1
        turned = (q, k) if isinstance(self.encoding, str) else self.encoding(q, k)
        scores = torch.einsum("bmhd,bnhd->bhmn", *turned)
        causal = torch.ones(tokens, tokens, dtype=torch.bool).tril()
        if self.linear:
            below = torch.einsum("bmhd,bnhd->bhmn", q, k) * causal
            weights = scores * causal / below.sum(-1, keepdim=True)
        else:
            scores = scores * q.shape[-1] ** -0.5
            if self.encoding == "alibi":
                place = torch.arange(tokens)
                scores = scores - SLOPES[:, None, None] * (place[:, None] - place)
            weights = scores.masked_fill(~causal, float("-inf")).softmax(-1)
        return torch.einsum("bhmn,bnhd->bmhd", weights, v).reshape(batch, tokens, WIDTH)

    def forward(self, ids):
        """Logits [batch, tokens, vocabulary] of the next token."""
        x = self.embedding[ids]
        if self.encoding == "sinusoidal":
            x = x + sinusoids(ids.shape[1])
        for i in range(0, len(self.layers), 4):
            qkv, out, up, down = self.layers[i : i + 4]
            x = x + F.linear(self.attention(F.rms_norm(x, (WIDTH,)), qkv), out)
            x = x + F.linear(F.gelu(F.linear(F.rms_norm(x, (WIDTH,)), up)), down)
        return F.linear(F.rms_norm(x, (WIDTH,)), self.head)
