/* SPDX-License-Identifier: MIT */
#include "report/symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/core/arena.h"
#include "report/core/stopwatch.h"
#include "report/core/text.h"
#include "report/core/vec.h"
#include "report/symbol/dwarf_index.h"
#include "report/symbol/image.h"
#include "report/symbol/jit.h"
#include "report/symbol/names.h"

/* What is known about one module; images are shared by modules of one file. */
struct module_state {
	bool seen;
	size_t image; /* index into images */
	const char *base;
	struct symbol_module_status status;
};

struct image_entry {
	struct image *image;
	const struct module *module; /* the first that wanted it */
};

/* All frames of one key. */
struct address_slot {
	uint64_t key;
	const struct symbol_frame *frames; /* NULL in a free slot */
	size_t count;
};

/**
 * struct ahead - the thread that opens files; until it is joined, names, states
 * and images are its own
 * @keys: owned; NULL before the first call
 */
struct ahead {
	pthread_t thread;
	bool is_running;
	uint64_t *keys;
	size_t count;
	uint64_t wall_ns;
};

struct symbols {
	const struct module_map *modules;
	struct image_places places;
	struct jit_run run;
	struct jit *jit; /* NULL before it is needed */
	struct arena arena;
	struct names names;
	struct module_state *states; /* as many as modules */
	struct {
		struct image_entry *items;
		size_t count;
		size_t capacity;
	} images;
	struct {
		struct address_slot *slots; /* a power of two */
		size_t capacity;
		size_t count;
	} addresses;
	struct {
		const struct symbol_frame **slots; /* a power of two */
		size_t capacity;
		size_t count;
	} frames;
	struct symbol_module_status *rows;
	struct code_frames scratch;
	uint32_t next_id;
	uint64_t resolve_ns;
	struct ahead ahead;
	struct symbol_frame no_memory;
};

struct symbols *symbols_new(const struct module_map *modules,
			    const char *const *debug_dirs,
			    size_t debug_dir_count)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->modules = modules;
	symbols->places.dirs = debug_dirs;
	symbols->places.dir_count = debug_dir_count;
	symbols->states = calloc(modules->count + 1, sizeof(*symbols->states));
	symbols->rows = calloc(modules->count + 1, sizeof(*symbols->rows));
	if (!symbols->states || !symbols->rows) {
		symbols_free(symbols);
		return NULL;
	}
	return symbols;
}

void symbols_set_run(struct symbols *symbols, const struct kept_file *files,
		     size_t file_count, uint32_t pid, uint64_t start_ns,
		     uint64_t end_ns)
{
	symbols->places.kept = files;
	symbols->places.kept_count = file_count;
	symbols->run = (struct jit_run){
		.files = files,
		.file_count = file_count,
		.pid = pid,
		.start_ns = start_ns,
		.end_ns = end_ns,
	};
}

/* From here on names, states and images are the caller's. */
static void settle(struct symbols *symbols)
{
	if (!symbols->ahead.is_running)
		return;
	pthread_join(symbols->ahead.thread, NULL);
	symbols->ahead.is_running = false;
	symbols->resolve_ns += symbols->ahead.wall_ns;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	settle(symbols);
	free(symbols->ahead.keys);
	for (size_t i = 0; i < symbols->images.count; i++)
		image_close(symbols->images.items[i].image);
	vec_done(&symbols->images);
	jit_free(symbols->jit);
	vec_done(&symbols->scratch);
	free(symbols->states);
	free(symbols->rows);
	free(symbols->addresses.slots);
	free(symbols->frames.slots);
	names_done(&symbols->names);
	arena_done(&symbols->arena);
	free(symbols);
}

/* --- modules ------------------------------------------------------------- */

static bool is_same_file(const struct module *a, const struct module *b)
{
	return a->build_id_len == b->build_id_len &&
	       (!a->build_id_len ||
		memcmp(a->build_id, b->build_id, a->build_id_len) == 0) &&
	       a->segment_count == b->segment_count &&
	       (!a->segment_count ||
		memcmp(a->segments, b->segments,
		       a->segment_count * sizeof(*a->segments)) == 0) &&
	       a->is_vdso == b->is_vdso && strcmp(a->path, b->path) == 0;
}

/* Index of the image of @module, opened if need be.  A program that loads one
   plugin a thousand times has a thousand modules, but one image. */
static int find_image(struct symbols *symbols, const struct module *module,
		      size_t *ret_index)
{
	struct image_entry *entry;

	for (size_t i = symbols->images.count; i-- > 0;)
		if (is_same_file(symbols->images.items[i].module, module)) {
			*ret_index = i;
			return 0;
		}
	entry = vec_push(&symbols->images);
	if (!entry)
		return -ENOMEM;
	entry->module = module;
	entry->image =
	    image_open(module, &symbols->places, &symbols->names);
	if (!entry->image) {
		symbols->images.count--;
		return -ENOMEM;
	}
	*ret_index = symbols->images.count - 1;
	return 0;
}

static struct module_state *find_state(struct symbols *symbols,
				       const struct module *module)
{
	struct module_state *state =
	    &symbols->states[module - symbols->modules->items];
	const struct image *image;
	const char *base;

	if (state->seen)
		return state;
	base = text_basename(module->name);
	state->base = names_text(&symbols->names, base, strlen(base));
	if (!state->base || find_image(symbols, module, &state->image) < 0)
		return NULL;
	image = symbols->images.items[state->image].image;
	state->status.module = module;
	state->status.note = image->note;
	state->status.is_rebuilt = image->is_rebuilt;
	state->status.debug_path =
	    image->debug_path ? names_text(&symbols->names, image->debug_path,
					   strlen(image->debug_path))
			      : NULL;
	state->seen = true;
	return state;
}

static void *ahead_thread(void *context)
{
	struct symbols *symbols = context;
	uint64_t start = stopwatch_ns();

	for (size_t i = 0; i < symbols->ahead.count; i++) {
		const struct module *module = module_map_find(
		    symbols->modules, symbols->ahead.keys[i]);

		/* Without memory it is tried again when it is needed. */
		if (module)
			find_state(symbols, module);
	}
	symbols->ahead.wall_ns = stopwatch_ns() - start;
	return NULL;
}

void symbols_open_ahead(struct symbols *symbols, const uint64_t *pc_keys,
			size_t count)
{
	struct ahead *ahead = &symbols->ahead;

	if (ahead->keys || !count)
		return;
	ahead->keys = calloc(count, sizeof(*ahead->keys));
	if (!ahead->keys)
		return;
	memcpy(ahead->keys, pc_keys, count * sizeof(*ahead->keys));
	ahead->count = count;
	ahead->is_running =
	    pthread_create(&ahead->thread, NULL, ahead_thread, symbols) == 0;
}

/* --- frames -------------------------------------------------------------- */

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 29;
}

static uint64_t frame_hash(const struct symbol_frame *frame)
{
	uint64_t hash = mix((uintptr_t)frame->function);

	hash = mix(hash ^ (uintptr_t)frame->file);
	hash = mix(hash ^ (uintptr_t)frame->module);
	return mix(hash ^ frame->line);
}

static const struct symbol_frame **frame_slot(const struct symbol_frame **slots,
					      size_t capacity,
					      const struct symbol_frame *frame)
{
	size_t mask = capacity - 1;

	for (size_t i = frame_hash(frame) & mask;; i = (i + 1) & mask) {
		const struct symbol_frame *at = slots[i];

		if (!at ||
		    (at->function == frame->function &&
		     at->file == frame->file && at->line == frame->line &&
		     at->module == frame->module))
			return &slots[i];
	}
}

static int frames_grow(struct symbols *symbols)
{
	size_t old = symbols->frames.capacity;
	size_t capacity = old ? old * 2 : 1024;
	const struct symbol_frame **slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < old; i++) {
		const struct symbol_frame *frame = symbols->frames.slots[i];

		if (frame)
			*frame_slot(slots, capacity, frame) = frame;
	}
	free(symbols->frames.slots);
	symbols->frames.slots = slots;
	symbols->frames.capacity = capacity;
	return 0;
}

/* Gives @frame, which the arena owns, its number. */
static int frame_number(struct symbols *symbols, struct symbol_frame *frame)
{
	const struct symbol_frame **slot;

	if (symbols->frames.count >= symbols->frames.capacity / 2 &&
	    frames_grow(symbols) < 0)
		return -ENOMEM;
	slot =
	    frame_slot(symbols->frames.slots, symbols->frames.capacity, frame);
	if (!*slot) {
		frame->id = symbols->next_id++;
		*slot = frame;
		symbols->frames.count++;
	}
	frame->id = (*slot)->id;
	return 0;
}

/* --- addresses ----------------------------------------------------------- */

static struct address_slot *address_slot(struct address_slot *slots,
					 size_t capacity, uint64_t key)
{
	size_t mask = capacity - 1;

	for (size_t i = mix(key) & mask;; i = (i + 1) & mask)
		if (!slots[i].frames || slots[i].key == key)
			return &slots[i];
}

static int addresses_grow(struct symbols *symbols)
{
	size_t old = symbols->addresses.capacity;
	size_t capacity = old ? old * 2 : 1024;
	struct address_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < old; i++) {
		const struct address_slot *at = &symbols->addresses.slots[i];

		if (at->frames)
			*address_slot(slots, capacity, at->key) = *at;
	}
	free(symbols->addresses.slots);
	symbols->addresses.slots = slots;
	symbols->addresses.capacity = capacity;
	return 0;
}

/* "module+0xoffset"; outside of modules one name for all, as what has moved
   there is nobody's; a phrase for what is no address. */
static const char *plain_name(struct symbols *symbols, uint64_t key,
			      const struct module *module, const char *base)
{
	uint64_t addr = PC_KEY_ADDR(key);
	const char *name = NULL;
	char *text;
	int len;

	if (key == PC_KEY_TRUNCATED)
		len = asprintf(&text, "[outer frames not recorded]");
	else if (module)
		len =
		    asprintf(&text, "%s+0x%" PRIx64, base, addr - module->bias);
	else if (symbols->modules->count)
		len = asprintf(&text, "[anonymous]");
	else
		len = asprintf(&text, "0x%" PRIx64, addr);
	if (len < 0)
		return NULL;
	name = names_text(&symbols->names, text, (size_t)len);
	free(text);
	return name;
}

static enum symbol_quality frame_quality(const struct code_frame *frame,
					 bool in_module)
{
	if (!frame->function)
		return in_module ? SYMBOL_MODULE : SYMBOL_ADDRESS;
	return frame->file && frame->line ? SYMBOL_LINE : SYMBOL_FUNCTION;
}

/* Turns the scratch frames into lasting ones.  Return: NULL when out of
   memory. */
static struct symbol_frame *keep_frames(struct symbols *symbols, uint64_t key,
					const struct module *module,
					const char *base)
{
	size_t count = symbols->scratch.count;
	struct symbol_frame *frames =
	    arena_array(&symbols->arena, count, sizeof(*frames));

	for (size_t i = 0; frames && i < count; i++) {
		const struct code_frame *from = &symbols->scratch.items[i];
		struct symbol_frame *to = &frames[i];

		to->function = from->function;
		to->file = from->file;
		to->line = from->line;
		to->is_inlined = from->is_inlined;
		to->module = base;
		to->quality = (uint8_t)frame_quality(from, module);
		if (!to->function)
			to->function = plain_name(symbols, key, module, base);
		if (!to->function || frame_number(symbols, to) < 0)
			return NULL;
	}
	return frames;
}

/* Fills the scratch frames for an address outside of modules.  Return: the name
   of what it is in, NULL when out of memory. */
static const char *resolve_generated(struct symbols *symbols, uint64_t key)
{
	const char *base;

	if (!symbols->jit)
		symbols->jit = jit_new(&symbols->run);
	if (!symbols->jit)
		return NULL;
	if (key != PC_KEY_TRUNCATED && PC_KEY_ADDR(key) &&
	    jit_find(symbols->jit, &symbols->names, PC_KEY_ADDR(key) - 1,
		     &symbols->scratch) < 0)
		return NULL;
	base = symbols->scratch.count ? "[jit]" : "";
	return names_text(&symbols->names, base, strlen(base));
}

/* Return: frames of a new key, their number in symbols->scratch.count. */
static struct symbol_frame *resolve(struct symbols *symbols, uint64_t key)
{
	const struct module *module = module_map_find(symbols->modules, key);
	struct module_state *state = NULL;
	struct symbol_frame *frames;
	const char *base = "";

	settle(symbols);
	symbols->scratch.count = 0;
	if (module) {
		state = find_state(symbols, module);
		if (!state)
			return NULL;
		base = state->base;
		if (image_find(symbols->images.items[state->image].image,
			       &symbols->names,
			       PC_KEY_ADDR(key) - 1 - module->bias,
			       &symbols->scratch) < 0)
			return NULL;
	} else {
		base = resolve_generated(symbols, key);
		if (!base)
			return NULL;
	}
	if (!symbols->scratch.count && !vec_push(&symbols->scratch))
		return NULL;
	frames = keep_frames(symbols, key, module, base);
	if (frames && state) {
		state->status.addresses++;
		state->status.resolved[frames[0].quality]++;
	}
	return frames;
}

static const struct symbol_frame *no_memory(struct symbols *symbols,
					    size_t *ret_count)
{
	struct symbol_frame *frame = &symbols->no_memory;

	if (!frame->function) {
		frame->function = "(out of memory)";
		frame->module = "";
		frame->id = symbols->next_id++;
	}
	*ret_count = 1;
	return frame;
}

const struct symbol_frame *symbols_resolve(struct symbols *symbols,
					   uint64_t pc_key, size_t *ret_count)
{
	struct address_slot *slot;
	struct symbol_frame *frames;
	uint64_t start;

	if (symbols->addresses.count >= symbols->addresses.capacity / 2 &&
	    addresses_grow(symbols) < 0)
		return no_memory(symbols, ret_count);
	slot = address_slot(symbols->addresses.slots,
			    symbols->addresses.capacity, pc_key);
	if (!slot->frames) {
		start = stopwatch_ns();
		frames = resolve(symbols, pc_key);
		symbols->resolve_ns += stopwatch_ns() - start;
		if (!frames)
			return no_memory(symbols, ret_count);
		slot->key = pc_key;
		slot->frames = frames;
		slot->count = symbols->scratch.count;
		symbols->addresses.count++;
	}
	*ret_count = slot->count;
	return slot->frames;
}

uint64_t symbols_resolve_ns(const struct symbols *symbols)
{
	return symbols->resolve_ns;
}

const struct symbol_module_status *
symbols_module_status(struct symbols *symbols, size_t *ret_count)
{
	size_t count = 0;

	settle(symbols);
	for (size_t i = 0; i < symbols->modules->count; i++)
		if (symbols->states[i].status.addresses)
			symbols->rows[count++] = symbols->states[i].status;
	*ret_count = count;
	return symbols->rows;
}
