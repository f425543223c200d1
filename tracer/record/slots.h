/* SPDX-License-Identifier: MIT */
/* From the buffers of PATH.live to chunks of a trace. */
#ifndef TRACER_RECORD_SLOTS_H
#define TRACER_RECORD_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct summary;

/**
 * struct live_file - PATH.live, open for reading
 * @fd: -1 when there is none
 *
 * It is never mapped: a process that has inherited it may cut it off, and a
 * mapping would then end this one by SIGBUS.
 */
struct live_file {
	int fd;
};

/* Safety: opens.  Return: 0, also when there is none; -ESTALE: it is that of
   another run than @run_id, or nothing of ours; or another -errno. */
int live_open(struct live_file *ret, const char *path, uint64_t run_id);

/*
 * Removes the PATH.live that was made for a trace which is going to be removed.
 * A file that a tracer would replace by its own can only be that.
 *
 * Safety: opens, unlinks.
 */
void live_discard(const char *path);

/* Safety: closes; may be called again. */
void live_close(struct live_file *live);

/* Return: whether there is one.  Safety: pure. */
bool live_is_there(const struct live_file *live);

/**
 * struct live_owner - processes that write to it, or did
 * @program: the traced one
 * @helper:  writes its trace, 0 for none
 */
struct live_owner {
	int program;
	int helper;
};

/* Return: as the file says, zeros where it does not.  Safety: reads. */
struct live_owner live_get_owner(const struct live_file *live);

/**
 * struct live_lost - events that neither the trace nor the slots have
 * @write:  a write failed
 * @memory: there was none for buffers
 */
struct live_lost {
	uint64_t write;
	uint64_t memory;
};

/* Return: how many buffers of the program are not in the file.  Safety: reads. */
uint32_t live_get_outside(const struct live_file *live);

/* Return: as the file says, zeros where it does not.  Safety: reads. */
struct live_lost live_get_lost(const struct live_file *live);

/*
 * Cuts the buffers off that slots_append() has put into the trace, and keeps
 * what live_get_owner() and live_get_lost() read: on a full disk the trace's
 * end needs their room.  Not where another piece has a name for the file, too,
 * whose buffers may be in it.
 *
 * Safety: system call; nobody writes to the file any more.
 */
void live_shrink(const char *path);

/**
 * struct slots_result - what was done
 * @chunks:        appended
 * @damaged_bytes: of buffers, left out; also where they are not there
 */
struct slots_result {
	uint32_t chunks;
	uint64_t damaged_bytes;
};

/*
 * Appends to the trace what of the live buffers it lacks.
 *
 * Safety: allocates.  Return: 0; -EINVAL when @live is not the trace's; or
 * another -errno.
 */
int slots_append(int fd, const struct summary *sum,
		 const struct live_file *live, struct slots_result *ret);

#endif /* TRACER_RECORD_SLOTS_H */
