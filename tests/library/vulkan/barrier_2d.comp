// SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#define DIMENSIONS 2
#include "barrier_images.glsl"
