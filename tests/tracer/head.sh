# SPDX-License-Identifier: MIT
# What suites of the tracer begin with:  . head.sh  with BUILD_DIR [TEST]... as
# $@; leaves the tests there.  Sets here, build, src and out, where programs of
# src go, absolute but for src's dots, and the compilers CC and CXX.
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
src=$here/../programs
out=$build/tests/programs
CC=${CC:-cc}
CXX=${CXX:-c++}
mkdir -p "$out"
