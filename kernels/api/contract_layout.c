/* The memory layout of the kernel contract as a C99 compiler sees it. It compiles if that is right.
 */
#include "kernels/api/rope_kernel.h"

#define HOLDS_(line, condition) typedef char holds_##line[(condition) ? 1 : -1];
#define HOLDS(line, condition) HOLDS_(line, condition)
#define CONSTANT(name, value) HOLDS(__COUNTER__, (name) == (value))
#define STRUCT(type, bytes) HOLDS(__COUNTER__, sizeof(type) == (bytes))
#define FIELD(type, field, kind, offset, bytes) \
  HOLDS(__COUNTER__, offsetof(type, field) == (offset) && sizeof(((type*)0)->field) == (bytes))
#include "python/ropewalk/contract_layout.inc"
