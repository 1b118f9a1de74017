/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Names that kernel code is used to. */
#ifndef TESTS_CORE_KERNELISH_H
#define TESTS_CORE_KERNELISH_H

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define __printf(fmt, args)	__attribute__((format(printf, fmt, args)))
#undef __noreturn
#define __noreturn		__attribute__((noreturn))

#endif
