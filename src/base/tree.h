/* SPDX-License-Identifier: MIT */
/* An ordered tree of what is part of the objects in it: adding allocates nothing and cannot fail,
 * and adding, removing and finding take logarithmic time. Keys are pairs of numbers, and may occur
 * more than once. Whoever shares one guards it. */
#ifndef CULVI_BASE_TREE_H_
#define CULVI_BASE_TREE_H_

#include "base/message.h"

#include <stdint.h>

typedef struct culvi_tree_node {
    struct culvi_tree_node *parent, *child[2];
    uint64_t major, minor;
} culvi_tree_node;

typedef struct culvi_tree {
    culvi_tree_node *root;
} culvi_tree;

/* Adds a node behind those with the same key. */
void culvi_tree_add(culvi_tree *tree, culvi_tree_node *node, uint64_t major, uint64_t minor);
void culvi_tree_remove(culvi_tree *tree, culvi_tree_node *node);
/* The first one with that key or a higher one; NULL: there is none. */
culvi_tree_node *culvi_tree_from(const culvi_tree *tree, uint64_t major, uint64_t minor);
/* The last one with that key or a lower one. */
culvi_tree_node *culvi_tree_up_to(const culvi_tree *tree, uint64_t major, uint64_t minor);
/* The first one with that key. */
culvi_tree_node *culvi_tree_find(const culvi_tree *tree, uint64_t major, uint64_t minor);
/* The one behind it. */
culvi_tree_node *culvi_tree_next(const culvi_tree_node *node);

/* The object that has the node. */
#define CULVI_TREE_OBJECT(node, type, member)                                                      \
    ((node) != NULL ? CULVI_CONTAINER(node, type, member) : NULL)

/* Lists of objects that have `next` and `link`, the place that points to them; `link` is NULL while
 * an object is on no list. */
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
