/* SPDX-License-Identifier: MIT */
/* Lists of objects that have `next` and `link`, the place that points to them; `link` is NULL while
 * an object is on no list. */
#ifndef CULVI_BASE_LIST_H_
#define CULVI_BASE_LIST_H_

/* Puts the object at the head of the list that begins with `first`. */
#define CULVI_LIST_ADD(first, object)                                                              \
    do {                                                                                           \
        (object)->next = (first);                                                                  \
        (object)->link = &(first);                                                                 \
        if ((object)->next != NULL) (object)->next->link = &(object)->next;                        \
        (first) = (object);                                                                        \
    } while (0)

/* Takes the object off its list, if it is on one. */
#define CULVI_LIST_REMOVE(object)                                                                  \
    do {                                                                                           \
        if ((object)->link != NULL) *(object)->link = (object)->next;                              \
        if ((object)->link != NULL && (object)->next != NULL)                                      \
            (object)->next->link = (object)->link;                                                 \
        (object)->link = NULL;                                                                     \
    } while (0)

#endif
