/* SPDX-License-Identifier: MIT */
#include "tests/lib/trace_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/event/event.h"
#include "report/event/run.h"
#include "report/event/stacks.h"

static void text_body(FILE *out, const struct event *event)
{
	switch ((enum event_kind)event->kind) {
	case EVENT_ALLOC:
		fprintf(out,
			"alloc %s 0x%" PRIx64 " size=%" PRIu64 " slack=%" PRIu64
			" align=%" PRIu64,
			event_call_name(event->call), event->addr, event->size,
			event->a, event->b);
		break;
	case EVENT_FREE:
		fprintf(out, "free %s 0x%" PRIx64, event_call_name(event->call),
			event->addr);
		break;
	case EVENT_MMAP:
		fprintf(out,
			"mmap 0x%" PRIx64 " len=%" PRIu64 " prot=%" PRIu64
			" flags=0x%" PRIx64 " fd=%" PRId32 " offset=%" PRIu64,
			event->addr, event->size, event->a & UINT32_MAX,
			event->a >> 32, event->fd, event->b);
		break;
	case EVENT_MUNMAP:
		fprintf(out, "munmap 0x%" PRIx64 " len=%" PRIu64, event->addr,
			event->size);
		break;
	case EVENT_MREMAP:
		fprintf(out,
			"mremap 0x%" PRIx64 " len=%" PRIu64 " to=0x%" PRIx64
			" len=%" PRIu64 " flags=%" PRId32,
			event->addr, event->size, event->a, event->b,
			event->fd);
		break;
	case EVENT_MALLOPT:
		fprintf(out, "mallopt %" PRId64 " %" PRId64 " = %" PRId64,
			(int64_t)event->addr, (int64_t)event->size,
			(int64_t)event->a);
		break;
	case EVENT_RSS:
		fprintf(out, "rss %" PRIu64, event->size);
		break;
	case EVENT_LOST:
		fprintf(out, "lost %" PRIu64 " reason=%" PRIu64, event->size,
			event->a);
		break;
	case EVENT_MARKER:
		fputs("marker", out);
		break;
	case EVENT_CULLED_MOST:
		fprintf(out, "culled most=%" PRIu64 " blocks=%" PRIu64,
			event->size, event->a);
		break;
	case EVENT_CULLED_TIMES:
		fprintf(out,
			"culled first=%" PRIu64 " last=%" PRIu64
			" shortest=%" PRIu64 " longest=%" PRIu64,
			event->addr, event->size, event->a, event->b);
		break;
	case EVENT_CULLED:
		fprintf(out,
			"culled %s size=%" PRIu64 " slack=%" PRIu64
			" count=%" PRIu64 " temporary=%" PRIu64,
			event_call_name(event->call), event->size, event->a,
			event->b, event->addr);
		break;
	}
}

void trace_text_event(FILE *out, uint32_t thread, const struct event *event,
		      const uint64_t *keys, size_t depth)
{
	fprintf(out, "%" PRIu32 " %" PRIu64 " ", thread, event->tick);
	text_body(out, event);
	fprintf(out, " [%zu]", depth);
	for (size_t i = 0; i < depth; i++)
		fprintf(out, " %" PRIx64, keys[i]);
	fputc('\n', out);
}

static const char *end_name(enum run_end end)
{
	static const char *const names[] = {
	    [RUN_END_MISSING] = "missing",
	    [RUN_END_EXIT] = "exit",
	    [RUN_END_QUICK_EXIT] = "quick_exit",
	    [RUN_END__EXIT] = "_exit",
	    [RUN_END_ABORT] = "abort",
	    [RUN_END_SIGNAL] = "signal",
	    [RUN_END_EXEC] = "exec",
	    [RUN_END_UNSEEN] = "unseen",
	};

	return names[end];
}

static void text_modules(FILE *out, const struct run *run)
{
	for (size_t i = 0; i < run->modules.count; i++) {
		const struct module *module = &run->modules.items[i];

		fprintf(out,
			"# module %" PRIu32 " %" PRIx64 "-%" PRIx64
			" bias=%" PRIx64 " generation=%" PRIu32
			" segments=%zu%s%s%s ticks=%" PRIu64 "-%" PRIu64
			" build-id=",
			module->number, module->start, module->end,
			module->bias, module->generation, module->segment_count,
			module->is_program ? " program" : "",
			module->is_tracer ? " tracer" : "",
			module->is_vdso ? " vdso" : "", module->load_tick,
			module->unload_tick);
		for (size_t j = 0; j < module->build_id_len; j++)
			fprintf(out, "%02x", module->build_id[j]);
		fprintf(out, " %s\n", module->name);
	}
}

void trace_text_run(FILE *out, const struct run *run)
{
	char line[2048];

	fprintf(out, "# %s, %" PRIu64 " bytes%s\n", run->format,
		run->trace_bytes, run->truncated ? ", truncated" : "");
	fprintf(out, "# pid %" PRIu32 " %s in %s, tracer %s\n", run->pid,
		run->executable, run->directory, run->tracer_version);
	for (size_t i = 0; i < run->argument_count; i++)
		fprintf(out, "# argument %s\n", run->arguments[i]);
	fprintf(out, "# ticks %" PRIu64 "-%" PRIu64 " of %.9f ns, %.9f s\n",
		run->first_tick, run->last_tick, run->tick_ns,
		run_duration(run));
	fprintf(out, "# end %s %" PRId32 " %s\n", end_name(run->end),
		run->end_status, run->exec_program);
	fprintf(out,
		"# events declared %" PRIu64 " lost %" PRIu64
		" skipped %" PRIu64 " live %" PRIu64 ", damaged bytes %" PRIu64
		", peak rss %" PRIu64 "\n",
		run->events_declared, run->events_lost, run->events_skipped,
		run->live_events, run->damaged_bytes, run->peak_rss_bytes);
	for (size_t i = 0; i < run->thread_count; i++)
		fprintf(out,
			"# thread %" PRIu32 " tid %" PRIu32 " %s ticks %" PRIu64
			"-%" PRIu64 "\n",
			run->threads[i].number, run->threads[i].tid,
			run->threads[i].name, run->threads[i].start_tick,
			run->threads[i].end_tick);
	text_modules(out, run);
	for (size_t i = 0; i < run->damage.stored; i++) {
		diag_format(&run->damage.items[i], line, sizeof(line));
		fprintf(out, "# damage: %s\n", line);
	}
	fprintf(out, "# %zu findings\n", run->damage.count);
}

size_t trace_text_keys(const struct stacks *stacks, uint32_t stack,
		       uint64_t **ret, size_t *capacity)
{
	size_t depth = stacks->nodes[stack].depth;

	if (*capacity < depth) {
		*capacity = depth;
		*ret = realloc(*ret, depth * sizeof(**ret));
		if (!*ret)
			abort();
	}
	for (size_t i = depth; i-- > 0;) {
		(*ret)[i] = stacks->nodes[stack].pc_key;
		stack = stacks->nodes[stack].parent;
	}
	return depth;
}
