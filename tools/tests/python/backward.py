"""Backward passes of torch.autograd.Function: a right one, and planted errors."""
import ropewalk
import torch

kernel = ropewalk.kernel(pairing="half_split", arrays="torch", inverse="autograd")


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Rotation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return rotate(x, cos, sin)

    @staticmethod
    def backward(ctx, grad_output):
        cos, sin = ctx.saved_tensors
        return rotate(grad_output, cos, -sin), None, None


@kernel
def right_backward(x, cos, sin):
    return Rotation.apply(x, cos, sin)


class OneGradientForHalves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, cos, sin):
        ctx.save_for_backward(cos, sin)
        return a * cos - b * sin, b * cos + a * sin

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        cos, sin = ctx.saved_tensors
        grad = grad_a * cos + grad_b * sin
        return grad, grad, None, None


@kernel
def one_gradient_for_halves(x, cos, sin):
    return torch.cat(OneGradientForHalves.apply(*x.chunk(2, dim=-1), cos, sin), dim=-1)


class OneGradientForQK(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, cos, sin):
        ctx.save_for_backward(cos, sin)
        return rotate(q, cos, sin), rotate(k, cos, sin)

    @staticmethod
    def backward(ctx, grad_q, grad_k):
        cos, sin = ctx.saved_tensors
        grad = rotate(grad_q, cos, -sin)
        return grad, grad[:, :, :1].expand_as(grad_k), None, None


@kernel
def one_gradient_for_q_k(q, k, cos, sin):
    return OneGradientForQK.apply(q, k, cos, sin)


class OverwritesGradOutput(Rotation):
    @staticmethod
    def backward(ctx, grad_output):
        cos, sin = ctx.saved_tensors
        grad_output.copy_(rotate(grad_output, cos, -sin))
        return grad_output, None, None


@kernel
def overwrites_grad_output(x, cos, sin):
    return OverwritesGradOutput.apply(x, cos, sin)
