// Compiled for every processor (benchmarks/CMakeLists.txt).
#define ROPEWALK_WIDTH 16
#define ROPEWALK_LOOPS loops_of_16
#include "benchmarks/ceilings/loops.inc"
