// The only function of the plugin that runs before a kernel is called. It is compiled without
// -march, so that every machine can run it, and uses nothing that loops.cpp may have compiled too.
#include "kernels/api/rope_kernel.h"

extern const rope_kernel_list ropewalk_baselines;

extern "C" [[gnu::visibility("default")]] const rope_kernel_list* rope_kernels_v1(void) {
  return &ropewalk_baselines;
}
