# SPDX-License-Identifier: MIT
#
# make unit [MODE=asan]   build and run every tests/unit/test_*.c
# make races              the tracer's threads under ThreadSanitizer
# make test-tools         build/MODE/tests/gen_trace, dump_events
# make fuzz [FUZZ_TIME=20] run every tests/fuzz/fuzz_*.c under clang's libFuzzer
# make fuzz-check [FUZZ_SEED=1]  the same with so many inputs, always the same
# make fuzz-replay [MODE=asan]   run them on the corpus, with any compiler
# make bench [BENCH=--quick]     what tracing costs, beside heaptrack
# make bench-report [BENCH=--quick]   what reports cost, beside heaptrack_print

test_dir     := $(OBJ)/tests
test_lib     := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/lib/*.c))
test_units   := $(patsubst tests/unit/%.c,$(test_dir)/%,$(wildcard tests/unit/test_*.c))
test_tools   := $(patsubst tests/tools/%.c,$(test_dir)/%,$(wildcard tests/tools/*.c))
test_flags   := $(report_flags) $(shell $(PKG_CONFIG) --cflags cmocka 2>/dev/null)
test_libs    := $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)
test_archive := $(test_dir)/libreport.a

.PHONY: unit unit-build test-tools races fuzz fuzz-build fuzz-check fuzz-replay

# Parts of the tracer that can be tested by themselves; with the sanitizers.
test_tracer_src := $(sort $(wildcard tracer/cfi*.c)) tracer/rules.c \
                   tracer/sys.c tracer/pool.c tracer/columns.c \
                   tracer/plain.c tracer/cull.c tracer/cull_pairs.c \
                   tracer/cull_rows.c tracer/code_move.c \
                   tracer/elf_symbol.c tracer/libc.c tracer/glob.c \
                   tracer/record/walk.c
test_tracer     := $(test_tracer_src:%.c=$(test_dir)/%.o)

$(test_tracer): $(test_dir)/%.o: %.c | packages-build
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(cppflags) $(CPPFLAGS) $(cflags) $(CFLAGS) -c -o $@ $<

$(test_archive): $(filter-out $(OBJ)/report/main.o,$(report_obj)) \
		$(test_lib) $(test_tracer)
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(OBJ)/tests/%.o: tests/%.c | packages-build
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(cppflags) $(test_flags) $(CPPFLAGS) $(cflags) $(CFLAGS) \
		-c -o $@ $<

$(test_units): $(test_dir)/%: $(OBJ)/tests/unit/%.o $(test_archive)
	$(call say,LD,$@)
	$(Q)$(CC) $(mode.$(MODE)) $(LDFLAGS) -o $@ $^ $(test_libs) \
		$(report_libs) $(LDLIBS)

$(test_tools): $(test_dir)/%: $(OBJ)/tests/tools/%.o $(test_archive)
	$(call say,LD,$@)
	$(Q)$(CC) $(mode.$(MODE)) $(LDFLAGS) -o $@ $^ $(report_libs) $(LDLIBS)

test-tools: $(test_tools)
unit-build: $(test_units)

unit: unit-build
	@failed=; for test in $(test_units); do \
		echo "== $$test"; $$test || failed="$$failed $$test"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# Where the kernel lets us: addresses are the same in every run.
same_addresses = $(shell setarch -R true 2>/dev/null && echo setarch -R)

# --- races ------------------------------------------------------------------

# The tracer is never built with a sanitizer: the test brings what surrounds
# its queue.  -Wno-tsan: no order that matters rests on a fence alone.
race_src := tests/races/race_threads.c tracer/thread.c tracer/queue.c \
            tracer/buffer.c tracer/pool.c tracer/sys.c

build/races/race_threads: $(race_src) $(wildcard tracer/*.h)
	@mkdir -p $(@D)
	$(call say,RACE,$@)
	$(Q)$(CC) -iquote . -D_GNU_SOURCE -std=gnu17 -Wall -Wextra \
		-Wno-unknown-warning-option -Wno-tsan -O1 -g \
		-fsanitize=thread $(CFLAGS) -o $@ $(race_src) -lpthread

races: build/races/race_threads
	@$(same_addresses) build/races/race_threads

# --- fuzzing ----------------------------------------------------------------

FUZZ_TIME    ?= 20
fuzz_names   := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz_src     := $(wildcard report/core/*.c report/event/*.c report/source/*.c \
                  report/input/*.c) $(addprefix tests/lib/,trace_read.c \
                  trace_text.c trace_write.c)
# What a target tests, where that is not the report's input.
fuzz_src_cfi := $(test_tracer_src) tests/lib/cfi_image.c
fuzz_src_perf_map := report/symbol/perf_map.c report/core/vec.c
fuzz_src_report := $(filter-out report/main.c,$(report_src)) \
                   $(OBJ)/templates.c $(addprefix tests/lib/,trace_read.c \
                   trace_text.c trace_write.c)
# Not in fuzz-check: compiling all of the report takes longer than the others.
fuzz_long    := report
# Small ones, which get a quarter of the time.
fuzz_small   := perf_map
fuzz_cc      := clang
fuzz_flags   := -std=gnu17 -O1 -g -fno-omit-frame-pointer \
                -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

.SECONDEXPANSION:
build/fuzz/%: tests/fuzz/fuzz_%.c $$(or $$(fuzz_src_$$*),$(fuzz_src)) \
		$(wildcard report/*/*.h tracer/*.h tests/lib/*.h tests/fuzz/*.h)
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(fuzz_cc) -iquote . -D_GNU_SOURCE $(fuzz_flags) $(test_flags) -o $@ \
		$(filter %.c,$^) $(report_libs)

fuzz-build: $(addprefix build/fuzz/,$(fuzz_names))

# New inputs stay in build/; what is worth keeping is copied by hand.
fuzz: fuzz-build
	@for name in $(fuzz_names); do \
		time=$(FUZZ_TIME); \
		case " $(fuzz_small) " in \
		*" $$name "*) time=$$((time / 4));; \
		esac; \
		mkdir -p build/fuzz/corpus/$$name && \
		echo "== fuzz $$name, $$time s" && \
		build/fuzz/$$name -max_total_time=$$time -timeout=10 \
			-rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=build/fuzz/crash-$$name- \
			build/fuzz/corpus/$$name tests/fuzz/corpus/$$name \
		|| exit 1; \
	done

# Nothing here depends on time or chance, so that a failure can be repeated.
# How many inputs take about ten seconds:
FUZZ_SEED          ?= 1
fuzz_runs_cfi      := 40000
fuzz_runs_columns  := 80000
fuzz_runs_events   := 80000
fuzz_runs_live     := 20000
fuzz_runs_perf_map := 200000
fuzz_runs_trace    := 40000
fuzz_checks        := $(addprefix fuzz-check-,$(filter-out $(fuzz_long),$(fuzz_names)))

fuzz-check: $(fuzz_checks)

.PHONY: $(fuzz_checks)
$(fuzz_checks): fuzz-check-%: build/fuzz/%
	@rm -rf build/fuzz/check/$* && mkdir -p build/fuzz/check/$*
	@echo "== fuzz $*, $(or $(fuzz_runs_$*),40000) inputs, seed $(FUZZ_SEED)"
	@$(same_addresses) build/fuzz/$* -seed=$(FUZZ_SEED) \
		-runs=$(or $(fuzz_runs_$*),40000) -reload=0 -timeout=300 \
		-rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix=build/fuzz/crash-$*- \
		build/fuzz/check/$* tests/fuzz/corpus/$*

fuzz_replays := $(addprefix $(test_dir)/replay_,$(fuzz_names))

$(fuzz_replays): $(test_dir)/replay_%: $(OBJ)/tests/fuzz/replay.o \
		$(OBJ)/tests/fuzz/fuzz_%.o $(test_archive)
	$(call say,LD,$@)
	$(Q)$(CC) $(mode.$(MODE)) $(LDFLAGS) -o $@ $^ $(report_libs) $(LDLIBS)

fuzz-replay: $(fuzz_replays)
	@for name in $(fuzz_names); do \
		$(test_dir)/replay_$$name tests/fuzz/corpus/$$name/* || exit 1; \
	done

# --- what tracing costs -----------------------------------------------------

.PHONY: bench bench-report
bench: packages-bench
	$(Q)$(MAKE) --no-print-directory all
	$(Q)MEMPROF_BUILD=$(OBJ) tests/bench/tracer $(BENCH)

bench-report: packages-bench
	$(Q)$(MAKE) --no-print-directory all
	$(Q)MEMPROF_BUILD=$(OBJ) tests/bench/report $(BENCH)
