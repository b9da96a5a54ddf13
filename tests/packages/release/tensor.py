# SPDX-License-Identifier: MIT
"""tensor.py PREFIX: what pip installed is used, and both sides have the same bytes."""
import sys

import numpy as np

import culvert

assert culvert.info()["library"].startswith(sys.argv[1] + "/"), culvert.info()["library"]
with culvert.vulkan.open() as gpu, gpu.vk.buffer(4 * 1027) as buffer:
    words = np.asarray(buffer.tensor("uint32"))
    words[:] = np.arange(1027) * 7
    assert (np.from_dlpack(buffer.tensor("uint32")) == np.arange(1027) * 7).all()
    print(culvert.__version__, "on", gpu.device.name)
