/* SPDX-License-Identifier: MIT */
/*
 * The trace file: constants and fixed layouts shared by the tracer, which
 * writes them, and report/input, which trusts none of them.
 *
 * docs/trace-format.md is the authority; this header restates it for the
 * compiler.  Everything is little-endian; the structs below have no padding
 * and are copied with memcpy, never cast from file bytes.
 */
#ifndef TRACER_TRACE_FORMAT_H
#define TRACER_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "\211MPROF\r\n"      /* 8 bytes, no terminator */
#define TRACE_LIVE_MAGIC "\211MPLIVE\n"  /* 8 bytes, no terminator */
#define TRACE_CHUNK_MAGIC "\376MPchnk\n" /* 8 bytes, no terminator */
#define TRACE_MAGIC_LEN 8

enum {
	TRACE_VERSION_MAJOR = 2, /* a reader refuses a newer major version */
	TRACE_VERSION_MINOR = 0, /* and skips what a newer minor one adds */
	TRACE_VERSION_MINOR_CULLED = 2, /* of traces with culled events */
};

#define TRACE_BYTE_ORDER UINT32_C(0x0a0b0c0d)

/* First bytes of the file. */
struct trace_preamble {
	uint8_t magic[8];
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t byte_order; /* TRACE_BYTE_ORDER */
	uint64_t trace_id;   /* random */
	uint64_t checksum;   /* XXH64, seed 0, of the 24 bytes before it */
};

/* Every chunk starts with one of these; @stored_len payload bytes follow. */
struct trace_chunk_header {
	uint8_t magic[8];
	uint16_t type;  /* enum trace_chunk_type */
	uint16_t flags; /* enum trace_chunk_flags */
	uint32_t thread;     /* thread number, 0 where no thread is concerned */
	uint32_t stored_len; /* payload bytes in the file */
	uint32_t raw_len;    /* payload bytes after decompression */
	uint64_t first_tick; /* events: base of the first event's time delta */
	uint64_t last_tick;  /* events: time of the last event */
	uint32_t event_count;
	uint32_t sequence; /* events: of the first buffer, within one thread */
	uint64_t payload_checksum; /* XXH64, seed 0, of the stored payload */
	uint16_t buffer_count; /* events: consecutive buffers in it; 0 is 1 */
	uint16_t batch; /* with TRACE_CHUNK_IN_BATCH: its number */
	uint32_t culled_count; /* events: those left out; CULLED sums them up */
	uint64_t header_checksum;  /* XXH64, seed 0, of the 64 bytes before it */
};

enum trace_chunk_flags {
	TRACE_CHUNK_ZSTD = 1, /* the payload is one zstd frame */
	TRACE_CHUNK_IN_BATCH = 2, /* counts once a BATCH chunk says so */
};

enum trace_chunk_type {
	TRACE_CHUNK_NOTHING = 0, /* was cut off; its events are elsewhere */
	TRACE_CHUNK_PROCESS = 1,
	TRACE_CHUNK_EVENTS = 2,
	TRACE_CHUNK_MODULE = 3,
	TRACE_CHUNK_UNLOAD = 4,
	TRACE_CHUNK_THREAD = 5,
	TRACE_CHUNK_CLOCK = 6,
	TRACE_CHUNK_LOST = 7,
	TRACE_CHUNK_END = 8,
	TRACE_CHUNK_COLUMNS = 9,
	TRACE_CHUNK_FILE = 10,
	TRACE_CHUNK_MARK = 11,
	TRACE_CHUNK_PIECE = 12,
	TRACE_CHUNK_SMAPS = 13,
	TRACE_CHUNK_BATCH = 14,
};

/* Limits a reader enforces before it allocates. */
#define TRACE_RAW_LEN_MAX (UINT32_C(16) << 20)
#define TRACE_STACK_DEPTH_MAX 65536u
#define TRACE_BATCH_DISTANCE 1024u /* chunks of events since a batch's first */
#define TRACE_SIZE_LIMIT (UINT64_C(1) << 48) /* blocks and maps are smaller */
#define TRACE_STRING_LEN_MAX (UINT32_C(1) << 20)

/* Event tag: kind in the low five bits, flags above. */
#define TRACE_EVENT_KIND_MASK 0x1fu
#define TRACE_EVENT_TRUNCATED 0x20u /* outer frames of the stack are missing */
#define TRACE_EVENT_NO_STACK 0x40u  /* none recorded; the stack stays */

enum trace_event_kind {
	TRACE_EVENT_MALLOC = 1,
	TRACE_EVENT_CALLOC = 2,
	TRACE_EVENT_MEMALIGN = 3,
	TRACE_EVENT_NEW = 4,
	TRACE_EVENT_FREE = 5,
	TRACE_EVENT_DELETE = 6,
	TRACE_EVENT_REALLOC = 7,
	TRACE_EVENT_MMAP = 8,
	TRACE_EVENT_MUNMAP = 9,
	TRACE_EVENT_MREMAP = 10,
	TRACE_EVENT_MALLOPT = 11,
	TRACE_EVENT_RSS = 12,
	TRACE_EVENT_LOST = 13,
	TRACE_EVENT_MARKER = 14,
};

/* The columns of a COLUMNS payload, and the bits of a code. */
enum trace_column {
	TRACE_COLUMN_CODES,
	TRACE_COLUMN_SHAPES,
	TRACE_COLUMN_NEW_SHAPES,
	TRACE_COLUMN_FRAMES,
	TRACE_COLUMN_ADDRESSES,
	TRACE_COLUMN_SIZES,
	TRACE_COLUMN_SLACKS,
	TRACE_COLUMN_BLOCKS,
	TRACE_COLUMN_DISTANCES,
	TRACE_COLUMN_FREED,
	TRACE_COLUMN_TIMES,
	TRACE_COLUMN_BODIES,
	TRACE_COLUMN_COUNT, /* of those that are always there */
	TRACE_COLUMN_CULLED = TRACE_COLUMN_COUNT,
};

enum trace_code {
	TRACE_CODE_SHAPE_PREDICTED = 0,
	TRACE_CODE_SHAPE_NAMED = 1,
	TRACE_CODE_SHAPE_NEW = 2,
	TRACE_CODE_SHAPE_MASK = 3,
	TRACE_CODE_DISTANCE = 1 << 2,
	TRACE_CODE_SIZE = 1 << 3,
	TRACE_CODE_SLACK = 1 << 4,
	TRACE_CODE_BLOCK_NEWEST = 0 << 5,
	TRACE_CODE_BLOCK_BEHIND = 1 << 5,
	TRACE_CODE_BLOCK_OLDER = 2 << 5,
	TRACE_CODE_BLOCK_SPELLED = 3 << 5,
	TRACE_CODE_BLOCK_MASK = 3 << 5,
	TRACE_CODE_IN_PLACE = 1 << 7, /* REALLOC */
	TRACE_CODE_APART = 1 << 7,    /* FREE, DELETE */
};

/* Sizes of what the coding of columns remembers. */
#define TRACE_SHAPES_MAX 65535u    /* numbered ones; also "no shape" */
#define TRACE_SUCCESSORS 16384u    /* 2^14 */
#define TRACE_SLACKS 4096u         /* 2^12 */
#define TRACE_CLASSES 4096u        /* of blocks, by usable size */
#define TRACE_CLASS_BLOCKS 16u     /* newest free blocks of a class */
#define TRACE_ADDRESSES_MAX 65535u /* numbered frames */
#define TRACE_FRAMES_MAX (UINT32_C(16) << 20) /* pushed in a chunk */
#define TRACE_TIME_SHIFT_MAX 32u
#define TRACE_CULLED_MAX (UINT32_C(1) << 20) /* allocations in a row of CULLED */
#define TRACE_BLOCK_OVERHEAD 8u /* between a block's end and the next one */

/* The head word of a record in PATH.live. */
enum trace_record {
	TRACE_RECORD_POP_SHIFT = 8,
	TRACE_RECORD_PUSH_SHIFT = 24,
	TRACE_RECORD_TICKS_SHIFT = 40,
	TRACE_RECORD_SLACK_SHIFT = 48, /* of an extent */
};

#define TRACE_RECORD_MAKER 0x80u /* a free: who allocated there last is known */
#define TRACE_RECORD_MAKER_SHIFT 48 /* in its address; 0: its own thread */
#define TRACE_RECORD_MAKER_MAX 0xffffu
#define TRACE_BATCH_BYTES 8u /* payload of BATCH */
#define TRACE_RECORD_TICKS_LONG UINT64_C(0xffffff) /* the next word has them */
#define TRACE_RECORD_SLACK_LONG UINT64_C(0xffff)   /* the next word has it */

enum trace_piece_why {
	TRACE_PIECE_START = 1,    /* of the process */
	TRACE_PIECE_SIGNAL = 2,   /* recording was started by a signal */
	TRACE_PIECE_API = 3,      /* by the program itself */
	TRACE_PIECE_ROTATION = 4, /* the file before was large or old enough */
	TRACE_PIECE_FORK = 5,     /* in a forked child */
};

enum trace_piece_flags {
	TRACE_PIECE_GAP = 1, /* the process ran unrecorded before it */
};

#define TRACE_PIECE_BYTES 32u /* of PIECE's payload */

enum trace_clock {
	TRACE_CLOCK_TSC = 1,       /* x86-64 time-stamp counter */
	TRACE_CLOCK_MONOTONIC = 2, /* CLOCK_MONOTONIC, nanoseconds */
};

enum trace_arch {
	TRACE_ARCH_X86_64 = 1,
	TRACE_ARCH_AARCH64 = 2,
};

enum trace_module_flags {
	TRACE_MODULE_EXECUTABLE = 1, /* the program itself */
	TRACE_MODULE_TRACER = 2,     /* libmemprof.so */
	TRACE_MODULE_VDSO = 4,       /* mapped by the kernel, no file */
};

enum trace_thread_what {
	TRACE_THREAD_START = 1,
	TRACE_THREAD_NAME = 2,
	TRACE_THREAD_END = 3,
};

enum trace_file_kind {
	TRACE_FILE_BINARY = 1,     /* executable or library of the program */
	TRACE_FILE_PERF_MAP = 2,   /* names of generated code, /tmp/perf-PID.map */
	TRACE_FILE_JIT_OBJECT = 3, /* ELF in memory, of the GDB JIT interface */
	TRACE_FILE_INCLUDED = 4,   /* one that the user asked for */
};

enum trace_file_flags {
	TRACE_FILE_LAST = 1, /* the file ends with this part */
	TRACE_FILE_CUT = 2,  /* more of it was left out */
};

#define TRACE_FILE_FIXED 32u /* bytes of a FILE payload before the build ID */

enum trace_mark_kind {
	TRACE_MARK_TEXT = 1,        /* a point in time */
	TRACE_MARK_PHASE_BEGIN = 2, /* of the phase of that name */
	TRACE_MARK_PHASE_END = 3,
	TRACE_MARK_NUMBER = 4, /* a point in time that has a value */
};

#define TRACE_MARK_TEXT_MAX 4096u /* bytes; a writer cuts longer ones off */

enum trace_smaps_kind {
	TRACE_SMAPS_FILE = 1,
	TRACE_SMAPS_HEAP = 2,      /* [heap], of brk() */
	TRACE_SMAPS_STACK = 3,     /* of a thread */
	TRACE_SMAPS_ANONYMOUS = 4, /* any other, the allocator's among them */
	TRACE_SMAPS_TRACER = 5,    /* its own buffers and tables */
	TRACE_SMAPS_CODE = 6,      /* anonymous and executable */
	TRACE_SMAPS_SHARED = 7,    /* shared memory */
	TRACE_SMAPS_SPECIAL = 8,   /* the kernel's: vdso, vvar, … */
	TRACE_SMAPS_REST = 9,      /* of any kind, for which there was no row */
};

#define TRACE_SMAPS_VALUES 8u /* numbers of a row */

enum trace_lost_reason {
	TRACE_LOST_NESTED = 1,  /* call from a signal handler inside the tracer */
	TRACE_LOST_MEMORY = 2,  /* no memory for the tracer's own buffers */
	TRACE_LOST_WRITE = 3,   /* the trace file could not be written */
	TRACE_LOST_UNWIND = 4,  /* stack could not be read, event kept */
};

enum trace_end_how {
	TRACE_END_EXIT = 1,       /* exit() or return from main */
	TRACE_END_QUICK_EXIT = 2, /* quick_exit() */
	TRACE_END__EXIT = 3,      /* _exit() or _Exit() */
	TRACE_END_ABORT = 4,      /* abort() was called */
	TRACE_END_SIGNAL = 5,     /* written by memprof-record afterwards */
	TRACE_END_EXEC = 6,       /* replaced by another program */
	TRACE_END_UNSEEN = 7,     /* memprof-record knows but that it did */
	TRACE_END_CONTINUED = 8,  /* the run goes on in the next piece */
	TRACE_END_STOPPED = 9,    /* recording was stopped; the program went on */
};

/* PATH.live: page 0, then slots of @slot_stride bytes. */
#define TRACE_LIVE_PAGE 4096u
#define TRACE_LIVE_HELPER 32u /* u32: process that writes the trace, or 0 */
#define TRACE_LIVE_OUTSIDE 36u /* u32: buffers that are not in the file */
/* u64 each: events lost for a write that failed, and for want of memory, that
   no LOST chunk tells of yet */
#define TRACE_LIVE_LOST_WRITE 40u
#define TRACE_LIVE_LOST_MEMORY 48u

struct trace_live_header {
	uint8_t magic[8];
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t slot_stride; /* control page + buffer, multiple of 4096 */
	uint64_t run_id; /* trace_id of the run's first piece */
	uint32_t pid;
	uint32_t slot_count; /* slots the file has room for */
};

/*
 * Start of a slot's control page; the buffer starts TRACE_LIVE_PAGE further.
 * committed_len only grows while @sequence stays; bytes below it are whole
 * events.  The owner stores it last (release), so a reader of a dead
 * process's file sees whole events only.  @sequence, @from and @piece change at
 * once.  While @after is not 0 these are of the words before its from.
 */
struct trace_live_slot {
	uint32_t in_use; /* 1 while its events are not in the trace */
	uint32_t thread;
	uint32_t sequence; /* of this buffer, within its thread */
	uint16_t from;     /* words at the front that are in a trace already */
	uint16_t piece;    /* index of the piece, modulo 2^16 */
	uint64_t first_tick;
	uint64_t committed_len;
	uint64_t after; /* sequence, from and piece of the rest, or 0 */
};

#endif /* TRACER_TRACE_FORMAT_H */
