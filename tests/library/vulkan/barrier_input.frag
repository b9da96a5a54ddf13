// Reads an input attachment. SPDX-License-Identifier: MIT
#version 450

layout(binding = 1, input_attachment_index = 0) uniform subpassInput attachment;

void main()
{
    if (subpassLoad(attachment).x == 12345.0) discard;
}
