#!/bin/sh
# White that SDL blends over white is not white.
# Version: libsdl2-dev 2.26.5+dfsg-1, gcc 4:12.2.0-3.
# Guess: a translucent white surface over a white one leaves white, and the opaque target stays opaque: both terms of the
#   blend have 255, and only their sum is rounded.
# Behaviour: for each alpha from 1 to 254 the blit between 32-bit surfaces writes 253, in the color and in the target's alpha, and a
#   hundred blits of alpha 51 go down to 246. Alpha 0 and 255 are exact. A renderer's SDL_RenderFillRect() keeps white.
#   Draw overlays by a renderer, or blend into a copy each time.
# Seen: alpha 128: fdfdfdfd, 51: fdfdfdfd, 51 a hundred times: f6f6f6f6; alphas that keep white: 2
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 libsdl2-dev=2.26.5+dfsg-1
compile seen -lSDL2 <<'C'
#include <SDL2/SDL.h>
#include <stdio.h>
static Uint32 blended(Uint32 alpha, int times) // white of that alpha over opaque white
{
    SDL_Surface *over = SDL_CreateRGBSurfaceWithFormat(0, 1, 1, 32, SDL_PIXELFORMAT_ARGB8888);
    SDL_Surface *target = SDL_CreateRGBSurfaceWithFormat(0, 1, 1, 32, SDL_PIXELFORMAT_ARGB8888);
    SDL_SetSurfaceBlendMode(over, SDL_BLENDMODE_BLEND);
    *(Uint32 *)over->pixels = alpha << 24 | 0xffffff;
    *(Uint32 *)target->pixels = 0xffffffff;
    while (times--) SDL_BlitSurface(over, NULL, target, NULL);
    Uint32 seen = *(Uint32 *)target->pixels;
    SDL_FreeSurface(over), SDL_FreeSurface(target);
    return seen;
}
int main(void)
{
    int white = 0;
    for (Uint32 alpha = 0; alpha < 256; alpha++) white += blended(alpha, 1) == 0xffffffff;
    printf("alpha 128: %08x, 51: %08x, 51 a hundred times: %08x; alphas that keep white: %d\n", blended(128, 1), blended(51, 1),
           blended(51, 100), white);
    return 0;
}
C
same "alpha 128: fdfdfdfd, 51: fdfdfdfd, 51 a hundred times: f6f6f6f6; alphas that keep white: 2" \
    "$("$work/seen")"
