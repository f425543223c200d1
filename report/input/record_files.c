/* SPDX-License-Identifier: MIT */
/*
 * Files that are kept in the trace.  Their bytes are read again, and checked
 * again, when somebody asks for them.
 */
#include "report/input/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/event/run.h"
#include "report/input/chunk.h"
#include "report/input/cursor.h"
#include "report/source/source.h"

enum {
	BUILD_ID_MAX = 64,
	OPEN_MAX = 64, /* files whose parts may alternate */
};

/* --- reading ------------------------------------------------------------- */

static int load_part(const struct kept_file *file,
		      const struct kept_part *part, uint8_t *ret,
		      struct chunk_loader *loader,
		      struct chunk_payload *payload)
{
	const struct source *source = file->source;
	struct chunk chunk = { .offset = part->place };
	uint8_t bytes[CHUNK_HEADER_LEN];
	const char *problem;
	ssize_t n = source_read(source, part->place, bytes, sizeof(bytes),
				NULL);
	int result;

	if (n < (ssize_t)sizeof(bytes) ||
	    !chunk_header_parse(bytes, &chunk.header))
		return -EIO;
	result = chunk_load(loader, source, &chunk, payload, &problem, NULL);
	if (result)
		return result == -ENOMEM ? -ENOMEM : -EIO;
	if (part->skip > payload->len ||
	    part->len != payload->len - part->skip)
		return -EIO;
	memcpy(ret, payload->data + part->skip, part->len);
	return 0;
}

static int read_part(const struct kept_file *file,
		      const struct kept_part *part, uint8_t *ret)
{
	struct chunk_loader loader = { 0 };
	struct chunk_payload payload = { 0 };
	int error = load_part(file, part, ret, &loader, &payload);

	chunk_payload_done(&payload);
	chunk_loader_done(&loader);
	return error;
}

/* --- finding ------------------------------------------------------------- */

static bool find_kind(uint32_t number, enum kept_kind *ret)
{
	static const enum kept_kind kinds[] = {
		[TRACE_FILE_BINARY] = KEPT_BINARY,
		[TRACE_FILE_PERF_MAP] = KEPT_PERF_MAP,
		[TRACE_FILE_JIT_OBJECT] = KEPT_JIT_OBJECT,
		[TRACE_FILE_INCLUDED] = KEPT_INCLUDED,
	};

	if (!number || number >= sizeof(kinds) / sizeof(kinds[0]))
		return false;
	*ret = kinds[number];
	return true;
}

/* What a FILE chunk says before the bytes. */
struct part_head {
	enum kept_kind kind;
	uint32_t flags;
	uint64_t offset;
	uint64_t addr;
	const uint8_t *build_id;
	uint32_t build_id_len;
	struct cursor_text path;
};

static bool is_same(const struct kept_file *file, const struct part_head *head)
{
	return file->kind == head->kind && file->addr == head->addr &&
	       strlen(file->path) == head->path.len &&
	       memcmp(file->path, head->path.data, head->path.len) == 0;
}

/* Return: the file that a part continues, NULL if there is none. */
static struct file_record *find_open(struct records *records,
				     const struct part_head *head)
{
	size_t i = records->files.count;

	for (size_t left = OPEN_MAX; i-- > 0 && left-- > 0;) {
		struct file_record *record = &records->files.items[i];

		if (record->file.source == records->source &&
		    is_same(&record->file, head))
			return record->is_done ? NULL : record;
	}
	return NULL;
}

/* A path that could not be used as one is cut at its first zero byte.
   Return: 0 or -ENOMEM. */
static int begin_file(struct records *records, const struct part_head *head,
		      struct file_record **ret)
{
	struct run *run = records->run;
	bool has_room = run->arena.used_bytes < RECORDS_ARENA_MAX;
	struct file_record *record = vec_push(&records->files);
	struct kept_file *file;

	if (!record)
		return -ENOMEM;
	file = &record->file;
	file->kind = head->kind;
	file->addr = head->addr;
	file->name = records_text(records, head->path.data, head->path.len);
	file->path = has_room ? arena_copy(&run->arena, head->path.data,
					   head->path.len)
			      : "";
	file->build_id = (const uint8_t *)arena_copy(
		&run->arena, (const char *)head->build_id, head->build_id_len);
	file->build_id_len = head->build_id_len;
	file->read = read_part;
	file->source = records->source;
	if (!file->name || !file->path || !file->build_id)
		return -ENOMEM;
	*ret = record;
	return 0;
}

static int add_part(struct file_record *record, const struct chunk *chunk,
		     const struct part_head *head, const struct cursor *rest)
{
	struct kept_part *part = vec_push(&record->parts);

	if (!part)
		return -ENOMEM;
	part->place = chunk->offset;
	part->skip = chunk->header.raw_len - (uint32_t)rest->left;
	part->len = (uint32_t)rest->left;
	record->file.bytes += rest->left;
	if (head->flags & TRACE_FILE_LAST) {
		record->is_done = true;
		record->file.is_whole = true;
		record->file.is_cut = head->flags & TRACE_FILE_CUT;
	}
	return 0;
}

static void refuse(struct records *records, const struct chunk *chunk,
		   const char *problem)
{
	findings_add(&records->run->damage, records->file, chunk->offset,
		     "a FILE chunk %s and is ignored", problem);
}

int records_add_file(struct records *records, const struct chunk *chunk,
		     struct cursor *cursor)
{
	uint32_t kind = cursor_u32(cursor);
	struct part_head head = { .flags = cursor_u32(cursor) };
	struct file_record *record = NULL;
	int error;

	head.offset = cursor_u64(cursor);
	head.addr = cursor_u64(cursor);
	head.build_id_len = cursor_u32(cursor);
	cursor_u32(cursor);
	if (!cursor->failed && head.build_id_len > BUILD_ID_MAX) {
		refuse(records, chunk, "has too long a build ID");
		return 0;
	}
	head.build_id = cursor_bytes(cursor, head.build_id_len);
	head.path = cursor_string(cursor, TRACE_STRING_LEN_MAX);
	head.path.len = strnlen(head.path.data, head.path.len);
	if (cursor->failed) {
		refuse(records, chunk, "is too short");
		return 0;
	}
	if (!find_kind(kind, &head.kind))
		return 0; /* a newer version's */
	if (head.offset) {
		record = find_open(records, &head);
		if (!record || record->file.bytes != head.offset) {
			refuse(records, chunk, "continues none");
			return 0;
		}
	} else if (records->files.count == RECORDS_FILES_MAX) {
		refuse(records, chunk, "is of one file too many");
		return 0;
	} else {
		error = begin_file(records, &head, &record);
		if (error)
			return error;
	}
	return add_part(record, chunk, &head, cursor);
}

int records_finish_files(struct records *records)
{
	struct run *run = records->run;
	size_t count = records->files.count;
	struct kept_file *files =
		arena_array(&run->arena, count, sizeof(*files));

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct file_record *record = &records->files.items[i];
		size_t parts = record->parts.count;
		struct kept_part *copy =
			arena_array(&run->arena, parts, sizeof(*copy));

		if (!copy)
			return -ENOMEM;
		if (parts)
			memcpy(copy, record->parts.items,
			       parts * sizeof(*copy));
		files[i] = record->file;
		files[i].parts = copy;
		files[i].part_count = parts;
	}
	run->files = files;
	run->file_count = count;
	return 0;
}

void records_done_files(struct records *records)
{
	for (size_t i = 0; i < records->files.count; i++)
		vec_done(&records->files.items[i].parts);
	vec_done(&records->files);
}
