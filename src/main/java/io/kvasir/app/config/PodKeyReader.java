package io.kvasir.app.config;

import com.typesafe.config.Config;
import io.kvasir.http.client.PodKeys;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Reads the API key of a pod, which the configuration has or a file. */
final class PodKeyReader {
  private static final String KEY = "api-key";
  private static final String FILE = "api-key-file";

  private PodKeyReader() {}

  /** The key of a section, null without one. */
  static PodKeys.@Nullable Key read(ConfigSection pod) {
    String key = pod.text(KEY);
    String file = pod.text(FILE);
    if (!key.isEmpty() && !file.isEmpty()) {
      pod.fault(FILE, "is there beside api-key; the key can be in one place only");
    }
    if (!key.isEmpty()) {
      if (!PodKeys.Key.isKey(key)) {
        pod.fault(KEY, "has to be visible ASCII characters without blanks");
      }
      return PodKeys.Key.of(key);
    }
    try {
      return file.isEmpty() ? null : PodKeys.Key.in(Path.of(file), NanoClock.SYSTEM);
    } catch (IOException unreadable) {
      pod.fault(FILE, "cannot be read, or does not have one key on one line");
      return null;
    }
  }

  /** Marks the settings of a section as read. */
  static void markRead(ConfigSection pod) {
    pod.has(KEY);
    pod.has(FILE);
  }

  /** A pod's description without its key. */
  static Config without(Config described) {
    return described.withoutPath(KEY).withoutPath(FILE);
  }

  /** Whether a pod's section has another key than pods have in common. */
  static boolean isOwn(ConfigSection pod, Config defaults) {
    return !pod.text(KEY).equals(defaults.getString(KEY)) || !pod.text(FILE).equals(defaults.getString(FILE));
  }

  /** Reports a key in a list that only one node of the cluster reads. */
  static void rejectInList(ConfigSection pod) {
    pod.fault(KEY, "is for pods of the configuration, which every node has; set pod-defaults.api-key-file instead");
  }
}
