"""G.722 at 64 kbit/s through PyAV: wide-band speech in two sub-bands of ADPCM.

Source: ITU-T G.722 as FFmpeg codes it. Differences: frames that did not arrive are silence; the
concealment of Appendices III and IV is not built. The decoder goes on from the state in which the last
frame left it.
"""

import numpy as np
from numpy.typing import NDArray

#: Samples of a frame of 20 ms at 16 kHz, and bytes that it is coded in.
FRAME = 320
BYTES = 160

MISSING = "G.722 speech needs PyAV: pip install 'sojourn[video]'"


def available() -> bool:
    """Whether PyAV can be imported."""
    try:
        import av
    except ImportError:
        return False
    return "g722" in av.codecs_available


def encode(signal: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Code speech at 16 kHz; a part of a frame at the end is left out: shape (n // 320, 160)."""
    import av

    coder = av.CodecContext.create("g722", "w")
    coder.format, coder.layout, coder.rate = "s16", "mono", 16000
    frames = np.ascontiguousarray(signal[: signal.size // FRAME * FRAME], dtype=np.int16).reshape(-1, FRAME)
    parts: list[bytes] = []
    for row in frames:
        frame = av.AudioFrame.from_ndarray(row[None], format="s16", layout="mono")
        frame.rate = 16000
        parts += [bytes(packet) for packet in coder.encode(frame)]
    parts += [bytes(packet) for packet in coder.encode(None)]
    return np.frombuffer(b"".join(parts), dtype=np.uint8)[: len(frames) * BYTES].reshape(-1, BYTES)


def decode(coded: NDArray[np.uint8], erased: NDArray[np.bool_]) -> NDArray[np.int16]:
    """Decode speech: shape (320 n,), silent where a frame did not arrive (`erased`, shape (n,))."""
    import av

    decoder = av.CodecContext.create("g722", "r")
    decoder.layout, decoder.rate = "mono", 16000
    out = np.zeros((len(coded), FRAME), dtype=np.int16)
    for row, data, gone in zip(out, coded, erased.tolist(), strict=True):
        if not gone:
            row[:] = np.concatenate([f.to_ndarray()[0] for f in decoder.decode(av.Packet(data.tobytes()))])
    return out.reshape(-1)
