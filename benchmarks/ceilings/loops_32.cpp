// Compiled for AVX2 (benchmarks/CMakeLists.txt).
#if defined(__AVX2__)
#define ROPEWALK_WIDTH 32
#define ROPEWALK_LOOPS loops_of_32
#include "benchmarks/ceilings/loops.inc"
#endif
