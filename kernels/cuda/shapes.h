// The shapes of the bodies, which the device and the host have in common.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/api/rope_kernel.h"
#include "kernels/cuda/bodies.h"

namespace ropewalk::cuda {

/// The shape of a wide path: 16 bytes an access.
template <class Data, std::int32_t pairing>
using Wide = Shape<Data, pairing, 16 / sizeof(Data), heads_at_once(pairing, true)>;
/// The same for items of one head, of a table alone. A short call ends before the code of more
/// heads has come.
template <class Data, std::int32_t pairing>
using Short = Shape<Data, pairing, 16 / sizeof(Data), 1>;
/// The shape of the general path: an element an access, for any size, stride and alignment.
template <class Data, std::int32_t pairing>
using General = Shape<Data, pairing, 1, heads_at_once(pairing, false)>;
/// The shape of cuda_naive: one pair of one head.
template <class Data, std::int32_t pairing>
using Naive = Shape<Data, pairing, 1, 1>;

}  // namespace ropewalk::cuda
