/* SPDX-License-Identifier: MIT */
/* See galaxies.h. */
#include "galaxies.h"

#include <math.h>
#include <stdbool.h>

typedef struct vec3 {
    float x, y, z;
} vec3;

/* Masses are those of core and disc; G is 1. */
typedef struct galaxy {
    float core, disc, radius;
    vec3 place, velocity;
    vec3 across, along; /* the disc's plane; they are of length 1, and stars go from one to the
                           other */
} galaxy;

/* An encounter as Toomre and Toomre's (1972): an ellipse whose ends come near, and both discs turn
 * the way that the galaxies pass, so that tides draw long tails. */
static const galaxy galaxies[2] = {{.core = 0.85f,
                                    .disc = 0.15f,
                                    .radius = 1.0f,
                                    .place = {-0.930f, -0.292f, 0.0f},
                                    .velocity = {0.323f, -0.130f, 0.0f},
                                    .across = {1.0f, 0.0f, 0.0f},
                                    .along = {0.0f, 0.96f, 0.28f}},
                                   {.core = 0.50f,
                                    .disc = 0.10f,
                                    .radius = 0.72f,
                                    .place = {1.550f, 0.488f, 0.0f},
                                    .velocity = {-0.538f, 0.217f, 0.0f},
                                    .across = {0.8f, 0.0f, -0.6f},
                                    .along = {0.36f, 0.8f, 0.48f}}};

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* From 0 to 1. */
static float chance(uint64_t *state)
{
    return (float)(next(state) >> 40) / 16777216.0f;
}

/* A direction in the plane; no sine, which is not the same everywhere. */
static void direction(uint64_t *state, float *x, float *y)
{
    float r2;
    do {
        *x = 2.0f * chance(state) - 1.0f;
        *y = 2.0f * chance(state) - 1.0f;
        r2 = *x * *x + *y * *y;
    } while (r2 > 1.0f || r2 < 0.01f);
    *x /= sqrtf(r2);
    *y /= sqrtf(r2);
}

static vec3 in_plane(const galaxy *g, float x, float y, float out)
{
    vec3 a = g->across, b = g->along;
    vec3 up = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    return (vec3){x * a.x + y * b.x + out * up.x, x * a.y + y * b.y + out * up.y,
                  x * a.z + y * b.z + out * up.z};
}

/* On its way around the core, as fast as what is within its orbit asks for. */
static void put(const galaxy *g, uint64_t *state, float mass, float sign, quad *position,
                quad *velocity)
{
    float x, y;
    direction(state, &x, &y);
    /* Dense in the middle. */
    float a = chance(state), b = chance(state);
    float r = g->radius * a * (0.30f + 0.70f * b);
    float thick = 0.03f * g->radius * (chance(state) + chance(state) - 1.0f);
    vec3 p = in_plane(g, r * x, r * y, thick);
    float share = r / g->radius;
    float soft2 = r * r + GALAXIES_SOFTENING * GALAXIES_SOFTENING;
    float speed = r * sqrtf((g->core + g->disc * share) / (soft2 * sqrtf(soft2)));
    float jitter = 0.04f * speed;
    vec3 v = in_plane(g, -speed * y + jitter * (2.0f * chance(state) - 1.0f),
                      speed * x + jitter * (2.0f * chance(state) - 1.0f),
                      jitter * (2.0f * chance(state) - 1.0f));
    *position = (quad){g->place.x + p.x, g->place.y + p.y, g->place.z + p.z, mass};
    *velocity = (quad){g->velocity.x + v.x, g->velocity.y + v.y, g->velocity.z + v.z, sign};
}

void galaxies_make(quad *positions, quad *velocities, uint32_t count, uint32_t heavy, uint64_t seed)
{
    uint64_t state = seed;
    for (uint32_t i = 0; i < count; i++) {
        /* Of any three stars, two are the first one's. */
        bool second = i < 2 ? i == 1 : i % 3 == 2;
        const galaxy *g = &galaxies[second];
        float sign = second ? -1.0f : 1.0f;
        float share =
            g->disc / (float)(heavy > 2 ? (heavy - 2) / 3 + 1 : 1) / (second ? 1.0f : 2.0f);
        if (i < 2 && i < heavy) {
            positions[i] = (quad){g->place.x, g->place.y, g->place.z, g->core};
            velocities[i] = (quad){g->velocity.x, g->velocity.y, g->velocity.z, sign};
        } else {
            put(g, &state, i < heavy ? share : 0.0f, sign, &positions[i], &velocities[i]);
        }
    }
}
