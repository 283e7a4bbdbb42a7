# shellcheck shell=bash
# Sourced by the scripts in this folder. Disables all downloads. cgo's cache tracks the package's
# own files, but not the header of the C interface. The flags contain the header's checksum, so that
# a changed header causes a rebuild.
export CGO_ENABLED=1 GOTOOLCHAIN=local GOPROXY=off
read -r header_sum _ < <(sha256sum ../../include/lapwing.h)
export CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -DLAPWING_HEADER_SUM=$header_sum"
