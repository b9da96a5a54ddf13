// SPDX-License-Identifier: MIT
// A growing vector of CUDA's memory, with errors as exceptions. It needs no GPU with CULVERT_SOFT=1.
using System;
using System.Runtime.InteropServices;
using System.Text;
using Culvert;

public unsafe class CulvertException : Exception
{
    public readonly culv_result Result;
    public readonly culv_reason Reason;

    CulvertException(culv_error error, string message) : base(message)
    {
        Result = error.result;
        Reason = error.reason;
    }

    public static void Check(culv_result result)
    {
        if (result == culv_result.CULV_OK) return;
        culv_error error = culv_error.init();
        Native.culv_last_error(&error);
        int length = 0;
        while (error.message[length] != 0) length++;
        throw new CulvertException(error, Encoding.UTF8.GetString(error.message, length));
    }
}

public unsafe class Device : IDisposable
{
    public IntPtr Handle;

    public Device(int ordinal)
    {
        IntPtr made;
        CulvertException.Check(Native.culv_device_open_by_ordinal(ordinal, null, &made));
        Handle = made;
    }

    public T Function<T>(string name, int version)
    {
        return (T)(object)Marshal.GetDelegateForFunctionPointer(Native.culv_device_cuda_proc(Handle, name, version), typeof(T));
    }

    public void Dispose()
    {
        fixed (IntPtr* handle = &Handle) Native.culv_device_close(handle);
    }
}

public unsafe class Vector : IDisposable
{
    public IntPtr Handle;

    public Vector(Device device, ulong size)
    {
        culv_vector_desc desc = culv_vector_desc.init();
        desc.size = size;
        IntPtr made;
        CulvertException.Check(Native.culv_vector_create(device.Handle, &desc, &made));
        Handle = made;
    }

    public void Grow(ulong size) { CulvertException.Check(Native.culv_vector_grow(Handle, size)); }
    public ulong Pointer { get { return Native.culv_vector_pointer(Handle); } }

    public void Dispose()
    {
        fixed (IntPtr* handle = &Handle) Native.culv_vector_destroy(handle, null);
    }
}

public static class Program
{
    delegate int SetCurrent(IntPtr context);
    delegate int Upload(ulong to, uint[] from, UIntPtr size);
    delegate int Download([Out] uint[] to, ulong from, UIntPtr size);

    static void Cuda(int result)
    {
        if (result != 0) throw new Exception("CUDA error " + result);
    }

    public static int Main()
    {
        uint[] words = new uint[1024], again = new uint[1024];
        for (uint i = 0; i < 1024; i++) words[i] = i;
        using (Device device = new Device(0))
        {
            Cuda(device.Function<SetCurrent>("cuCtxSetCurrent", 4000)(Native.culv_device_context(device.Handle)));
            using (Vector vector = new Vector(device, 1 << 20))
            {
                ulong before = vector.Pointer;
                Cuda(device.Function<Upload>("cuMemcpyHtoD", 3020)(before + 4096, words, (UIntPtr)4096));
                vector.Grow(1 << 24);
                if (vector.Pointer != before) throw new Exception("it moved");
                Cuda(device.Function<Download>("cuMemcpyDtoH", 3020)(again, before + 4096, (UIntPtr)4096));
                for (uint i = 0; i < 1024; i++)
                    if (again[i] != i) throw new Exception("word " + i + " is " + again[i]);
                try
                {
                    vector.Grow(ulong.MaxValue);
                    throw new Exception("there are no such addresses");
                }
                catch (CulvertException e)
                {
                    if (e.Result != culv_result.CULV_ERROR_INVALID) throw;
                    Console.WriteLine("a vector grew in place; refused: " + e.Message);
                }
            }
        }
        try
        {
            new Device(99);
        }
        catch (CulvertException e)
        {
            if (e.Reason != culv_reason.CULV_REASON_DEVICE_UNKNOWN) throw;
            return 0;
        }
        throw new Exception("device 99");
    }
}
