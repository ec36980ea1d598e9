// Where in-tree kernels find supports_float_data. It is in kernel.h, so that plugins have it too.
#pragma once
#include "kernels/api/kernel.h"
