/* SPDX-License-Identifier: MIT */
/* Every OpenGL function that Culvert calls, once: CULV_GL(name, need, result, arguments).
 * REQUIRED ones are in OpenGL 4.5, or in GL_ARB_direct_state_access. Of the others drivers hand out
 * pointers to functions that only fail: ask the extension (culv_gl::has) before the pointer.
 * Included several times, so it has no guard. */
CULV_GL(glGetError, REQUIRED, uint32_t, (void))
CULV_GL(glGetString, REQUIRED, const unsigned char *, (uint32_t name))
CULV_GL(glGetStringi, REQUIRED, const unsigned char *, (uint32_t name, uint32_t index))
CULV_GL(glGetIntegerv, REQUIRED, void, (uint32_t name, int32_t *out))
CULV_GL(glPixelStorei, REQUIRED, void, (uint32_t name, int32_t value))
CULV_GL(glBindBuffer, REQUIRED, void, (uint32_t target, uint32_t buffer))
CULV_GL(glFinish, REQUIRED, void, (void))
CULV_GL(glFlush, REQUIRED, void, (void))
CULV_GL(glFenceSync, REQUIRED, void *, (uint32_t condition, uint32_t flags))
CULV_GL(glDeleteSync, REQUIRED, void, (void *sync))
CULV_GL(glClientWaitSync, REQUIRED, uint32_t, (void *sync, uint32_t flags, uint64_t timeout))
CULV_GL(glWaitSync, REQUIRED, void, (void *sync, uint32_t flags, uint64_t timeout))
CULV_GL(glIsBuffer, REQUIRED, unsigned char, (uint32_t buffer))
CULV_GL(glIsTexture, REQUIRED, unsigned char, (uint32_t texture))
CULV_GL(glCreateBuffers, OPTIONAL, void, (int32_t count, uint32_t *buffers))
CULV_GL(glDeleteBuffers, REQUIRED, void, (int32_t count, const uint32_t *buffers))
CULV_GL(glNamedBufferStorage, OPTIONAL, void,
        (uint32_t buffer, ptrdiff_t size, const void *data, uint32_t flags))
CULV_GL(glNamedBufferSubData, OPTIONAL, void,
        (uint32_t buffer, ptrdiff_t offset, ptrdiff_t size, const void *data))
CULV_GL(glGetNamedBufferSubData, OPTIONAL, void,
        (uint32_t buffer, ptrdiff_t offset, ptrdiff_t size, void *data))
CULV_GL(glCopyNamedBufferSubData, OPTIONAL, void,
        (uint32_t from, uint32_t to, ptrdiff_t from_offset, ptrdiff_t to_offset, ptrdiff_t size))
CULV_GL(glGetNamedBufferParameteriv, OPTIONAL, void, (uint32_t buffer, uint32_t name, int32_t *out))
CULV_GL(glCreateTextures, OPTIONAL, void, (uint32_t target, int32_t count, uint32_t *textures))
CULV_GL(glDeleteTextures, REQUIRED, void, (int32_t count, const uint32_t *textures))
CULV_GL(glTextureParameteri, OPTIONAL, void, (uint32_t texture, uint32_t name, int32_t value))
CULV_GL(glGetTextureParameteriv, OPTIONAL, void, (uint32_t texture, uint32_t name, int32_t *out))
CULV_GL(glTextureStorage1D, OPTIONAL, void,
        (uint32_t texture, int32_t levels, uint32_t format, int32_t width))
CULV_GL(glTextureStorage2D, OPTIONAL, void,
        (uint32_t texture, int32_t levels, uint32_t format, int32_t width, int32_t height))
CULV_GL(glTextureStorage3D, OPTIONAL, void,
        (uint32_t texture, int32_t levels, uint32_t format, int32_t width, int32_t height,
         int32_t depth))
CULV_GL(glTextureSubImage1D, OPTIONAL, void,
        (uint32_t texture, int32_t level, int32_t x, int32_t width, uint32_t format, uint32_t type,
         const void *data))
CULV_GL(glTextureSubImage2D, OPTIONAL, void,
        (uint32_t texture, int32_t level, int32_t x, int32_t y, int32_t width, int32_t height,
         uint32_t format, uint32_t type, const void *data))
CULV_GL(glTextureSubImage3D, OPTIONAL, void,
        (uint32_t texture, int32_t level, int32_t x, int32_t y, int32_t z, int32_t width,
         int32_t height, int32_t depth, uint32_t format, uint32_t type, const void *data))
CULV_GL(glCompressedTextureSubImage2D, OPTIONAL, void,
        (uint32_t texture, int32_t level, int32_t x, int32_t y, int32_t width, int32_t height,
         uint32_t format, int32_t size, const void *data))
CULV_GL(glCompressedTextureSubImage3D, OPTIONAL, void,
        (uint32_t texture, int32_t level, int32_t x, int32_t y, int32_t z, int32_t width,
         int32_t height, int32_t depth, uint32_t format, int32_t size, const void *data))
CULV_GL(glGetTextureImage, OPTIONAL, void,
        (uint32_t texture, int32_t level, uint32_t format, uint32_t type, int32_t size, void *data))
CULV_GL(glGetCompressedTextureImage, OPTIONAL, void,
        (uint32_t texture, int32_t level, int32_t size, void *data))
CULV_GL(glGetUnsignedBytevEXT, OPTIONAL, void, (uint32_t name, unsigned char *out))
CULV_GL(glGetUnsignedBytei_vEXT, OPTIONAL, void,
        (uint32_t name, uint32_t index, unsigned char *out))
CULV_GL(glCreateMemoryObjectsEXT, OPTIONAL, void, (int32_t count, uint32_t *memory))
CULV_GL(glDeleteMemoryObjectsEXT, OPTIONAL, void, (int32_t count, const uint32_t *memory))
CULV_GL(glMemoryObjectParameterivEXT, OPTIONAL, void,
        (uint32_t memory, uint32_t name, const int32_t *value))
CULV_GL(glImportMemoryFdEXT, OPTIONAL, void,
        (uint32_t memory, uint64_t size, uint32_t type, int32_t fd))
CULV_GL(glImportMemoryWin32HandleEXT, OPTIONAL, void,
        (uint32_t memory, uint64_t size, uint32_t type, void *handle))
CULV_GL(glNamedBufferStorageMemEXT, OPTIONAL, void,
        (uint32_t buffer, ptrdiff_t size, uint32_t memory, uint64_t offset))
CULV_GL(glTextureStorageMem1DEXT, OPTIONAL, void,
        (uint32_t texture, int32_t levels, uint32_t format, int32_t width, uint32_t memory,
         uint64_t offset))
CULV_GL(glTextureStorageMem2DEXT, OPTIONAL, void,
        (uint32_t texture, int32_t levels, uint32_t format, int32_t width, int32_t height,
         uint32_t memory, uint64_t offset))
CULV_GL(glTextureStorageMem3DEXT, OPTIONAL, void,
        (uint32_t texture, int32_t levels, uint32_t format, int32_t width, int32_t height,
         int32_t depth, uint32_t memory, uint64_t offset))
CULV_GL(glGenSemaphoresEXT, OPTIONAL, void, (int32_t count, uint32_t *semaphores))
CULV_GL(glCreateSemaphoresNV, OPTIONAL, void, (int32_t count, uint32_t *semaphores))
CULV_GL(glDeleteSemaphoresEXT, OPTIONAL, void, (int32_t count, const uint32_t *semaphores))
CULV_GL(glImportSemaphoreFdEXT, OPTIONAL, void, (uint32_t semaphore, uint32_t type, int32_t fd))
CULV_GL(glImportSemaphoreWin32HandleEXT, OPTIONAL, void,
        (uint32_t semaphore, uint32_t type, void *handle))
CULV_GL(glSemaphoreParameterui64vEXT, OPTIONAL, void,
        (uint32_t semaphore, uint32_t name, const uint64_t *value))
CULV_GL(glSemaphoreParameterivNV, OPTIONAL, void,
        (uint32_t semaphore, uint32_t name, const int32_t *value))
CULV_GL(glWaitSemaphoreEXT, OPTIONAL, void,
        (uint32_t semaphore, uint32_t num_buffers, const uint32_t *buffers, uint32_t num_textures,
         const uint32_t *textures, const uint32_t *layouts))
CULV_GL(glSignalSemaphoreEXT, OPTIONAL, void,
        (uint32_t semaphore, uint32_t num_buffers, const uint32_t *buffers, uint32_t num_textures,
         const uint32_t *textures, const uint32_t *layouts))
CULV_GL(glIsRenderbuffer, REQUIRED, unsigned char, (uint32_t renderbuffer))
CULV_GL(glGetNamedBufferParameteri64v, OPTIONAL, void,
        (uint32_t buffer, uint32_t name, int64_t *out))
CULV_GL(glGetTextureLevelParameteriv, OPTIONAL, void,
        (uint32_t texture, int32_t level, uint32_t name, int32_t *out))
CULV_GL(glGetNamedRenderbufferParameteriv, OPTIONAL, void,
        (uint32_t renderbuffer, uint32_t name, int32_t *out))
CULV_GL(glCreateRenderbuffers, OPTIONAL, void, (int32_t count, uint32_t *renderbuffers))
CULV_GL(glDeleteRenderbuffers, REQUIRED, void, (int32_t count, const uint32_t *renderbuffers))
CULV_GL(glNamedRenderbufferStorage, OPTIONAL, void,
        (uint32_t renderbuffer, uint32_t format, int32_t width, int32_t height))
CULV_GL(glCreateFramebuffers, OPTIONAL, void, (int32_t count, uint32_t *framebuffers))
CULV_GL(glDeleteFramebuffers, REQUIRED, void, (int32_t count, const uint32_t *framebuffers))
CULV_GL(glBindFramebuffer, REQUIRED, void, (uint32_t target, uint32_t framebuffer))
CULV_GL(glNamedFramebufferRenderbuffer, OPTIONAL, void,
        (uint32_t framebuffer, uint32_t attachment, uint32_t target, uint32_t renderbuffer))
CULV_GL(glGetNamedFramebufferParameteriv, OPTIONAL, void,
        (uint32_t framebuffer, uint32_t name, int32_t *out))
CULV_GL(glGetNamedFramebufferAttachmentParameteriv, OPTIONAL, void,
        (uint32_t framebuffer, uint32_t attachment, uint32_t name, int32_t *out))
CULV_GL(glBlitNamedFramebuffer, OPTIONAL, void,
        (uint32_t from, uint32_t to, int32_t x0, int32_t y0, int32_t x1, int32_t y1, int32_t to_x0,
         int32_t to_y0, int32_t to_x1, int32_t to_y1, uint32_t mask, uint32_t filter))
CULV_GL(glReadPixels, REQUIRED, void,
        (int32_t x, int32_t y, int32_t width, int32_t height, uint32_t format, uint32_t type,
         void *pixels))
CULV_GL(glIsEnabled, REQUIRED, unsigned char, (uint32_t capability))
CULV_GL(glEnable, REQUIRED, void, (uint32_t capability))
CULV_GL(glDisable, REQUIRED, void, (uint32_t capability))
