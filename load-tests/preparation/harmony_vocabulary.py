"""Writes the vocabulary that is in oss-harmony as the file that openai-harmony reads."""

import base64

from openai_harmony import HarmonyEncodingName, load_harmony_encoding

# Those behind it are special.
SIZE = 199_998

decode = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)._inner.decode_bytes
for token in range(SIZE):
    print(base64.b64encode(decode([token])).decode(), token)
