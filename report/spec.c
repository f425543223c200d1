/* SPDX-License-Identifier: MIT */
#include "report/spec.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/diag.h"
#include "report/core/text.h"
#include "report/spec_keys.h"
#include "report/spec_mistakes.h"
#include "report/spec_section.h"
#include "report/spec_uses.h"

enum {
	SPEC_FILE_MAX = 1024 * 1024,
	SECTION_MAX = 49, /* what inih keeps of a section's name */
};

static const char blank[] = " \t\r\n";

#define SECTIONS "[report], [filter NAME], [view NAME]"

int spec_init(struct spec *spec, const char *path)
{
	memset(spec, 0, sizeof(*spec));
	for (size_t i = 0; i < SPEC_PAGES_MAX && page_formats[i]; i++)
		spec->pages[spec->page_count++] = page_formats[i];
	spec->path = arena_copy(&spec->arena, path, strlen(path));
	return spec->path ? 0 : -ENOMEM;
}

void spec_take_views(struct spec *spec, struct spec *from)
{
	assert(!spec->view_count && !spec->lent.blocks);
	spec->views = from->views;
	spec->view_count = from->view_count;
	spec->lent = from->arena;
	memset(from, 0, sizeof(*from));
}

bool spec_view_has(const struct spec_view *view, enum artifact_subject subject)
{
	for (size_t i = 0; i < view->artifact_count; i++)
		if (view->artifacts[i]->subject == subject)
			return true;
	return false;
}

void spec_done(struct spec *spec)
{
	arena_done(&spec->arena);
	arena_done(&spec->lent);
	memset(spec, 0, sizeof(*spec));
}

/**
 * struct reading - a spec file on its way through inih
 * @next:   text not yet handed to inih, up to @end
 * @status: an error that ends the reading
 * @is_skipping: the current section cannot be read: its keys mean nothing
 * @view, @filter: the current section; NULL in others and before any section
 * @seen:   keys of the current section, as in section_view_set()
 */
struct reading {
	struct spec *spec;
	struct place place;
	const char *next;
	const char *end;
	int status;
	struct mistakes mistakes;
	bool has_skipped;
	bool is_skipping;
	uint32_t report_line; /* of [report], 0 before it */
	struct spec_view *view;
	size_t view_capacity;
	struct spec_filter *filter;
	size_t filter_capacity;
	struct section_seen seen;
};

static int section_close(struct reading *reading)
{
	struct place place = reading->place;

	if (reading->filter) {
		place.line = reading->filter->line;
		return section_filter_finish(reading->filter, &place,
					     &reading->mistakes);
	}
	if (!reading->view)
		return 0;
	place.line = reading->view->line;
	return section_view_finish(reading->view, &reading->seen, &place,
				   &reading->mistakes);
}

/* Return: @items with room for one more than @count, zeroed; NULL when out of
   memory. */
static void *array_grow(struct arena *arena, void *items, size_t count,
			size_t *capacity, size_t element_size)
{
	size_t grown_capacity = *capacity ? *capacity * 2 : 8;
	void *grown;

	if (count < *capacity)
		return items;
	grown = arena_array(arena, grown_capacity, element_size);
	if (!grown)
		return NULL;
	if (count)
		memcpy(grown, items, count * element_size);
	*capacity = grown_capacity;
	return grown;
}

static struct spec_view *view_push(struct reading *reading)
{
	struct spec *spec = reading->spec;
	struct spec_view *grown =
		array_grow(&spec->arena, spec->views, spec->view_count,
			   &reading->view_capacity, sizeof(*grown));

	if (!grown)
		return NULL;
	spec->views = grown;
	return &spec->views[spec->view_count++];
}

static struct spec_filter *filter_push(struct reading *reading)
{
	struct spec *spec = reading->spec;
	struct spec_filter *grown =
		array_grow(&spec->arena, spec->filters, spec->filter_count,
			   &reading->filter_capacity, sizeof(*grown));

	if (!grown)
		return NULL;
	spec->filters = grown;
	return &spec->filters[spec->filter_count++];
}

static bool name_is_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";

	return name[0] != '.' && !name[strspn(name, allowed)];
}

/* @kind: "view" or "filter"; @line: of the section that has this name already,
   0 if none has. */
static int name_check(const struct place *place, const char *kind,
		      const char *name, uint32_t line)
{
	if (!name[0])
		return place_fail(place, -EINVAL,
				  "a %s without a name; allowed: [%s NAME]",
				  kind, kind);
	if (!name_is_valid(name))
		return place_fail(place, -EINVAL,
				  "\"%s\" is not a %s's name; allowed: "
				  "letters, digits, _ . -, not beginning with "
				  "a dot",
				  name, kind);
	if (line)
		return place_fail(place, -EINVAL,
				  "[%s %s] stands twice, first in line %u; "
				  "allowed: once",
				  kind, name, line);
	return 0;
}

static uint32_t view_line(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->view_count; i++)
		if (strcmp(spec->views[i].name, name) == 0)
			return spec->views[i].line;
	return 0;
}

static uint32_t filter_line(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->filter_count; i++)
		if (strcmp(spec->filters[i].name, name) == 0)
			return spec->filters[i].line;
	return 0;
}

/* A section whose name is a mistake is read all the same, so that those below it
   are found too: nothing comes of the spec then. */
static int view_begin(struct reading *reading, const char *name)
{
	const struct place *place = &reading->place;
	struct spec *spec = reading->spec;
	int status = mistakes_keep(&reading->mistakes,
				   name_check(place, "view", name,
					      view_line(spec, name)));
	struct spec_view *view = status < 0 ? NULL : view_push(reading);

	if (!view)
		return place_fail(place, -ENOMEM, "out of memory");
	view->name = arena_copy(&spec->arena, name, strlen(name));
	if (!view->name)
		return place_fail(place, -ENOMEM, "out of memory");
	view->count = SORT_NO_COUNT;
	view->path = spec->path;
	view->line = place->line;
	reading->view = view;
	return 0;
}

static int filter_begin(struct reading *reading, const char *name)
{
	const struct place *place = &reading->place;
	struct spec *spec = reading->spec;
	int status = mistakes_keep(&reading->mistakes,
				   name_check(place, "filter", name,
					      filter_line(spec, name)));
	struct spec_filter *filter = status < 0 ? NULL : filter_push(reading);

	if (!filter)
		return place_fail(place, -ENOMEM, "out of memory");
	filter->name = arena_copy(&spec->arena, name, strlen(name));
	if (!filter->name)
		return place_fail(place, -ENOMEM, "out of memory");
	filter->line = place->line;
	reading->filter = filter;
	return 0;
}

static int report_begin(struct reading *reading)
{
	int status = 0;

	if (reading->report_line)
		status = place_fail(&reading->place, -EINVAL,
				    "[report] stands twice, first in line %u; "
				    "allowed: once",
				    reading->report_line);
	else
		reading->report_line = reading->place.line;
	return mistakes_keep(&reading->mistakes, status);
}

static int unknown_section(const struct place *place, const char *name,
			   const char *kind)
{
	static const char *const kinds[] = { "report", "filter", "view", NULL };
	const char *nearest = text_nearest(kind, kinds);

	return place_fail(place, -EINVAL,
			  "unknown section [%s]; %s%s%sllowed: " SECTIONS,
			  name, nearest ? "did you mean [" : "",
			  nearest ? nearest : "", nearest ? "]? A" : "a");
}

/* @name: what stands between the brackets, trimmed. */
static int section_begin(struct reading *reading, const char *name)
{
	size_t kind_len = strcspn(name, blank);
	const char *rest = name + kind_len + strspn(name + kind_len, blank);
	char kind[SECTION_MAX + 1] = "";
	int status = section_close(reading);

	reading->view = NULL;
	reading->filter = NULL;
	if (status == 0)
		status = section_text_check(reading->spec, name,
					    &reading->place);
	if (status < 0)
		return status;
	memcpy(kind, name, kind_len);
	reading->seen = (struct section_seen){ 0 };
	if (strcmp(name, "report") == 0)
		return report_begin(reading);
	if (strcmp(kind, "view") == 0)
		return view_begin(reading, rest);
	if (strcmp(kind, "filter") == 0)
		return filter_begin(reading, rest);
	return unknown_section(&reading->place, name, kind);
}

/* A mistake of the rest of a line: its text, that it @is something, and what is
   @allowed. */
static int stray_text(struct reading *reading, const char *text,
		      const char *is, const char *allowed)
{
	const char *shown = text_sanitize(&reading->spec->arena, text,
					  strcspn(text, "\r\n"));

	if (!shown)
		return place_fail(&reading->place, -ENOMEM, "out of memory");
	return place_fail(&reading->place, -EINVAL, "\"%s\" %s; allowed: %s",
			  shown, is, allowed);
}

/* inih would cut a long name, and pass over what follows the bracket. */
static int header_read(struct reading *reading, const char *line)
{
	const struct place *place = &reading->place;
	const char *end = strchr(line, ']');
	char name[SECTION_MAX + 1] = "";
	const char *after;
	size_t len;

	if (!end)
		return stray_text(reading, line, "is a section without its ]",
				  SECTIONS);
	after = end + 1 + strspn(end + 1, blank);
	if (*after && *after != ';' && *after != '#')
		return stray_text(reading, after,
				  "stands after the ] of a section",
				  "a comment");
	len = (size_t)(end - line) - 1;
	if (len > SECTION_MAX)
		return place_fail(place, -EINVAL,
				  "a section's name of %zu bytes; allowed: up "
				  "to %d",
				  len, SECTION_MAX);
	memcpy(name, line + 1, len);
	while (len && strchr(blank, name[len - 1]))
		name[--len] = '\0';
	return section_begin(reading, name + strspn(name, blank));
}

/* Return: whether inih finds a key in @line, or nothing to read. */
static bool line_has_key(const char *line)
{
	if (!line[strspn(line, blank)] || *line == ';' || *line == '#')
		return true;
	for (const char *c = line; *c; c++) {
		if (*c == '=' || *c == ':')
			return true;
		if (*c == ';' && c > line && strchr(blank, c[-1]))
			return false;
	}
	return false;
}

/* What inih need not see.  Return: 0 or an error that ends the reading. */
static int line_check(struct reading *reading, const char *line)
{
	int status;

	if (*line != '[' && !line_has_key(line))
		return mistakes_keep(&reading->mistakes,
				     stray_text(reading, line,
						"is neither a key nor a "
						"section",
						"KEY = VALUE, " SECTIONS
						", ; COMMENT"));
	if (*line != '[')
		return 0;
	status = header_read(reading, line);
	reading->is_skipping = status < 0;
	reading->has_skipped |= status < 0;
	return mistakes_keep(&reading->mistakes, status);
}

/*
 * The fgets of inih: one line without its indentation, which inih would take
 * for the continuation of a value.  Returning NULL ends the parse.
 */
static char *line_read(char *buf, int size, void *context)
{
	struct reading *reading = context;
	const char *line = reading->next;
	const char *newline;
	size_t len;

	if (reading->status < 0 || line == reading->end)
		return NULL;
	reading->place.line++;
	newline = memchr(line, '\n', (size_t)(reading->end - line));
	reading->next = newline ? newline + 1 : reading->end;
	while (line < reading->next && (*line == ' ' || *line == '\t'))
		line++;
	len = (size_t)(reading->next - line);
	if (len >= (size_t)size) {
		mistakes_keep(&reading->mistakes,
			     place_fail(&reading->place, -EINVAL,
					"a line of %zu bytes; allowed: up to "
					"%d",
					len - (newline != NULL), size - 2));
		len = 0;
	}
	memcpy(buf, line, len);
	buf[len] = '\0';
	reading->status = line_check(reading, buf);
	/* inih knows nothing of sections that are none. */
	if (buf[0] == '[' || !line_has_key(buf))
		snprintf(buf, (size_t)size, "\n");
	return reading->status < 0 ? NULL : buf;
}

static int key_set(struct reading *reading, const char *name, const char *value)
{
	const struct place *place = &reading->place;
	struct spec *spec = reading->spec;
	int status = section_text_check(spec, name, place);

	if (status < 0)
		return status;
	if (reading->view)
		return section_view_set(spec, reading->view, name, value,
					&reading->seen, place);
	if (reading->filter)
		return section_filter_set(spec, &reading->filter->filter, name,
					  value, &reading->seen, place);
	if (reading->report_line)
		return section_report_set(spec, name, value, &reading->seen,
					  place);
	reading->is_skipping = true;
	return place_fail(place, -EINVAL,
			  "\"%s\" stands before any section; allowed: "
			  SECTIONS, name);
}

/* Never tells inih about an error: it would only remember the line. */
static int key_read(void *context, const char *section, const char *name,
		    const char *value)
{
	struct reading *reading = context;

	(void)section;
	if (reading->status == 0 && !reading->is_skipping)
		reading->status =
			mistakes_keep(&reading->mistakes, key_set(reading, name, value));
	return 1;
}

static int nul_check(const struct place *place, const char *text, size_t len)
{
	const char *nul = memchr(text, '\0', len);
	struct place at = *place;

	if (!nul)
		return 0;
	at.line = 1;
	for (const char *c = text; c < nul; c++)
		at.line += *c == '\n';
	return place_fail(&at, -EINVAL,
			  "a NUL byte; allowed: UTF-8 text without any");
}

static int views_check(struct reading *reading)
{
	const struct spec *spec = reading->spec;

	if (!spec->views_line || !spec->view_count)
		return 0;
	reading->place.line = spec->views_line;
	return mistakes_keep(
		&reading->mistakes,
		place_fail(&reading->place, -EINVAL,
			   "views stands beside [view %s]; allowed: one or the "
			   "other",
			   spec->views[0].name));
}

static int ini_read(struct reading *reading)
{
	int line = ini_parse_stream(line_read, reading, key_read, reading);
	int status = reading->status;

	if (status == 0 && line < 0)
		status = place_fail(&reading->place, -ENOMEM, "out of memory");
	if (status == 0 && line > 0) {
		reading->place.line = (uint32_t)line;
		status = mistakes_keep(
			&reading->mistakes, place_fail(&reading->place, -EINVAL,
					    "neither a key nor a section; "
					    "allowed: KEY = VALUE, " SECTIONS
					    ", ; COMMENT"));
	}
	if (status == 0)
		status = section_close(reading);
	if (status == 0)
		status = views_check(reading);
	/* A section that could not be read may be the one that is named. */
	if (status == 0)
		status = spec_uses_resolve(reading->spec, reading->has_skipped,
					   &reading->mistakes);
	return status;
}

static int spec_parse(struct spec *spec, const char *path, const char *text,
		      size_t len, struct findings *more, struct diag *diag)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct reading reading = {
		.spec = spec,
		.place = { .path = path },
		.next = text,
		.end = text + len,
		.mistakes = { .more = more },
	};
	int status = spec_init(spec, path);

	reading.place.diag = &reading.mistakes.last;
	if (status < 0)
		place_fail(&reading.place, status, "out of memory");
	if (status == 0)
		status = nul_check(&reading.place, text, len);
	if (len >= strlen(bom) && memcmp(text, bom, strlen(bom)) == 0)
		reading.next += strlen(bom);
	if (status == 0)
		status = ini_read(&reading);
	status = mistakes_finish(&reading.mistakes, status, diag);
	if (status < 0)
		spec_done(spec);
	return status;
}

int spec_read(struct spec *spec, const char *path, const char *text, size_t len,
	      struct diag *diag)
{
	return spec_parse(spec, path, text, len, NULL, diag);
}

/* Return: bytes read into @buf, or negative errno. */
static long file_read(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t len;
	int error;

	if (!file)
		return -errno;
	errno = 0;
	len = fread(buf, 1, size, file);
	error = ferror(file) ? (errno ? errno : EIO) : 0;
	fclose(file);
	return error ? -error : (long)len;
}

int spec_load(struct spec *spec, const char *path, struct findings *more,
	      struct diag *diag)
{
	char *text = malloc(SPEC_FILE_MAX + 1);
	long len;
	int status;

	memset(spec, 0, sizeof(*spec));
	if (!text)
		return diag_set(diag, -ENOMEM, path, DIAG_NO_OFFSET,
				"out of memory");
	len = file_read(path, text, SPEC_FILE_MAX + 1);
	if (len < 0)
		status = diag_set(diag, (int)len, path, DIAG_NO_OFFSET, "%s",
				  strerror((int)-len));
	else if (len > SPEC_FILE_MAX)
		status = diag_set(diag, -EINVAL, path, DIAG_NO_OFFSET,
				  "larger than a spec file may be; allowed: "
				  "up to %d bytes",
				  SPEC_FILE_MAX);
	else
		status = spec_parse(spec, path, text, (size_t)len, more, diag);
	free(text);
	return status;
}
