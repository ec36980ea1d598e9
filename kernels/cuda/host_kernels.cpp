// The CUDA kernels, run by the host launcher in shuffled order: the source that runs on a device
// goes through every property on a machine without one. The baseline `cuda_naive` is a control of
// properties/mutants.
#include "kernels/cuda/host_entries.h"

namespace ropewalk::cuda {
namespace {

const RegisteredKernel cuda{{
    .name = "cuda_host",
    .summary = "the body of the kernel cuda, run by the host launcher",
    .source = "this project",
    .flags = promises | ROPE_HOST_LAUNCHER,
    .extensions = extensions,
    .supports = supports<ROPE_ANGLES_TABLE>,
    .apply = apply_on_host<CudaBodies, table_options>,
}};

const RegisteredKernel phase{{
    .name = "cuda_phase_host",
    .summary = "the body of the kernel cuda_phase, run by the host launcher",
    .source = "this project",
    .angle_contract = ROPE_CONTRACT_EXACT,
    .flags = promises | ROPE_HOST_LAUNCHER,
    .extensions = extensions,
    .supports = supports<ROPE_ANGLES_INV_FREQ>,
    .prepare = prepare_fractions,
    .apply = apply_on_host<CudaPhaseBodies, phase_options>,
    .release = release_fractions,
}};

}  // namespace
}  // namespace ropewalk::cuda
