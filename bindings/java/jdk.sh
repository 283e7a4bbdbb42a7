# shellcheck shell=bash
# Sets JAVA_HOME to a JDK with java.lang.foreign: that of JAVA_HOME, that of PATH, or one below
# /usr/lib/jvm. Scripts source this file. Its function exits with 77 if there is no such JDK.

jdk_needed=22

# Prints the feature release of the JDK in a directory, or 0 if there is none.
jdk_version() {
  local version=
  [[ -x $1/bin/javac && -r $1/release ]] &&
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release")
  echo "${version:-0}"
}

find_jdk() {
  local newest=0 directory version in_path
  in_path=$(readlink -f "$(command -v javac)" 2>/dev/null || true)
  for directory in "${JAVA_HOME:-}" "${in_path%/bin/javac}" /usr/lib/jvm/*; do
    [[ -n $directory ]] || continue
    version=$(jdk_version "$directory")
    if ((version >= jdk_needed)); then
      export JAVA_HOME=$directory
      return
    fi
    ((version > newest)) && newest=$version
  done
  if ((newest > 0)); then
    echo "JDK $jdk_needed or newer; this machine has $newest"
  else
    echo "JDK $jdk_needed or newer; this machine has none"
  fi
  exit 77
}
