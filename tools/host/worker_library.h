// libropewalk_worker.so: the worker as a library, for an interpreter that hosts it (decision 48).
// python/ropewalk calls these functions, which are all that the library exports beside its
// allocator.
#pragma once
#include <cstdint>

#include "harness/process/script_host.h"

#define ROPEWALK_EXPORT extern "C" [[gnu::visibility("default")]]

struct PyObject;  // Python's own, of which nothing is known here

/// Serves the parent like the hidden verb `worker`, whose words `words` has. Never returns.
ROPEWALK_EXPORT void ropewalk_worker_main(int count, const char* const* words,
                                          const ropewalk_script_host* host);

/// What a kernel's prepare makes. `number` is handed to ropewalk_script_host::apply.
ROPEWALK_EXPORT void* ropewalk_script_state(std::int64_t number);

/// Keeps a function of no arguments for these operands, in place of the oldest if there are many.
/// It returns None, or anything else if it failed, and raises nothing. Needs Python's lock.
ROPEWALK_EXPORT void ropewalk_script_bind(void* state, const rope_operands* o, PyObject* function);

/// rope_kernel.apply of every function. With operands that were there before it calls what was kept
/// for them, in 44 ns and the function's time; else ropewalk_script_host::apply.
ROPEWALK_EXPORT std::int32_t ropewalk_script_apply(const rope_problem* p, const rope_operands* o,
                                                   void* state);

/// Needs Python's lock.
ROPEWALK_EXPORT void ropewalk_script_free(void* state);
