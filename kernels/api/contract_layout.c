/* Prints the memory layout of the kernel contract as a C99 compiler sees it. */
#include <stdio.h>

#include "kernels/api/rope_kernel.h"

int main(void) {
#define CONSTANT(name) printf("value " #name " %lld\n", (long long)(name));
#define STRUCT(type) printf("sizeof " #type " %lu\n", (unsigned long)sizeof(type));
#define FIELD(type, field)                                                             \
  printf("offsetof " #type "." #field " %lu\n", (unsigned long)offsetof(type, field)); \
  printf("sizeof " #type "." #field " %lu\n", (unsigned long)sizeof(((type*)0)->field));
#include "kernels/api/contract_layout.inc"
  return 0;
}
