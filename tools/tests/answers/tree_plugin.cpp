// The kernels of the tree as a plugin, for programs that load one.
#include "kernels/api/kernel.h"

ROPEWALK_PLUGIN();
