/* SPDX-License-Identifier: MIT */
/* libnvcuvid.so.1 and libnvidia-encode.so.1 of a machine whose GPU has neither a decoder nor an
 * encoder: programs that load them beside libcuda.so.1 go on without (GStreamer's CUDA elements
 * exist only where one of them is found). */
#define EXPORT __attribute__((visibility("default")))

#ifdef ENCODES
enum { NO_ENCODE_DEVICE = 1 }; /* NVENCSTATUS */
#    define NO(name)                                                                               \
        EXPORT int name(void);                                                                     \
        int name(void)                                                                             \
        {                                                                                          \
            return NO_ENCODE_DEVICE;                                                               \
        }
NO(NvEncodeAPICreateInstance)
EXPORT int NvEncodeAPIGetMaxSupportedVersion(unsigned *version);
int NvEncodeAPIGetMaxSupportedVersion(unsigned *version)
{
    *version = 13u << 4; /* 13.0 */
    return 0;
}
#else
#    define NO(name)                                                                               \
        EXPORT int name(void);                                                                     \
        int name(void)                                                                             \
        {                                                                                          \
            return 801; /* CUDA_ERROR_NOT_SUPPORTED */                                             \
        }
NO(cuvidCtxLockCreate)
NO(cuvidCtxLockDestroy)
NO(cuvidCtxLock)
NO(cuvidCtxUnlock)
NO(cuvidCreateDecoder)
NO(cuvidDestroyDecoder)
NO(cuvidDecodePicture)
NO(cuvidGetDecodeStatus)
NO(cuvidGetDecoderCaps)
NO(cuvidReconfigureDecoder)
NO(cuvidMapVideoFrame)
NO(cuvidUnmapVideoFrame)
NO(cuvidMapVideoFrame64)
NO(cuvidUnmapVideoFrame64)
NO(cuvidCreateVideoParser)
NO(cuvidParseVideoData)
NO(cuvidDestroyVideoParser)
NO(cuvidCreateVideoSource)
NO(cuvidCreateVideoSourceW)
NO(cuvidDestroyVideoSource)
NO(cuvidGetSourceVideoFormat)
NO(cuvidGetSourceAudioFormat)
NO(cuvidGetVideoSourceState)
NO(cuvidSetVideoSourceState)
#endif
