package io.kvasir.http.client;

import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The API keys that the router shows to pods, as {@code Authorization: Bearer}. They are this node's configuration: no
 * other node is told, and neither log nor admin API shows them. Thread-safe.
 */
public final class PodKeys {
  /** No pod asks for a key. */
  public static final PodKeys NONE = new PodKeys(Map.of(), null);

  private final Map<URI, Key> own;
  private final @Nullable Key standard;

  /**
   * Keys of pods.
   *
   * @param own the keys of pods that have one of their own, by base URL
   * @param standard the key of all other pods, null for none
   */
  public PodKeys(Map<URI, Key> own, @Nullable Key standard) {
    this.own = Map.copyOf(own);
    this.standard = standard;
  }

  /** The key of the pod at a base URL, null when it has none. */
  public @Nullable String of(URI pod) {
    Key key = own.get(pod);
    Key shown = key == null ? standard : key;
    return shown == null ? null : shown.text();
  }

  /** The request with its pod's key in place of the client's, or unchanged when the pod has none. */
  public PodRequest authorized(PodRequest request) {
    String key = of(request.pod());
    return key == null
        ? request
        : new PodRequest(
            request.pod(), request.method(), request.target(),
            request.headers().toBuilder().remove("x-api-key").set("Authorization", "Bearer " + key).build(),
            request.body());
  }

  /** A key, written in the configuration or in a file that may be replaced while the node runs. */
  public static final class Key {
    private static final Logger LOG = LoggerFactory.getLogger(Key.class);
    private static final long CHECK_NANOS = Duration.ofSeconds(5).toNanos();

    private final @Nullable Path file;
    private final NanoClock clock;
    private volatile String text;
    private volatile long checkedNanos;

    private Key(@Nullable Path file, NanoClock clock, String text) {
      this.file = file;
      this.clock = clock;
      this.text = text;
      this.checkedNanos = clock.nanos();
    }

    /** A key as it is. */
    public static Key of(String text) {
      return new Key(null, NanoClock.SYSTEM, text);
    }

    /**
     * The key in a file: its only line. The file is read again every few seconds, by requests.
     *
     * @throws IOException when it cannot be read, or has no key in it
     */
    public static Key in(Path file, NanoClock clock) throws IOException {
      return new Key(file, clock, read(file));
    }

    /** Whether a text can be a key: visible ASCII characters. */
    public static boolean isKey(String text) {
      return !text.isEmpty() && text.chars().allMatch(c -> c > ' ' && c <= '~');
    }

    private String text() {
      Path source = file;
      if (source != null && clock.nanos() - checkedNanos >= CHECK_NANOS) {
        checkedNanos = clock.nanos();
        try {
          text = read(source);
        } catch (IOException unreadable) {
          LOG.warn("the key file {} cannot be read, the key before is used: {}", source, unreadable.toString());
        }
      }
      return text;
    }

    private static String read(Path file) throws IOException {
      String text = Files.readString(file).strip();
      if (!isKey(text)) {
        throw new IOException(file + " does not have one key on one line");
      }
      return text;
    }

    @Override
    public String toString() {
      return "***";
    }
  }
}
