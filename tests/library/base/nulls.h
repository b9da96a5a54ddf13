/* SPDX-License-Identifier: MIT */
#ifndef CULVERT_TESTS_NULLS_H_
#define CULVERT_TESTS_NULLS_H_

#include <culvert/culvert.h>

#include <stdint.h>

typedef struct null_row {
    const char *function, *parameter;
    culv_result (*call)(void);
} null_row;

extern const null_row null_rows[]; /* of nulls.py; ended by NULL */
/* Calls each of null_ends functions that give up an object with NULL and a pointer to NULL. */
void null_destroys(void);
extern const unsigned null_ends;
/* Zeros, if the test has none of the type. */
void *null_object(const char *type);

#endif
