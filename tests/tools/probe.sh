#!/bin/sh
# SPDX-License-Identifier: MIT
# probe.sh PKG_CONFIG MODULES - name every missing build dependency and the
# Debian command that installs it.  Silent when nothing is missing.
set -u
pkg_config=$1
modules=$2
missing=

need() { # WHAT PACKAGE
	echo "memprof: missing $1 (Debian: apt-get install $2)" >&2
	missing="$missing $2"
}

package_of() {
	case $1 in
	libdw) echo libdw-dev ;;
	libelf) echo libelf-dev ;;
	libzstd) echo libzstd-dev ;;
	libcmark) echo libcmark-dev ;;
	libxml-2.0) echo libxml2-dev ;;
	jansson) echo libjansson-dev ;;
	inih) echo libinih-dev ;;
	libpcre2-8) echo libpcre2-dev ;;
	libxxhash) echo libxxhash-dev ;;
	libdeflate) echo libdeflate-dev ;;
	*) echo "$1" ;;
	esac
}

if ! command -v "$pkg_config" >/dev/null 2>&1; then
	need pkg-config pkg-config
else
	for module in $modules; do
		"$pkg_config" --exists "$module" ||
			need "$module" "$(package_of "$module")"
	done
fi
echo '#include <libiberty/demangle.h>' |
	${CC:-cc} -E -x c - >/dev/null 2>&1 || need libiberty libiberty-dev

case $(${CC:-cc} -print-file-name=libunwind.so.8) in
/*) ;;
*) need libunwind.so.8 libunwind8 ;;
esac

if [ -n "$missing" ]; then
	echo "memprof: install all of them: apt-get install$missing" >&2
	exit 1
fi
