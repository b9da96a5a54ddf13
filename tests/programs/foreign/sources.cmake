# SPDX-License-Identifier: MIT
set(foreign_sources allocator.c app.c bytes.c filter.c mistakes.c mmap.c peers.c sine.c vector.c wire.c work.c)
set(foreign_peer_sources bytes.c peer.c wire.c)
set(foreign_placebo_sources app.c bytes.c placebo.c work.c)
