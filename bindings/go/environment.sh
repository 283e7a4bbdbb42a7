# shellcheck shell=bash
# Read by the scripts beside it: nothing is fetched. cgo's cache knows the package's own files, and
# not the header of the C interface. Its sum is a part of the flags: a changed header is compiled.
export CGO_ENABLED=1 GOTOOLCHAIN=local GOPROXY=off
read -r header_sum _ < <(sha256sum ../../include/lapwing.h)
export CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -DLAPWING_HEADER_SUM=$header_sum"
