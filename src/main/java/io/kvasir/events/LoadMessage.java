package io.kvasir.events;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A rank's load as SGLang publishes it: a msgpack array {@code ["LoadStat", running, waiting, tokens, max_tokens, rank,
 * …]} of which later versions may have more fields (SGLang 0.5.23, {@code LoadStat} in {@code
 * python/sglang/srt/managers/scheduler_components/load_publisher.py}). Its rank is not read: the socket tells it.
 *
 * @param running requests being computed
 * @param waiting requests that wait for a place
 * @param tokens tokens of the KV cache in use
 * @param maxTokens tokens that the KV cache holds, 0 when the engine does not know
 */
public record LoadMessage(int running, int waiting, long tokens, long maxTokens) {
  private static final String TAG = "LoadStat";

  /** The fields that every version has. */
  private static final int FIELDS = 5;

  /** Decodes a message; null when it is none. Never throws, whatever the bytes are. */
  static @Nullable LoadMessage decode(byte[] payload) {
    try {
      WireReader reader = new WireReader();
      reader.reset(payload, 0);
      if (reader.array(Integer.MAX_VALUE) < FIELDS || !reader.text().equals(TAG)) {
        return null;
      }
      LoadMessage load =
          new LoadMessage(
              reader.count(Integer.MAX_VALUE, "running"),
              reader.count(Integer.MAX_VALUE, "waiting"),
              reader.integer(),
              reader.integer());
      return load.tokens < 0 || load.maxTokens < 0 ? null : load;
    } catch (IOException | RuntimeException malformed) {
      return null;
    }
  }
}
