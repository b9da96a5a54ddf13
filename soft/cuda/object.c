/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the registry of live handles. */
#include "soft.h"

#define BUCKETS 256u

static struct soft_object *buckets[BUCKETS];
static uint64_t counts[SOFT_KINDS];

static struct soft_object **bucket_of(const void *handle)
{
    return &buckets[((uintptr_t)handle >> 4) % BUCKETS];
}

void soft_object_add(struct soft_object *object, enum soft_kind kind, struct soft_context *context)
{
    struct soft_object **bucket = bucket_of(object);
    object->kind = kind;
    object->context = context;
    object->next = *bucket;
    *bucket = object;
    counts[kind]++;
}

void soft_object_remove(struct soft_object *object)
{
    struct soft_object **link = bucket_of(object);
    while (*link != object)
        link = &(*link)->next;
    *link = object->next;
    counts[object->kind]--;
}

void *soft_object_find(const void *handle, enum soft_kind kind)
{
    struct soft_object *object = *bucket_of(handle);
    while (object != NULL && (const void *)object != handle)
        object = object->next;
    return object != NULL && object->kind == kind ? object : NULL;
}

void *soft_object_any(enum soft_kind kind, const struct soft_context *context)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct soft_object *object = buckets[i]; object != NULL; object = object->next)
            if (object->kind == kind && object->context == context) return object;
    return NULL;
}

void soft_objects_each(enum soft_kind kind, void (*visit)(void *object, void *arg), void *arg)
{
    for (unsigned i = 0; i < BUCKETS && counts[kind] > 0; i++)
        for (struct soft_object *object = buckets[i]; object != NULL; object = object->next)
            if (object->kind == kind) visit(object, arg);
}

uint64_t soft_object_count(enum soft_kind kind)
{
    return counts[kind];
}
