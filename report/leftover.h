/* SPDX-License-Identifier: MIT */
/*
 * Files under temporary names, which must not stay behind when a signal ends
 * the program.
 *
 * A thread waits for the signals that others send to end the program, or a
 * limit of time does, which all other threads leave to it; it removes what there is and lets the signal end the process.  So no
 * signal handler has to get by with what is safe in one.  The exception is a
 * file that is mapped and becomes shorter (SIGBUS).
 */
#ifndef REPORT_LEFTOVER_H
#define REPORT_LEFTOVER_H

#include <stdio.h>

/**
 * struct leftover - a file or an empty directory; zero-initialised is none
 * @path: borrowed until leftover_settle()
 */
struct leftover {
	const char *path;
	struct leftover *next;
	struct leftover *before;
};

/**
 * leftovers_watch() - from now on what is registered goes when a signal comes
 * @shorter: called in a signal handler, with all removed, when a file that is
 *           mapped became shorter; must not return
 *
 * To be called before other threads are there.  Signals that are ignored stay
 * ignored.  Where no thread can be made, signals end the program as ever.
 */
void leftovers_watch(void (*shorter)(void));

/* Creates the file @path anew and registers it.  Return: the file, to be closed
   by the caller; NULL with errno. */
FILE *leftover_create(struct leftover *leftover, const char *path);

/* Registers what is there, or will be. */
void leftover_add(struct leftover *leftover, const char *path);

/* It has got its name, or is gone.  May be called for none. */
void leftover_settle(struct leftover *leftover);

/* Nothing is removed, and no signal ends the program, between the two. */
void leftovers_hold(void);
void leftovers_release(void);

/* Removes all, for whoever ends the process after it: others that want to
   create files wait. */
void leftovers_remove(void);

#endif /* REPORT_LEFTOVER_H */
