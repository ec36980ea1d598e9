// Lists the kernels of its own binary.
#include <cstdio>

#include "kernels/api/kernel.h"

int main() {
  for (const rope_kernel* kernel : ropewalk::registered_kernels()) std::puts(kernel->name);
}
