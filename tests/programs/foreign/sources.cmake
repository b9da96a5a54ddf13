# SPDX-License-Identifier: MIT
set(foreign_sources app.c filter.c mmap.c peers.c sine.c vector.c work.c)
set(foreign_placebo_sources app.c placebo.c work.c)
