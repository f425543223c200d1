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
	HELPER_TRIES = 1000,
	HELPER_STEP_NS = 2 * 1000 * 1000,
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
	if (end->is_followed)
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

/* Safety: allocates.  Return: 0 or -errno. */
static int complete(int fd, const struct live_file *live,
		    const char *live_path, const struct finish_end *end,
		    struct finish_result *ret)
{
	struct slots_result added = {0};
	struct summary sum = {0};
	int err = prepare(fd, &sum);

	if (!err)
		err = slots_append(fd, &sum, live, &added);
	sum.resumed |= added.chunks &&
		       summary_is_resumed_by(&sum, TRACE_CHUNK_COLUMNS);
	if (!err && (!sum.end_how || sum.resumed ||
		     (added.chunks && is_end_of_piece(&sum)))) {
		if (live_get_lost(live).write)
			live_shrink(live_path);
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

/* Safety: system calls.  Whether a process can still write the trace. */
static bool is_being_written(const struct live_file *live, bool is_launched)
{
	struct live_owner owner = live_get_owner(live);

	return is_running(owner.helper) &&
	       (is_launched || !is_running(owner.program));
}

/*
 * Somebody has stopped the process that writes, and it would hold the trace,
 * and the dead program's memory, for ever.  What it is at is in PATH.live.
 *
 * Safety: system calls.
 */
static void kill_stopped(int pid)
{
	char stat[512];

	if (read_stat(pid, stat, sizeof(stat)) && strstr(stat, "(memprof) T"))
		kill(pid, SIGKILL);
}

/*
 * The process that writes for the program outlives it by what it is at.  Its
 * number may be another's by now, or of another namespace, so the wait has an
 * end, and the lock on the file is the one thing that counts.
 *
 * Safety: system calls.  Return: whether the trace is ours now.
 */
static bool lock_trace(int fd, const struct live_file *live, bool is_launched)
{
	const struct timespec step = {0, HELPER_STEP_NS};
	bool locked = false;

	for (int i = 0; i < HELPER_TRIES; i++) {
		locked = locked || flock(fd, LOCK_EX | LOCK_NB) == 0;
		if (!is_being_written(live, is_launched) &&
		    (locked || !is_launched || !live_is_there(live)))
			break;
		if (i == HELPER_TRIES / 2 && is_being_written(live, is_launched))
			kill_stopped(live_get_owner(live).helper);
		nanosleep(&step, NULL);
	}
	return locked || flock(fd, LOCK_EX | LOCK_NB) == 0;
}

int finish_read_head(const char *path, struct finish_head *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
			.previous_id = sum.previous_id,
		};
	return err;
}

int finish_trace(const char *path, const struct finish_end *end,
		 struct finish_result *ret)
{
	struct live_file live;
	char live_path[4096];
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	int err;

	*ret = (struct finish_result){0};
	if (fd < 0)
		return -errno;
	snprintf(live_path, sizeof(live_path), "%s.live", path);
	err = live_open(&live, live_path);
	if (!err && lock_trace(fd, &live, end->launched)) {
		err = complete(fd, &live, live_path, end, ret);
		if (!err)
			unlink(live_path);
	}
	live_close(&live);
	close(fd);
	return err;
}
