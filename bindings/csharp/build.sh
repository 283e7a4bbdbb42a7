#!/bin/sh
# Uses Mono to build the assembly, its tests, examples and driver, and the rates of bench/languages in
# build/bindings/csharp.
# Exit: 0 built, 77 skipped: the last line names the missing requirement.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../build/bindings/csharp

packages="mono-mcs, mono-runtime, libmono-system-core4.0-cil"
for tool in mcs mono; do
  if ! command -v $tool > /dev/null; then
    echo "Mono 6.8 or newer (Debian: $packages); this machine has no $tool"
    exit 77
  fi
done
if ! command -v python3 > /dev/null; then
  echo "Python 3.9 or newer; this machine has none"
  exit 77
fi
python3 "$here/../header/emit.py" csharp "$here/src/Native.cs"

compile() {
  mcs -nologo -langversion:7 -unsafe -optimize -warnaserror -nowarn:0649,0169 -define:TRACE \
    -r:System.Core.dll "$@"
}

mkdir -p "$out"
compile -target:library -doc:"$out/Lapwing.xml" -nowarn:1591,1573 \
  -out:"$out/Lapwing.dll" "$here"/src/*.cs
cd "$out"
compile -r:Lapwing.dll -out:driver.exe "$here"/conformance/*.cs
compile -r:Lapwing.dll -out:rates.exe "$here"/../../bench/languages/csharp/*.cs
compile -r:Lapwing.dll -out:tests.exe "$here"/tests/*.cs
for example in "$here"/examples/*.cs; do
  compile -r:Lapwing.dll -out:"$(basename "$example" .cs).exe" "$example"
done
