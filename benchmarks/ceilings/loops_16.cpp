// Compiled for every processor (benchmarks/CMakeLists.txt).
#define ROPEWALK_WIDTH 16
#include "benchmarks/ceilings/loops.inc"
