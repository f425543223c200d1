/* SPDX-License-Identifier: MIT */
/*
 * Allocations one after another as a data file of heaptrack (format 3, of 1.3 and
 * later), for heaptrack_gui and heaptrack_print.
 *
 * It is text, a record a line, all numbers hexadecimal: strings (s), places in the
 * program with their functions (i), nodes of the tree of calls (t) and pairs of a
 * size and such a node (a) are told before they are first used, and their numbers
 * are their places among their kind, from 1; those of pairs from 0.  An allocation
 * (+) and a free (-) are the number of a pair.  Its reader counts a free right
 * after an allocation of the same pair as temporary, but forgets that allocation by
 * setting the pair to 0: so no block may have that number.
 */
#include "report/output/artifact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "report/core/diag.h"
#include "report/core/sink.h"
#include "report/core/vec.h"

enum {
	LEVEL = 3,
	PAGE_BYTES = 4096,
	TIME_STEP_MS = 10, /* heaptrack's own */
	TEXT_BYTES = 1 << 16,
	FIRST_SLOTS = 1 << 10,
};

/* Pairs that are known at once.  A program with more sizes than that is told some
   pair twice, which a reader adds up. */
enum { PAIRS_MAX = 1 << 20 };

/* Numbers of what two integers name; all @number 0 are free. */
struct numbered {
	uint64_t a;
	uint64_t b;
	uint32_t number;
};

/**
 * struct numbers - open addressing
 * @slots: @capacity of them, a power of two; less than half are in use
 * @next:  number that comes next
 */
struct numbers {
	struct numbered *slots;
	size_t capacity;
	size_t count;
	uint64_t next;
};

/**
 * struct heaptrack - the file being written
 * @text:  @len bytes not yet compressed
 * @nodes: by call: its number as a node, 0 if not told yet
 * @way:   calls that must be told, callees first
 * @stamp: the last one, in milliseconds
 * @error: 0 or negative errno of the first failure
 */
struct heaptrack {
	const struct figure_history *history;
	struct sink *out;
	ZSTD_CCtx *zstd;
	struct numbers strings;
	struct numbers places;
	struct numbers pairs;
	uint32_t *nodes;
	uint32_t node_count;
	struct {
		uint32_t *items;
		size_t count;
		size_t capacity;
	} way;
	uint64_t stamp;
	int error;
	size_t len;
	char text[TEXT_BYTES];
	char packed[TEXT_BYTES];
};

/* --- text --------------------------------------------------------------- */

static void fail(struct heaptrack *file, int error)
{
	if (!file->error)
		file->error = error;
}

static void compress(struct heaptrack *file, ZSTD_EndDirective directive)
{
	ZSTD_inBuffer in = { file->text, file->len, 0 };
	size_t left = 1;

	file->len = 0;
	while (!file->error && (in.pos < in.size || (directive && left))) {
		ZSTD_outBuffer out = { file->packed, sizeof(file->packed), 0 };

		left = ZSTD_compressStream2(file->zstd, &out, &in, directive);
		if (ZSTD_isError(left))
			fail(file, -ENOMEM);
		else
			sink_write(file->out, file->packed, out.pos);
	}
}

static void put(struct heaptrack *file, const char *data, size_t len)
{
	while (len) {
		size_t room = TEXT_BYTES - file->len;
		size_t some = len < room ? len : room;

		memcpy(file->text + file->len, data, some);
		file->len += some;
		data += some;
		len -= some;
		if (file->len == TEXT_BYTES)
			compress(file, ZSTD_e_continue);
	}
}

static void put_text(struct heaptrack *file, const char *text)
{
	put(file, text, strlen(text));
}

/* A blank and @number. */
static void put_number(struct heaptrack *file, uint64_t number)
{
	char digits[17];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[number & 15];
		number >>= 4;
	} while (number);
	digits[--at] = ' ';
	put(file, digits + at, sizeof(digits) - at);
}

/* A line that says one thing. */
static void put_line(struct heaptrack *file, const char *type, uint64_t number)
{
	put_text(file, type);
	put_number(file, number);
	put_text(file, "\n");
}

/* --- numbers ------------------------------------------------------------ */

static struct numbered *slot_find(const struct numbers *numbers, uint64_t a,
				  uint64_t b)
{
	uint64_t hash = (a * UINT64_C(0x9e3779b97f4a7c15) ^ b) *
			UINT64_C(0xff51afd7ed558ccd);
	size_t at = (size_t)(hash >> 32) & (numbers->capacity - 1);

	while (numbers->slots[at].number &&
	       (numbers->slots[at].a != a || numbers->slots[at].b != b))
		at = (at + 1) & (numbers->capacity - 1);
	return &numbers->slots[at];
}

static bool slots_grow(struct numbers *numbers)
{
	struct numbers grown = *numbers;

	grown.capacity = numbers->capacity ? numbers->capacity * 2
					   : FIRST_SLOTS;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < numbers->capacity; i++) {
		const struct numbered *old = &numbers->slots[i];

		if (old->number)
			*slot_find(&grown, old->a, old->b) = *old;
	}
	free(numbers->slots);
	*numbers = grown;
	return true;
}

/* Return: the number of what @a and @b name, *@ret_is_new if it must be told; 0
   after a failure. */
static uint32_t number_of(struct heaptrack *file, struct numbers *numbers,
			  uint64_t a, uint64_t b, bool *ret_is_new)
{
	struct numbered *slot;

	*ret_is_new = false;
	if (numbers->count >= numbers->capacity / 2 && !slots_grow(numbers)) {
		fail(file, -ENOMEM);
		return 0;
	}
	slot = slot_find(numbers, a, b);
	if (!slot->number) {
		if (!numbers->next)
			numbers->next = 1;
		if (numbers->next > UINT32_MAX) {
			fail(file, -EOVERFLOW);
			return 0;
		}
		*slot = (struct numbered){ a, b, (uint32_t)numbers->next++ };
		numbers->count++;
		*ret_is_new = true;
	}
	return slot->number;
}

/* --- what is told before it is used ------------------------------------- */

/* Return: its number; 0 for none.  Equal names are one pointer, nearly always. */
static uint32_t string_number(struct heaptrack *file, const char *text)
{
	uint32_t number;
	bool is_new;

	if (!text || !*text)
		return 0;
	number = number_of(file, &file->strings, (uintptr_t)text, 0, &is_new);
	if (is_new) {
		size_t len = strlen(text);

		put_text(file, "s");
		put_number(file, len);
		put_text(file, " ");
		put(file, text, len);
		put_text(file, "\n");
	}
	return number;
}

/* heaptrack has addresses of calls, not those that they return to. */
static uint32_t place_number(struct heaptrack *file,
			     const struct figure_call *call)
{
	const struct figure_frame *frames = call->frames;
	bool is_new;
	uint32_t number =
		number_of(file, &file->places, call->place, 0, &is_new);

	if (!is_new)
		return number;
	string_number(file, frames[0].module);
	for (size_t i = 0; i < call->count; i++) {
		string_number(file, frames[i].function);
		string_number(file, frames[i].file);
	}
	put_text(file, "i");
	put_number(file, frames[0].address ? frames[0].address - 1 : 0);
	put_number(file, string_number(file, frames[0].module));
	for (size_t i = 0; i < call->count; i++) {
		put_number(file, string_number(file, frames[i].function));
		if (call->count == 1 && !frames[i].file)
			break;
		put_number(file, string_number(file, frames[i].file));
		put_number(file, frames[i].line);
	}
	put_text(file, "\n");
	return number;
}

/* Return: the number of its node. */
static uint32_t node_number(struct heaptrack *file, uint32_t number)
{
	const struct figure_history *history = file->history;
	struct figure_call call;

	file->way.count = 0;
	for (uint32_t at = number; at && !file->nodes[at]; at = call.caller) {
		uint32_t *slot = vec_push(&file->way);

		if (!slot || history->call(history->context, at, &call)) {
			fail(file, -ENOMEM);
			return 0;
		}
		*slot = at;
	}
	while (file->way.count) {
		uint32_t at = file->way.items[--file->way.count];
		uint32_t place;

		if (history->call(history->context, at, &call)) {
			fail(file, -ENOMEM);
			return 0;
		}
		place = place_number(file, &call);
		put_text(file, "t");
		put_number(file, place);
		put_number(file, file->nodes[call.caller]);
		put_text(file, "\n");
		file->nodes[at] = ++file->node_count;
	}
	return file->nodes[number];
}

static void pair_write(struct heaptrack *file, uint64_t bytes, uint32_t node)
{
	put_text(file, "a");
	put_number(file, bytes);
	put_number(file, node);
	put_text(file, "\n");
}

static uint32_t pair_number(struct heaptrack *file,
			    const struct figure_step *step)
{
	struct numbers *pairs = &file->pairs;
	uint32_t number;
	bool is_first = pairs->next == 0, is_new;

	if (pairs->count == PAIRS_MAX) {
		memset(pairs->slots, 0,
		       pairs->capacity * sizeof(*pairs->slots));
		pairs->count = 0;
	}
	number = number_of(file, pairs, step->bytes, step->call, &is_new);
	if (is_new) {
		uint32_t node = node_number(file, step->call);

		if (is_first)
			pair_write(file, 0, node);
		pair_write(file, step->bytes, node);
	}
	return number;
}

/* --- the file ----------------------------------------------------------- */

static void stamp_write(struct heaptrack *file, uint64_t milliseconds)
{
	file->stamp = milliseconds;
	put_line(file, "c", milliseconds);
}

static void head_write(struct heaptrack *file)
{
	const struct figure_history *history = file->history;

	put_text(file, "v 10600 3\n");
	for (size_t i = 0; i < history->argument_count; i++) {
		put_text(file, i ? " " : "X ");
		put_text(file, history->arguments[i]);
	}
	/* The trace does not say how much memory the machine has. */
	put_text(file, history->argument_count ? "\nI" : "I");
	put_number(file, PAGE_BYTES);
	put_number(file, 0);
	put_text(file, "\n");
	if (history->left_out) {
		char text[96];

		snprintf(text, sizeof(text),
			 "# left out: %" PRIu64 " allocations that the trace "
			 "has only in sums\n",
			 history->left_out);
		put_text(file, text);
	}
}

static void step_write(struct heaptrack *file, const struct figure_step *step)
{
	bool is_sample = step->kind == FIGURE_STEP_RESIDENT;
	uint64_t now = step->milliseconds;

	if (is_sample ? now > file->stamp : now >= file->stamp + TIME_STEP_MS)
		stamp_write(file, now);
	if (is_sample)
		put_line(file, "R", step->bytes / PAGE_BYTES);
	else
		put_line(file, step->kind == FIGURE_STEP_FREED ? "-" : "+",
			 pair_number(file, step));
}

static int write_file(struct heaptrack *file, struct diag *diag)
{
	const struct figure_history *history = file->history;
	struct figure_step step;
	int status = history->rewind(history->context, diag);

	head_write(file);
	while (status == 0 && !file->error && !file->out->error) {
		status = history->next(history->context, &step, diag);
		if (status <= 0)
			break;
		step_write(file, &step);
		status = 0;
	}
	if (status < 0)
		return status;
	stamp_write(file, history->end > file->stamp ? history->end
						     : file->stamp);
	compress(file, ZSTD_e_end);
	if (file->error == -EOVERFLOW)
		diag_set(diag, -EOVERFLOW, NULL, DIAG_NO_OFFSET,
			 "too many allocations for heaptrack's format: "
			 "it has numbers of 32 bits");
	else if (file->error)
		diag_set(diag, file->error, NULL, DIAG_NO_OFFSET,
			 "out of memory");
	return file->error;
}

static int render(const struct figure *figure, struct sink *out,
		  struct diag *diag)
{
	struct heaptrack *file;
	int status = -ENOMEM;

	if (figure->kind != FIGURE_HISTORY)
		return diag_set(diag, -EINVAL, NULL, DIAG_NO_OFFSET,
				"a file for heaptrack needs a history");
	file = calloc(1, sizeof(*file));
	if (file) {
		file->history = &figure->history;
		file->out = out;
		file->zstd = ZSTD_createCCtx();
		file->nodes = calloc((size_t)figure->history.call_count + 1,
				     sizeof(*file->nodes));
	}
	if (file && file->zstd && file->nodes &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(
		    file->zstd, ZSTD_c_compressionLevel, LEVEL)))
		status = write_file(file, diag);
	else
		diag_set(diag, status, NULL, DIAG_NO_OFFSET, "out of memory");
	if (!file)
		return status;
	ZSTD_freeCCtx(file->zstd);
	free(file->strings.slots);
	free(file->places.slots);
	free(file->pairs.slots);
	free(file->nodes);
	vec_done(&file->way);
	free(file);
	return status;
}

const struct artifact_format artifact_heaptrack = {
	.name = "heaptrack",
	.suffix = "heaptrack.zst",
	.subject = SUBJECT_HISTORY,
	.kind = FIGURE_HISTORY,
	.summary = "what came and went, for heaptrack_gui and heaptrack_print",
	.render = render,
};
