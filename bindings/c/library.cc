#include "bindings/c/call.h"

extern "C" {

const char* lapwing_version(uint32_t* abi) {
  if (abi != nullptr) *abi = LAPWING_ABI_MAJOR << 16 | LAPWING_ABI_MINOR;
  return LAPWING_VERSION_TEXT;
}

const char* lapwing_error_name(lapwing_result code) {
  return lapwing::name_of(static_cast<lapwing::Errc>(code));
}

}  // extern "C"
