/* SPDX-License-Identifier: MIT */
/*
 * The kernel tells of every mapping; a program can have tens of thousands, so
 * those of one kind and name are added up.
 */
#include "tracer/smaps.h"

#include <string.h>

#include "tracer/chunk.h"
#include "tracer/clock.h"
#include "tracer/compiler.h"
#include "tracer/encode.h"
#include "tracer/live.h"
#include "tracer/options.h"
#include "tracer/pool.h"
#include "tracer/thread.h"

enum {
	TEXT_BYTES = 32 << 10, /* the longest line is a path of 16 KiB */
	NAME_MAX_BYTES = 1024,
	ROWS_MAX = 512,
	ROW_FIXED = 8 + 8 * TRACE_SMAPS_VALUES + 4,
	/* There is always room for one row more, which takes the rest. */
	ROWS_BYTES = (int)CHUNK_PAYLOAD_MAX - 2 * ROW_FIXED - 16,
	STACKS_MAX = 16384,
	INTERVAL_MIN_MS = 20,
	INTERVAL_MAX_MS = 1000,
	INTERVAL_PER_COST = 250,
	INTERVAL_OF_RUN = 8, /* the run's time so far, divided by it */
};

/**
 * struct mapping - one that is being read
 * @start, @end: addresses
 * @name:    as the kernel gives it, cut off
 * @is_code, @is_reserved, @is_dumped: its flags x, and, turned round, nr, dd
 * @values:  bytes, in the order of the format
 */
struct mapping {
	uint64_t start;
	uint64_t end;
	char name[NAME_MAX_BYTES];
	size_t name_len;
	bool is_code;
	bool is_reserved;
	bool is_dumped;
	uint64_t values[TRACE_SMAPS_VALUES];
};

/**
 * struct row - mappings of one kind and name
 */
struct row {
	enum trace_smaps_kind kind;
	uint32_t mappings;
	const char *name; /* in the sample's names */
	uint32_t name_len;
	uint64_t values[TRACE_SMAPS_VALUES];
};

/**
 * struct sample - room for one
 * @stacks: ends of the threads' stacks, ascending
 * @bytes:  that the rows will take
 */
struct sample {
	char text[TEXT_BYTES];
	struct mapping mapping;
	struct row rows[ROWS_MAX];
	size_t row_count;
	size_t bytes;
	char names[CHUNK_PAYLOAD_MAX];
	size_t names_len;
	uintptr_t stacks[STACKS_MAX];
	size_t stack_count;
	size_t stack_next;
	uint8_t payload[CHUNK_PAYLOAD_MAX];
};

static struct {
	struct spinlock lock;
	struct sample *sample;
	_Atomic uint64_t first_ns;
	_Atomic uint64_t due_ns;
	bool is_missing; /* the kernel has nothing to tell */
} smaps;

/* --- threads' stacks ------------------------------------------------------ */

/* Shell's sort: the streams are nearly in order already.  Safety: pure. */
static void sort(uintptr_t *items, size_t count)
{
	for (size_t gap = count / 2; gap; gap /= 2)
		for (size_t i = gap; i < count; i++) {
			uintptr_t item = items[i];
			size_t at = i;

			for (; at >= gap && items[at - gap] > item; at -= gap)
				items[at] = items[at - gap];
			items[at] = item;
		}
}

/* Safety: lock held; mappings come in ascending order. */
static bool has_stack(struct sample *sample, const struct mapping *mapping)
{
	while (sample->stack_next < sample->stack_count &&
	       sample->stacks[sample->stack_next] <= mapping->start)
		sample->stack_next++;
	return sample->stack_next < sample->stack_count &&
	       sample->stacks[sample->stack_next] <= mapping->end;
}

/* --- what a mapping is ---------------------------------------------------- */

/* Safety: pure. */
static bool begins(const struct mapping *mapping, const char *with)
{
	size_t len = strlen(with);

	return mapping->name_len >= len &&
	       memcmp(mapping->name, with, len) == 0;
}

/* Safety: pure.  The kernel names what has no file of its own like a file. */
static bool is_shared_memory(const struct mapping *mapping)
{
	return begins(mapping, "/memfd:") || begins(mapping, "/dev/zero") ||
	       begins(mapping, "/SYSV") || begins(mapping, "/dev/shm/") ||
	       begins(mapping, "[anon_shmem");
}

/* Where the kernel keeps no names, pool_map() marks memory by its flags.
   Safety: pure. */
static bool is_of_tracer(const struct mapping *mapping)
{
	return begins(mapping, "[anon:memprof]") ||
	       strstr(mapping->name, "/libmemprof.so") ||
	       (!mapping->name_len && !mapping->is_reserved &&
		!mapping->is_dumped) ||
	       (mapping->name_len && live_is_path(mapping->name));
}

/* Safety: lock held. */
static enum trace_smaps_kind get_kind(struct sample *sample,
				      const struct mapping *mapping)
{
	bool is_stack = has_stack(sample, mapping);

	if (is_of_tracer(mapping))
		return TRACE_SMAPS_TRACER;
	if (begins(mapping, "[heap]"))
		return TRACE_SMAPS_HEAP;
	if (begins(mapping, "[stack"))
		return TRACE_SMAPS_STACK;
	if (is_shared_memory(mapping))
		return TRACE_SMAPS_SHARED;
	if (begins(mapping, "/"))
		return TRACE_SMAPS_FILE;
	if (mapping->name_len && !begins(mapping, "[anon"))
		return TRACE_SMAPS_SPECIAL;
	if (mapping->is_code)
		return TRACE_SMAPS_CODE;
	if (is_stack || begins(mapping, "[anon: glibc: pthread stack"))
		return TRACE_SMAPS_STACK;
	return TRACE_SMAPS_ANONYMOUS;
}

/* --- rows ----------------------------------------------------------------- */

/* Safety: pure. */
static struct row *find_row(struct sample *sample, enum trace_smaps_kind kind,
			    const struct mapping *mapping)
{
	for (size_t i = sample->row_count; i-- > 0;) {
		struct row *row = &sample->rows[i];

		if (row->kind == kind && row->name_len == mapping->name_len &&
		    memcmp(row->name, mapping->name, row->name_len) == 0)
			return row;
	}
	return NULL;
}

/* Safety: pure.  Return: a new row; the one for the rest, which is the last one
   and takes all from then on, when there is no more room. */
static struct row *add_row(struct sample *sample, enum trace_smaps_kind kind,
			   const struct mapping *mapping)
{
	size_t name_len = mapping->name_len;
	bool is_full = sample->row_count + 1 >= ROWS_MAX ||
		       sample->bytes + ROW_FIXED + name_len > ROWS_BYTES;
	struct row *row = &sample->rows[sample->row_count];

	if (sample->row_count && row[-1].kind == TRACE_SMAPS_REST)
		return row - 1;
	if (is_full) {
		kind = TRACE_SMAPS_REST;
		name_len = 0;
	}
	*row = (struct row){.kind = kind,
			    .name = sample->names + sample->names_len,
			    .name_len = (uint32_t)name_len};
	memcpy(sample->names + sample->names_len, mapping->name, name_len);
	sample->names_len += name_len;
	sample->row_count++;
	sample->bytes += ROW_FIXED + name_len;
	return row;
}

/* Safety: lock held.  Adds what has been read. */
static void add_mapping(struct sample *sample)
{
	struct mapping *mapping = &sample->mapping;
	enum trace_smaps_kind kind;
	struct row *row;

	if (!mapping->end)
		return;
	kind = get_kind(sample, mapping);
	row = find_row(sample, kind, mapping);
	if (!row)
		row = add_row(sample, kind, mapping);
	row->mappings++;
	for (size_t i = 0; i < TRACE_SMAPS_VALUES; i++)
		row->values[i] += mapping->values[i];
	mapping->end = 0;
}

/* --- the kernel's text ---------------------------------------------------- */

/* Safety: pure.  Return: the number at *@p, which is behind it afterwards. */
static uint64_t take_number(const char **p, unsigned base)
{
	uint64_t value = 0;

	for (;; (*p)++) {
		unsigned digit = (unsigned char)**p;

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if (digit >= 'a' && digit <= 'f')
			digit -= 'a' - 10;
		else
			return value;
		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

/* Safety: pure.  Return: behind @count words. */
static const char *skip_words(const char *p, int count)
{
	for (; count > 0; count--) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	return p;
}

/* A mapping's first line: addresses, rights, offset, device, inode, name.
   Safety: lock held. */
static void read_head(struct sample *sample, const char *line)
{
	struct mapping *mapping = &sample->mapping;
	const char *rights;

	add_mapping(sample);
	memset(mapping->values, 0, sizeof(mapping->values));
	mapping->start = take_number(&line, 16);
	line += *line == '-';
	mapping->end = take_number(&line, 16);
	rights = skip_words(line, 1);
	mapping->is_code = strlen(rights) > 4 && rights[2] == 'x';
	mapping->is_reserved = true;
	mapping->is_dumped = true;
	line = skip_words(rights, 4);
	mapping->name_len = strlen(line);
	if (mapping->name_len >= NAME_MAX_BYTES)
		mapping->name_len = NAME_MAX_BYTES - 1;
	memcpy(mapping->name, line, mapping->name_len);
	mapping->name[mapping->name_len] = '\0';
}

/* Safety: pure. */
static void read_value(struct mapping *mapping, const char *line)
{
#define KEY(text) {text, sizeof(text) - 1}
	static const struct {
		const char *text;
		size_t len;
	} keys[TRACE_SMAPS_VALUES] = {
	    KEY("Size:"),	  KEY("Rss:"),		KEY("Anonymous:"),
	    KEY("Shared_Clean:"), KEY("Shared_Dirty:"), KEY("Private_Clean:"),
	    KEY("Private_Dirty:"), KEY("Swap:")};
#undef KEY

	for (size_t i = 0; i < TRACE_SMAPS_VALUES; i++) {
		size_t len = keys[i].len;

		if (*line != *keys[i].text ||
		    strncmp(line, keys[i].text, len) != 0)
			continue;
		line += len + strspn(line + len, " ");
		mapping->values[i] = take_number(&line, 10) * 1024;
		return;
	}
	if (strncmp(line, "VmFlags:", 8) == 0) {
		mapping->is_reserved = !strstr(line, " nr");
		mapping->is_dumped = !strstr(line, " dd");
	}
}

/* Safety: lock held. */
static void read_line(struct sample *sample, const char *line)
{
	bool is_head = (*line >= '0' && *line <= '9') ||
		       (*line >= 'a' && *line <= 'f');

	if (is_head)
		read_head(sample, line);
	else if (sample->mapping.end)
		read_value(&sample->mapping, line);
}

/* Safety: lock held.  Return: bytes of @text[0..@len) that were whole lines. */
static size_t read_lines(struct sample *sample, size_t len)
{
	char *text = sample->text;
	size_t done = 0;
	char *end;

	while ((end = memchr(text + done, '\n', len - done))) {
		*end = '\0';
		read_line(sample, text + done);
		done = (size_t)(end - text) + 1;
	}
	return done;
}

/* Safety: lock held.  Return: whether there was anything to read. */
static bool read_all(struct sample *sample)
{
	int fd = sys_open("/proc/self/smaps", O_RDONLY | O_CLOEXEC, 0);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return false;
	while (len < TEXT_BYTES &&
	       (n = sys_read(fd, sample->text + len, TEXT_BYTES - len)) > 0) {
		size_t done;

		len += (size_t)n;
		done = read_lines(sample, len);
		len -= done;
		memmove(sample->text, sample->text + done, len);
	}
	sys_close(fd);
	add_mapping(sample);
	return n == 0 && sample->row_count;
}

/* --- samples -------------------------------------------------------------- */

/* Safety: lock held. */
static void write_sample(struct sample *sample)
{
	uint64_t now = clock_now();
	uint8_t *p = sample->payload;

	p = put_u64(p, now);
	p = put_u32(p, (uint32_t)sample->row_count);
	p = put_u32(p, 0);
	for (size_t i = 0; i < sample->row_count; i++) {
		const struct row *row = &sample->rows[i];

		p = put_u32(p, (uint32_t)row->kind);
		p = put_u32(p, row->mappings);
		for (size_t k = 0; k < TRACE_SMAPS_VALUES; k++)
			p = put_u64(p, row->values[k]);
		p = put_string(p, row->name, row->name_len);
	}
	chunk_write(&(struct chunk){.type = TRACE_CHUNK_SMAPS,
				    .payload = sample->payload,
				    .len = (size_t)(p - sample->payload),
				    .tick = now});
}

/* Safety: lock held. */
static void take(void)
{
	struct sample *sample = smaps.sample;

	if (!sample)
		sample = smaps.sample = pool_map(sizeof(*sample));
	if (!sample)
		return;
	sample->row_count = 0;
	sample->names_len = 0;
	sample->bytes = 0;
	sample->mapping.end = 0;
	sample->stack_next = 0;
	sample->stack_count = thread_stack_ends(sample->stacks, STACKS_MAX);
	sort(sample->stacks, sample->stack_count);
	if (read_all(sample))
		write_sample(sample);
	else
		smaps.is_missing = true;
}

/* Safety: pure but for the clock.  @start_ns: when the sample was begun. */
static void plan_next(uint64_t start_ns)
{
	const uint64_t ms = 1000000;
	uint64_t now = clock_monotonic_ns();
	uint64_t wait;

	if (!smaps.first_ns)
		smaps.first_ns = start_ns;
	wait = (now - smaps.first_ns) / INTERVAL_OF_RUN;
	if (wait < INTERVAL_MIN_MS * ms)
		wait = INTERVAL_MIN_MS * ms;
	if (wait > INTERVAL_MAX_MS * ms)
		wait = INTERVAL_MAX_MS * ms;
	if (wait < (now - start_ns) * INTERVAL_PER_COST)
		wait = (now - start_ns) * INTERVAL_PER_COST;
	smaps.due_ns = now + wait;
}

void smaps_take(void)
{
	uint64_t start_ns = clock_monotonic_ns();

	if (!options.gather_maps || smaps.is_missing ||
	    !spinlock_try(&smaps.lock))
		return;
	take();
	plan_next(start_ns);
	spinlock_give(&smaps.lock);
}

void smaps_take_if_due(void)
{
	if (clock_monotonic_ns() >= smaps.due_ns)
		smaps_take();
}

long smaps_due_ms(long max)
{
	uint64_t now = clock_monotonic_ns(), due = smaps.due_ns;
	uint64_t ms = due > now ? (due - now) / 1000000 + 1 : 1;

	if (!options.gather_maps || smaps.is_missing || ms > (uint64_t)max)
		return max;
	return (long)ms;
}

void smaps_forget(void)
{
	spinlock_give(&smaps.lock);
	smaps.first_ns = 0;
	smaps.due_ns = 0;
}
