/* SPDX-License-Identifier: MIT */
/*
 * What threads do changes no result: the engine with the trace decoded in
 * another thread, tasks, a tree of stacks that grows while it is read.  Worth
 * running with MODE=tsan.
 */
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "report/core/diag.h"
#include "report/core/tasks.h"
#include "report/engine/engine.h"
#include "report/event/event.h"
#include "tests/lib/random.h"
#include "tests/lib/trace_gen.h"
#include "tests/lib/trace_read.h"

enum { FILES = 150, TASKS = 200, NO_LIMIT = -1 };

/* --- the engine ---------------------------------------------------------- */

/**
 * struct outcome - what one engine found
 * @hash:  of all that observers saw, in order, frames of stacks included
 * @left:  records until the observer fails, NO_LIMIT for never
 */
struct outcome {
	const struct engine *engine;
	struct engine_totals totals;
	uint64_t hash;
	uint64_t findings;
	uint64_t skipped;
	uint32_t nodes;
	int64_t left;
	int status;
};

static void mix(struct outcome *outcome, uint64_t value)
{
	outcome->hash = (outcome->hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	outcome->hash ^= outcome->hash >> 29;
}

static void mix_stack(struct outcome *outcome, uint32_t stack)
{
	const struct stacks *stacks = engine_stacks(outcome->engine);

	assert_true(stack < stacks->count);
	mix(outcome, stack);
	for (; stack != STACKS_ROOT; stack = stacks->nodes[stack].parent)
		mix(outcome, stacks->nodes[stack].pc_key);
}

static int see_record(void *context, const struct record *record)
{
	struct outcome *outcome = context;

	if (outcome->left == 0)
		return -ENOSPC;
	outcome->left -= outcome->left > 0;
	mix(outcome, record->id);
	mix(outcome, record->addr);
	mix(outcome, record->size);
	mix(outcome, record->alloc_order);
	mix(outcome, record->free_order);
	mix(outcome, record->free_tick);
	mix(outcome, record->group);
	mix_stack(outcome, record->stack);
	mix_stack(outcome, record->free_stack);
	return 0;
}

static int see_event(void *context, const struct event *event, uint32_t thread)
{
	struct outcome *outcome = context;

	mix(outcome, event->tick);
	mix(outcome, event->addr);
	mix(outcome, thread);
	return 0;
}

static void run_engine(const struct trace_gen *gen, unsigned threads,
		       int64_t left, struct outcome *ret)
{
	const struct engine_observer observers[] = {
	    {.context = ret, .record = see_record},
	    {.context = ret, .event = see_event},
	};
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct trace_read read;
	struct engine *engine;

	memset(ret, 0, sizeof(*ret));
	ret->left = left;
	trace_read_open_memory(&read, gen->trace.data, gen->trace.len);
	assert_int_equal(read.status, 0);
	engine = engine_new(read.input, &read.run, &read.stacks);
	assert_non_null(engine);
	ret->engine = engine;
	engine_set_threads(engine, threads);
	ret->status = engine_pass(engine, observers, 2, &diag);
	ret->totals = *engine_totals(engine);
	ret->findings = read.run.damage.count;
	ret->skipped = read.run.events_skipped;
	ret->nodes = read.stacks.count;
	engine_free(engine);
	trace_read_close(&read);
}

static void compare(const struct outcome *one, const struct outcome *two,
		    uint64_t seed)
{
	if (one->hash != two->hash)
		fail_msg("seed %llu: two threads see something else",
			 (unsigned long long)seed);
	assert_int_equal(one->status, two->status);
	if (one->status)
		return;
	assert_memory_equal(&one->totals, &two->totals, sizeof(one->totals));
	assert_int_equal(one->findings, two->findings);
	assert_int_equal(one->skipped, two->skipped);
	assert_int_equal(one->nodes, two->nodes);
}

static void check_seed(uint64_t seed, uint64_t events)
{
	struct trace_gen_options options = trace_gen_random_options(seed);
	struct random random = { seed };
	struct outcome one, two;
	struct trace_gen gen;

	options.live = false;
	if (events) {
		options.events = events;
		options.wild = false;
		options.threads = 3;
	}
	trace_gen_run(&gen, &options);
	run_engine(&gen, 1, NO_LIMIT, &one);
	run_engine(&gen, 2, NO_LIMIT, &two);
	compare(&one, &two, seed);
	/* Somebody has had enough of it. */
	if (one.totals.allocated_count) {
		int64_t left = (int64_t)random_below(
		    &random, one.totals.allocated_count);

		run_engine(&gen, 1, left, &one);
		run_engine(&gen, 2, left, &two);
		assert_int_equal(one.status, -ENOSPC);
		compare(&one, &two, seed);
	}
	/* And it is damaged. */
	for (int i = 0; i < 4; i++)
		gen.trace.data[gen.trace.len / 3 +
			       random_below(&random, gen.trace.len / 3)] ^= 0x11;
	run_engine(&gen, 1, NO_LIMIT, &one);
	run_engine(&gen, 2, NO_LIMIT, &two);
	compare(&one, &two, seed);
	trace_gen_done(&gen);
}

static void two_threads_see_what_one_sees(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= FILES; seed++)
		check_seed(seed, 0);
	check_seed(4711, 100000);
}

/* --- tasks --------------------------------------------------------------- */

struct job {
	atomic_int *done;
	int result;
	bool was_run;
};

static int run_job(void *context, struct diag *diag)
{
	struct job *job = context;

	job->was_run = true;
	atomic_fetch_add(job->done, 1);
	if (job->result)
		diag_set(diag, job->result, NULL, DIAG_NO_OFFSET, "job %d",
			 job->result);
	return job->result;
}

static void check_tasks(unsigned threads, int failing)
{
	struct diag diag = { .offset = DIAG_NO_OFFSET };
	struct job jobs[TASKS];
	struct tasks *tasks = tasks_new(threads);
	atomic_int done = 0;
	int result;

	assert_non_null(tasks);
	for (int i = 0; i < TASKS; i++) {
		jobs[i] = (struct job){
		    &done, failing && i >= failing ? -i : 0, false};
		assert_int_equal(tasks_add(tasks, run_job, &jobs[i]), 0);
	}
	result = tasks_finish(tasks, &diag);
	assert_int_equal(result, -failing);
	if (!failing) {
		assert_int_equal(done, TASKS);
		assert_string_equal(diag.text, "");
		return;
	}
	assert_true(done > failing);
	assert_true((unsigned)done <= (unsigned)failing + threads);
	for (int i = 0; i < failing; i++)
		assert_true(jobs[i].was_run);
	assert_non_null(strstr(diag.text, "job"));
}

static void tasks_are_done(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 8; threads++)
		check_tasks(threads, 0);
}

static void first_failure_wins(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 8; threads++)
		check_tasks(threads, 7);
}

static void no_tasks(void **state)
{
	(void)state;
	assert_int_equal(tasks_finish(tasks_new(3), NULL), 0);
}

/* --- stacks -------------------------------------------------------------- */

/* Nodes that were there when the array was looked up stay readable there. */
static void shared_stacks_stay(void **state)
{
	struct stacks stacks;
	const struct stacks_node *early;
	uint32_t last = STACKS_ROOT;

	(void)state;
	assert_int_equal(stacks_init(&stacks), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		last = stacks_child(&stacks, last, i);
	early = stacks.nodes;
	stacks_share(&stacks, true);
	for (uint64_t i = 1; i <= 100000; i++)
		stacks_child(&stacks, STACKS_ROOT, i << 8);
	assert_ptr_not_equal(early, stacks.nodes);
	for (uint32_t node = last; node != STACKS_ROOT;
	     node = early[node].parent)
		assert_int_equal(early[node].pc_key, stacks.nodes[node].pc_key);
	stacks_share(&stacks, false);
	assert_int_equal(stacks.old_count, 0);
	stacks_done(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_threads_see_what_one_sees),
	    cmocka_unit_test(tasks_are_done),
	    cmocka_unit_test(first_failure_wins),
	    cmocka_unit_test(no_tasks),
	    cmocka_unit_test(shared_stacks_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
