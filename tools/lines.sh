#!/usr/bin/env bash
# Counts the lines of tracked text by folder, and the lines of the product's C++.
#
#   tools/lines.sh [COMMIT]     counts the working tree, or the given commit
#
# The product's C++ is the headers and sources in the folders below, without tests and fuzzers.
# Archives and bitmaps are not text.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
product='include proto os bus channel snapshot publisher subscribers monitor cli wait_set bindings/c'

# Prints "LINES NAME" for each tracked text file.
lines() {
  if [[ -n ${commit-} ]]; then
    git grep -I -c '' "$commit" -- . | sed "s/^$commit://" | awk -F: '{ print $NF, $1 }'
  else
    git grep -I -c '' -- . | awk -F: '{ print $NF, $1 }'
  fi
}
commit=${1-}
lines | awk -v product="$product" '
  BEGIN { count = split(product, folders, " ") }
  {
    top = $2; if (!sub("/.*", "", top)) top = "."
    text[top] += $1; all += $1
    if ($2 !~ /\.(h|cc)$/ || $2 ~ /_test\.(h|cc)$/ || $2 ~ /(^|\/)fuzz\// || $2 ~ /_fuzz\.cc$/) next
    for (i = 1; i <= count; ++i)
      if (index($2, folders[i] "/") == 1) { cpp[folders[i]] += $1; total += $1 }
  }
  END {
    for (folder in text) printf "%-14s %8d\n", folder, text[folder] | "sort"
    close("sort")
    printf "%-14s %8d\n\nproduct C++\n", "all text", all
    for (i = 1; i <= count; ++i) printf "%-14s %8d\n", folders[i], cpp[folders[i]]
    printf "%-14s %8d\n", "product", total
  }'
