#!/usr/bin/env bash
# Builds the documentation site into build/site (or $LAPWING_BUILD_DIR/site). Open index.html there:
# the site needs no server and makes no requests.
#
#   tools/docs.sh [--strict]         build; with --strict, a warning is an error
#   tools/docs.sh --serve [PORT]     serve it on 127.0.0.1, by default on port 8000, and rebuild it on changes
#
# MkDocs and its theme come from PyPI (tools/docs/requirements.txt), Doxygen from deploy/setup.sh. The
# references of Java and Rust need their tools. Without them the site says so; with --strict it is not built.
#
# Exit: 0 built, 1 not built, 2 wrong usage, 77 SKIPPED: a package is missing (see tools/venv.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { printf 'docs: %s; see --help\n' "$1" >&2; exit 2; }
strict=() port=
case ${1-} in
  '') ;;
  --strict) strict=(--strict) ;;
  --serve) port=${2-8000} ;;
  -h|--help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  *) usage "unknown option $1" ;;
esac
[[ $# -le 1 || ( -n $port && $# -eq 2 ) ]] || usage "too many arguments"
command -v doxygen >/dev/null || { echo 'docs: doxygen is not installed. Run deploy/setup.sh.' >&2; exit 1; }

python=$(tools/venv.sh docs_venv tools/docs/requirements.txt 'The documentation site was NOT BUILT.')
build=$(dirname "$(dirname "$(dirname "$python")")")
export LAPWING_DOXYGEN_OUTPUT=$build/doxygen NO_MKDOCS_2_WARNING=1
rm -rf "$LAPWING_DOXYGEN_OUTPUT"
mkdir -p "$LAPWING_DOXYGEN_OUTPUT"
doxygen docs/Doxyfile || [[ ${#strict[@]} -eq 0 ]]
sed -i 's|<div id="projectname">Lapwing|<div id="projectname"><a href="../index.html">Lapwing</a>|' \
  "$LAPWING_DOXYGEN_OUTPUT"/html/*.html

# The references of packages: each function makes its pages in a folder. It exits with 77 if it lacks what
# its last line names.
java_reference() (
  . bindings/java/jdk.sh
  find_jdk
  sources=bindings/java/src/main/java
  python3 bindings/header/emit.py java "$sources/lapwing/C.java" &&
    "$JAVA_HOME/bin/javadoc" -quiet -notimestamp -Xdoclint:all,-missing -Werror -sourcepath "$sources" \
      -d "$1" lapwing
)
rust_reference() (
  . bindings/rust/crates.sh
  export RUSTDOCFLAGS='-D warnings'
  cargo doc --locked --no-deps --package lapwing --features tokio &&
    cp -r "$CARGO_TARGET_DIR/doc/." "$1" &&
    echo '<meta http-equiv="refresh" content="0; url=lapwing/index.html">' >"$1/index.html"
)
export LAPWING_REFERENCES=$build/references
rm -rf "$LAPWING_REFERENCES"
for page in java/lapwing/package-summary rust/lapwing/index; do
  language=${page%%/*} status=0
  mkdir -p "$LAPWING_REFERENCES/${page%/*}"
  output=$("${language}_reference" "$LAPWING_REFERENCES/$language" 2>&1) || status=$?
  if ((status == 77 && ${#strict[@]} == 0)); then
    printf '# %s\n\nThis reference was not built: it needs %s.\n' "${language^}" "${output##*$'\n'}" \
      >"$LAPWING_REFERENCES/$page.md"
  elif ((status != 0)); then
    printf '%s\ndocs: no reference of %s\n' "$output" "$language" >&2
    exit "$status"
  fi
done

if [[ -n $port ]]; then
  exec "$python" -m mkdocs serve --config-file tools/docs/mkdocs.yml --dev-addr "127.0.0.1:$port"
fi
"$python" -m mkdocs build --config-file tools/docs/mkdocs.yml --site-dir "$build/site" "${strict[@]}"
printf 'docs: built %s\n' "$build/site/index.html"
