/* SPDX-License-Identifier: MIT */
#include "tracer/record/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracer/clock.h"
#include "tracer/encode.h"
#include "tracer/record/chunks.h"
#include "tracer/record/perf_map.h"
#include "tracer/record/slots.h"
#include "tracer/trace_format.h"

enum {
	LOCK_STEP_NS = 2 * 1000 * 1000,
	LOCK_STEPS = 1000,  /* while nobody does anything */
	WORK_STEPS = 30000, /* while somebody works, perhaps without end */
};

/*
 * A process that was killed left no second pair of clocks, without which
 * ticks mean nothing; the clock is the machine's, so ours is as good.
 *
 * Safety: allocates.  Return: 0 or -errno.
 */
static int append_clock(int fd, const struct summary *sum)
{
	uint64_t tick = summary_tick(sum);
	uint8_t payload[24], *p = payload;
	struct trace_chunk_header head = {
	    .type = TRACE_CHUNK_CLOCK, .first_tick = tick, .last_tick = tick};

	p = put_u64(p, tick);
	p = put_u64(p, clock_read_ns(CLOCK_MONOTONIC));
	put_u64(p, clock_read_ns(CLOCK_REALTIME));
	return chunks_append(fd, &head,
			     &(struct part){payload, sizeof(payload)}, 1);
}

/* Safety: pure.  Whether the process goes on behind the last END. */
static bool is_end_of_piece(const struct summary *sum)
{
	return sum->end_how == TRACE_END_CONTINUED ||
	       sum->end_how == TRACE_END_STOPPED;
}

/* Safety: pure.  Return: enum trace_end_how, and @ret_status. */
static uint32_t get_end(const struct summary *sum, const struct finish_end *end,
			int *ret_status)
{
	*ret_status = -1;
	if (is_end_of_piece(sum))
		return sum->end_how;
	if (end->next)
		return TRACE_END_CONTINUED;
	if (!end->launched) /* its parent knows */
		return TRACE_END_UNSEEN;
	if (WIFSIGNALED(end->launched->wait_status)) {
		*ret_status = WTERMSIG(end->launched->wait_status);
		return TRACE_END_SIGNAL;
	}
	*ret_status = WEXITSTATUS(end->launched->wait_status);
	return TRACE_END__EXIT;
}

/* Safety: allocates.  Return: 0 or -errno. */
static int append_end(int fd, const struct summary *sum,
		      const struct finish_end *end)
{
	uint64_t tick = summary_tick(sum);
	uint8_t payload[60], *p = payload;
	struct trace_chunk_header head = {
	    .type = TRACE_CHUNK_END, .first_tick = tick, .last_tick = tick};
	int status;

	p = put_u32(p, get_end(sum, end, &status));
	p = put_u32(p, (uint32_t)status);
	p = put_u64(p, 0);
	p = put_u64(p, clock_read_ns(CLOCK_MONOTONIC));
	p = put_u64(p, clock_read_ns(CLOCK_REALTIME));
	p = put_u64(p, 0);
	p = put_u64(p, 0);
	p = put_u64(p, end->launched ? end->launched->peak_rss_bytes : 0);
	put_u32(p, 0);
	return chunks_append(fd, &head,
			     &(struct part){payload, sizeof(payload)}, 1);
}

/* Safety: system call.  Return: 0 or -errno. */
static int append_lost(int fd, const struct summary *sum, uint64_t count,
		       enum trace_lost_reason reason)
{
	uint64_t tick = summary_tick(sum);
	uint8_t payload[24], *p = payload;
	struct trace_chunk_header head = {
	    .type = TRACE_CHUNK_LOST, .first_tick = tick, .last_tick = tick};

	if (!count)
		return 0;
	p = put_u64(p, count);
	p = put_u32(p, reason);
	p = put_u32(p, 0);
	put_u64(p, tick);
	return chunks_append(fd, &head,
			     &(struct part){payload, sizeof(payload)}, 1);
}

/* What the program could not say itself.  Safety: as append_lost(). */
static int append_all_lost(int fd, const struct summary *sum,
			   const struct live_file *live)
{
	struct live_lost lost = live_get_lost(live);
	int err = append_lost(fd, sum, lost.write, TRACE_LOST_WRITE);

	return err ? err
		   : append_lost(fd, sum, lost.memory, TRACE_LOST_MEMORY);
}

/*
 * A process that was killed in the middle of a write leaves part of a chunk
 * at the end, which would swallow what is appended; its events are still in
 * PATH.live.
 *
 * Safety: allocates.  Return: 0 or -errno.
 */
static int prepare(int fd, struct summary *sum)
{
	struct stat st;
	int err;

	if (fstat(fd, &st) != 0)
		return -errno;
	err = summary_read(sum, fd, st.st_size);
	if (!err && sum->end < st.st_size && ftruncate(fd, sum->end) != 0)
		err = -errno;
	return err;
}

/*
 * Where a file cannot have two names PATH.live has that of the next piece as
 * soon as there is one, and holds what this one lacks.
 *
 * Safety: reads.
 */
static bool needs_live_of_next(const struct summary *sum,
			       const struct live_file *live,
			       const struct finish_end *end)
{
	return end->next && !sum->end_how && !live_is_there(live);
}

/* Safety: opens.  Return: as live_open(). */
static int open_live(struct live_file *ret, const char *trace_path,
		     uint64_t run_id)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.live", trace_path);
	return live_open(ret, path, run_id);
}

/* Safety: opens.  Whether PATH.live is, or was, the next piece's too, which
   tells of what is lost. */
static bool has_live_of_next(const struct summary *sum,
			     const struct finish_end *end)
{
	struct live_file next = {-1};
	bool has;

	has = end->next && open_live(&next, end->next, sum->run_id) == 0 &&
	      live_is_there(&next);
	live_close(&next);
	return has;
}

/* Safety: allocates.  Return: 0 or -errno. */
static int append_slots(int fd, const struct summary *sum,
			const struct live_file *live,
			const struct finish_end *end, struct slots_result *ret)
{
	struct live_file next;
	int err;

	if (!needs_live_of_next(sum, live, end))
		return slots_append(fd, sum, live, ret);
	err = open_live(&next, end->next, sum->run_id);
	if (!err)
		err = slots_append(fd, sum, &next, ret);
	live_close(&next);
	return err == -ESTALE ? 0 : err;
}

/* Safety: allocates.  @live_path: where it is there.  Return: 0 or -errno. */
static int complete(int fd, const struct live_file *live,
		    const char *live_path, const struct finish_end *end,
		    struct finish_result *ret)
{
	struct slots_result added = {0};
	struct summary sum = {0};
	int err = prepare(fd, &sum);

	if (!err)
		err = append_slots(fd, &sum, live, end, &added);
	sum.resumed |= added.chunks &&
		       summary_is_resumed_by(&sum, TRACE_CHUNK_COLUMNS);
	if (!err && (!sum.end_how || sum.resumed ||
		     (added.chunks && is_end_of_piece(&sum)))) {
		ret->outside_count = live_get_outside(live);
		if (live_get_lost(live).write)
			live_shrink(live_path);
		if (!has_live_of_next(&sum, end))
			err = append_all_lost(fd, &sum, live);
		if (!err)
			err = append_clock(fd, &sum);
		if (!err)
			err = append_end(fd, &sum, end);
	}
	/* What is at that path now is that of the program that came after. */
	if (!err && (sum.resumed || sum.end_how != TRACE_END_EXEC))
		err = perf_map_append(fd, &sum);
	summary_done(&sum);
	ret->how = sum.resumed ? 0 : sum.end_how;
	ret->damaged_bytes = added.damaged_bytes;
	return err;
}

/* Safety: system calls.  Reads /proc/@pid/stat.  Return: false without /proc,
   or such a process; @ret is empty where it has just ended. */
static bool read_stat(int pid, char *ret, int cap)
{
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	ret[0] = '\0';
	if (!file)
		return false;
	if (!fgets(ret, cap, file))
		ret[0] = '\0';
	fclose(file);
	return true;
}

/* Safety: system calls.  Return: whether @pid runs.  One that has ended is
   reaped if it has come to be our child. */
static bool is_running(int pid)
{
	const char *name_end;
	char stat[512];

	if (pid <= 0 || waitpid(pid, NULL, WNOHANG | __WALL) == pid)
		return false;
	if (!read_stat(pid, stat, sizeof(stat)))
		return kill(pid, 0) == 0; /* without /proc */
	name_end = strrchr(stat, ')');
	return name_end && strncmp(name_end, ") Z", 3) != 0;
}

/*
 * The process that writes for the program outlives it by what it is at.
 * Somebody may have stopped it, and it would hold the trace, and the dead
 * program's memory, for ever.
 */
enum writer {
	WRITER_NONE,
	WRITER_WORKS, /* or waits for the processor or the disk */
	WRITER_SLEEPS,
	WRITER_STOPPED,
	WRITER_UNKNOWN, /* it is there, but /proc is not, or no descriptor */
};

/* Safety: system calls.  Return: what the helper is at.  Its number may be
   another process's by now, or of another namespace. */
static enum writer get_writer(int helper)
{
	const char *name;
	char stat[512];

	if (!is_running(helper))
		return WRITER_NONE;
	if (!read_stat(helper, stat, sizeof(stat)))
		return WRITER_UNKNOWN;
	name = strstr(stat, "(memprof) ");
	if (!name)
		return WRITER_SLEEPS;
	switch (name[strlen("(memprof) ")]) {
	case 'R':
	case 'D':
		return WRITER_WORKS;
	case 'T':
	case 't':
		return WRITER_STOPPED;
	default:
		return WRITER_SLEEPS;
	}
}

/*
 * What counts is the lock on the file.  A child of the program's may have
 * inherited that, so without PATH.live, from which something could be missing,
 * nobody is waited for.
 *
 * Safety: system calls.  Return: 0 when the trace is ours; -EAGAIN: its process
 * still runs, or it lacks nothing; -EBUSY.
 */
static int lock_trace(int fd, const struct live_file *live, bool is_launched)
{
	const struct timespec step = {0, LOCK_STEP_NS};
	struct live_owner owner = live_get_owner(live);
	bool is_missed = live_is_there(live) &&
			 (is_launched || !is_running(owner.program));
	bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
	int idle = 0, busy = 0;

	while (is_missed && idle < LOCK_STEPS && busy < WORK_STEPS) {
		enum writer writer = get_writer(live_get_owner(live).helper);

		locked = locked || flock(fd, LOCK_EX | LOCK_NB) == 0;
		if (locked && writer == WRITER_NONE)
			break;
		if (writer == WRITER_STOPPED && idle == LOCK_STEPS / 2)
			kill(live_get_owner(live).helper, SIGKILL);
		if (writer == WRITER_WORKS ||
		    (writer == WRITER_UNKNOWN && !locked))
			busy++;
		else
			idle++;
		nanosleep(&step, NULL);
	}
	if (locked || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return is_missed ? -EBUSY : -EAGAIN;
}

int finish_read_head(const char *path, struct finish_head *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct summary sum;
	struct stat st;
	int err;

	*ret = (struct finish_head){0};
	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) == 0 ? summary_read_head(&sum, fd, st.st_size)
				  : -errno;
	close(fd);
	if (!err)
		*ret = (struct finish_head){
			.pid = (int)sum.pid,
			.trace_id = sum.trace_id,
			.run_id = sum.run_id,
			.previous_id = sum.previous_id,
			.has_piece = sum.has_piece,
		};
	return err;
}

/* Safety: allocates.  Whether the file holds nothing, and is @trace_id's as far
   as it says. */
static bool is_unbegun(int fd, uint64_t trace_id)
{
	struct summary sum = {0};
	struct stat st;
	bool is_empty;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	if (!st.st_size)
		return true;
	if (summary_read_head(&sum, fd, st.st_size) != 0 ||
	    sum.trace_id != trace_id || sum.has_piece)
		return false;
	is_empty = summary_read(&sum, fd, st.st_size) == 0 &&
		   !sum.has_piece && !sum.range_count && !sum.broken_count;
	summary_done(&sum);
	return is_empty;
}

bool finish_discard(const char *path, uint64_t trace_id)
{
	const struct timespec step = {0, LOCK_STEP_NS};
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				O_NOCTTY);
	bool locked = false;
	char live_path[4096];

	if (fd < 0)
		return errno == ENOENT;
	for (int i = 0; i < LOCK_STEPS && is_unbegun(fd, trace_id); i++) {
		locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
		if (locked)
			break;
		nanosleep(&step, NULL);
	}
	locked = locked && is_unbegun(fd, trace_id) && unlink(path) == 0;
	if (locked) {
		snprintf(live_path, sizeof(live_path), "%s.live", path);
		live_discard(live_path);
	}
	close(fd);
	return locked;
}

int finish_trace(const char *path, const struct finish_head *head,
		 const struct finish_end *end, struct finish_result *ret)
{
	struct live_file live;
	char live_path[4096];
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	int err;

	*ret = (struct finish_result){0};
	if (fd < 0)
		return -errno;
	snprintf(live_path, sizeof(live_path), "%s.live", path);
	err = live_open(&live, live_path, head->run_id);
	ret->has_other_live = err == -ESTALE;
	if (!err || ret->has_other_live)
		err = lock_trace(fd, &live, end->launched);
	if (!err)
		err = complete(fd, &live, live_path, end, ret);
	if (!err && !ret->has_other_live)
		unlink(live_path);
	live_close(&live);
	close(fd);
	return err == -EAGAIN ? 0 : err;
}
