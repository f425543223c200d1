#!/bin/sh
# SPDX-License-Identifier: MIT
# install_packages.sh PACKAGE... - install the Debian packages that are
# missing, with sudo when not root.  Does nothing when all are there.
set -eu

missing=
for package in "$@"; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) ||
		status=missing
	[ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "memprof: these Debian packages are needed:$missing" >&2
	exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "memprof: run as root: apt-get install$missing" >&2
		exit 1
	fi
	as_root=sudo
fi
echo "memprof: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# A mirror may be slow to answer, another process be installing just now.
patience="-o Acquire::Retries=5 -o DPkg::Lock::Timeout=300"
# shellcheck disable=SC2086 # lists of words
install_missing() {
	$as_root apt-get $patience update -qq &&
		$as_root apt-get $patience install -y -qq \
			--no-install-recommends $missing >/dev/null
}
install_missing || { sleep 10 && install_missing; } ||
	{ sleep 60 && install_missing; }
