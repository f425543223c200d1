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
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
