package io.kvasir.app.config;

import io.kvasir.app.config.KvasirConfig.Endpoint;
import io.kvasir.gateway.admin.AdminKeys;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the management port's address, and the keys of administrators. */
final class ManagementReader {
  private static final String KEYS = "admin-keys";
  private static final String FILE = "admin-key-file";
  private static final String GOOD = "has to be 16 to 256 letters, digits and other visible ASCII characters";

  private ManagementReader() {}

  static Endpoint endpoint(ConfigSection management) {
    return new Endpoint(management.name("host"), management.count("port", 0, 65_535));
  }

  static AdminKeys keys(ConfigSection management) {
    return new AdminKeys(written(management), file(management));
  }

  private static List<String> written(ConfigSection management) {
    List<String> keys = management.textOrTexts(KEYS);
    for (int i = 0; i < keys.size(); i++) {
      if (!AdminKeys.isKey(keys.get(i))) {
        management.fault(KEYS, "number %d %s".formatted(i + 1, GOOD));
      }
    }
    return keys;
  }

  private static @Nullable Path file(ConfigSection management) {
    String name = management.text(FILE);
    if (name.isBlank()) {
      return null;
    }
    Path file = Path.of(name);
    try {
      List<String> keys = AdminKeys.readFile(file);
      if (keys.isEmpty()) {
        management.fault(FILE, "has no key in it; write one on a line of its own");
      }
      for (int i = 0; i < keys.size(); i++) {
        if (!AdminKeys.isKey(keys.get(i))) {
          management.fault(FILE, "key %d in it %s".formatted(i + 1, GOOD));
        }
      }
    } catch (IOException unreadable) {
      management.fault(FILE, "cannot be read; does it exist, and may you read it?");
    }
    return file;
  }
}
