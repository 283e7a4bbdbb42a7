#!/usr/bin/env bash
# Builds the documentation site into build/site (or $LAPWING_BUILD_DIR/site). Open index.html there:
# the site needs no server and makes no requests.
#
#   tools/docs.sh [--strict]         build; with --strict, a warning is an error
#   tools/docs.sh --serve [PORT]     serve it on 127.0.0.1, by default on port 8000, and rebuild it on changes
#
# MkDocs and its theme come from PyPI (tools/docs/requirements.txt), Doxygen from deploy/setup.sh.
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
if [[ -n $port ]]; then
  exec "$python" -m mkdocs serve --config-file tools/docs/mkdocs.yml --dev-addr "127.0.0.1:$port"
fi
"$python" -m mkdocs build --config-file tools/docs/mkdocs.yml --site-dir "$build/site" "${strict[@]}"
printf 'docs: built %s\n' "$build/site/index.html"
