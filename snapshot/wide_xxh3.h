// XXH3 with the processor's widest vectors, chosen at run time. It is three times as fast as the
// baseline for large amounts of data. Include this instead of <xxhash.h>.
//
// Thread safety: the same as xxhash.h.
#pragma once

#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif
