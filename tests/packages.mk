# SPDX-License-Identifier: MIT
#
# Which Debian packages are needed for what, and how a missing one is found.

PKG_CONFIG ?= pkg-config

report_modules := libdw libelf libzstd libcmark libxml-2.0 jansson inih \
                  libpcre2-8 libxxhash libdeflate

packages.build := gcc make libc6-dev pkg-config libdw-dev libelf-dev \
                  libzstd-dev libcmark-dev libxml2-dev libjansson-dev \
                  libinih-dev libpcre2-dev libxxhash-dev libdeflate-dev \
                  libiberty-dev libunwind8
packages.demo  := $(packages.build) sqlite3
packages.check := $(packages.demo) g++ binutils libcmocka-dev valgrind \
                  libjemalloc-dev libmimalloc-dev libgoogle-perftools-dev \
                  heaptrack python3 python3-jsonschema libjson-perl chromium \
                  redis-server redis-tools clang libclang-rt-14-dev perl \
                  zstd cmark procps libjemalloc2 libxml2-utils file rustc dwz \
                  xz-utils cppcheck luajit

packages.bench := $(packages.demo) g++ python3 heaptrack zstd redis-server \
                  redis-tools

.PHONY: packages-build packages-demo packages-check packages-bench

# Building never installs anything: it names what is missing.
packages-build:
	@mkdir -p build
	@tests/tools/probe.sh '$(PKG_CONFIG)' '$(report_modules)'

packages-demo packages-check packages-bench: packages-%:
	@mkdir -p build
	@tests/tools/install_packages.sh $(packages.$*)
