/* SPDX-License-Identifier: MIT */
/* libunwind's shared library as it is installed, for unwind_libunwind.c. */

	.section .rodata
	.balign 64
	.globl libunwind_file, libunwind_file_end
	.hidden libunwind_file, libunwind_file_end
libunwind_file:
	.incbin LIBUNWIND_FILE
libunwind_file_end:
	.byte 0
	.section .note.GNU-stack, "", %progbits
