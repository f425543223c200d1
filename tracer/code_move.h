/* SPDX-License-Identifier: MIT */
/*
 * Moves the first instructions of a function, so that a jump can take their
 * place: x86-64 only.
 *
 * What is not understood is refused; so is a function with a jump back to what
 * would be overwritten.
 */
#ifndef TRACER_CODE_MOVE_H
#define TRACER_CODE_MOVE_H

#include <stddef.h>
#include <stdint.h>

enum {
	CODE_JUMP_BYTES = 5, /* jmp rel32 */
	CODE_MOVED_MAX = 80, /* the longest copy, with the jump back */
};

/**
 * code_move() - copy the start of a function, followed by a jump to the rest
 * @from: the function; all of it can be read
 * @len:  of it
 * @to:   at least CODE_MOVED_MAX bytes, within 2 GiB of @from and of what it
 *        refers to
 *
 * An endbr64 at the start stays where it is: what is copied begins behind it,
 * and so does the room for the jump.
 *
 * Safety: pure.
 * Return: offset of the CODE_JUMP_BYTES that are free now, or -1.
 */
int code_move(const uint8_t *from, size_t len, uint8_t *to);

#endif /* TRACER_CODE_MOVE_H */
