// Compiled for AVX-512 (benchmarks/CMakeLists.txt).
#if defined(__AVX512F__)
#define ROPEWALK_WIDTH 64
#define ROPEWALK_LOOPS loops_of_64
#include "benchmarks/ceilings/loops.inc"
#endif
