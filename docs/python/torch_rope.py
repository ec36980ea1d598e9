import torch
import ropewalk


@ropewalk.kernel(pairing="half_split", arrays="torch", dtypes=("f64", "f32", "f16", "bf16"),
                 inverse="autograd")
def torch_rope(x, cos, sin):
    a, b = x.to(cos.dtype).chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)
