/* SPDX-License-Identifier: MIT */
/* particles' renderer: stars as soft sprites of light, added up in half floats, with a glow, toned
 * down to a picture. */
#ifndef PARTICLES_RENDERER_H_
#define PARTICLES_RENDERER_H_

#include "../common/gl_setup.h"

/* Of the light's levels, which the glow is made of. */
enum { RENDERER_LEVELS = 6 };

typedef struct renderer {
    uint32_t width, height, count;
    GLuint stars, around, tone; /* programs */
    GLuint light, glow, picture;
    GLuint light_target, glow_target, picture_target;
    GLuint vertices; /* without attributes: the stars are pulled by their index */
    GLuint queries[2];
} renderer;

/* Where the eye is, and how far it has come around. */
typedef struct renderer_view {
    float turn, lift, closer;
} renderer_view;

/* False, with a message, on failure; destroy it either way. */
bool renderer_create(renderer *r, uint32_t width, uint32_t height, uint32_t count);
void renderer_destroy(renderer *r);

/* Draws the stars of a buffer into `picture`. */
bool renderer_draw(renderer *r, GLuint stars, const renderer_view *view);
/* Milliseconds that the last drawing took; waits for it. */
double renderer_milliseconds(const renderer *r);

#endif
