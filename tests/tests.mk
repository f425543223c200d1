# SPDX-License-Identifier: MIT
#
# make unit [MODE=asan]   build and run every tests/unit/test_*.c
# make test-tools         build/MODE/tests/gen_trace, dump_events
# make fuzz [FUZZ_TIME=20] run each tests/fuzz/fuzz_*.c under libFuzzer

test_dir     := $(OBJ)/tests
test_lib     := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/lib/*.c))
test_units   := $(patsubst tests/unit/%.c,$(test_dir)/%,$(wildcard tests/unit/test_*.c))
test_tools   := $(patsubst tests/tools/%.c,$(test_dir)/%,$(wildcard tests/tools/*.c))
test_flags   := $(report_flags) $(shell $(PKG_CONFIG) --cflags cmocka 2>/dev/null)
test_libs    := $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)
test_archive := $(test_dir)/libreport.a

.PHONY: unit unit-build test-tools

$(test_archive): $(filter-out $(OBJ)/report/main.o,$(report_obj)) $(test_lib)
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

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
