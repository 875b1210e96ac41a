package io.kvasir.app.config;

import io.kvasir.app.config.KvasirConfig.ManagementConfig;
import io.kvasir.gateway.admin.AdminKey;
import io.kvasir.gateway.admin.AdminKeys;
import io.kvasir.kubernetes.KubernetesConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads the management port: its address, its TLS, and the keys of administrators. */
final class ManagementReader {
  private static final String KEYS = "admin-keys";
  private static final String FILE = "admin-key-file";
  private static final String METRICS = "metrics-access";

  /** Who may read the metrics: everybody, or whom Kubernetes lets do it. */
  private enum MetricsAccess {
    OPEN, KUBERNETES
  }

  private ManagementReader() {}

  /**
   * Reads it.
   *
   * @param kubernetes the API server, where one is known; asked for where it is needed only
   */
  static ManagementConfig read(ConfigSection management, Supplier<Optional<KubernetesConnection>> kubernetes) {
    return new ManagementConfig(
        management.name("host"),
        management.count("port", 0, 65_535),
        TlsFilesReader.listener(management.section("tls")),
        new AdminKeys(written(management), file(management)),
        management.flag("llm-d-metrics"),
        metricsReviewer(management, kubernetes));
  }

  private static @Nullable KubernetesConnection metricsReviewer(
      ConfigSection management, Supplier<Optional<KubernetesConnection>> kubernetes) {
    if (management.choice(METRICS, MetricsAccess.class) == MetricsAccess.OPEN) {
      return null;
    }
    Optional<KubernetesConnection> reviewer = kubernetes.get();
    if (reviewer.isEmpty()) {
      management.fault(
          METRICS,
          "is kubernetes, and this node is in no cluster of it: name one in pods-from.kubernetes.api, or set it to"
              + " open");
    }
    return reviewer.orElse(null);
  }

  private static List<AdminKey> written(ConfigSection management) {
    return parsed(management, KEYS, management.textOrTexts(KEYS));
  }

  private static @Nullable Path file(ConfigSection management) {
    String name = management.text(FILE);
    if (name.isBlank()) {
      return null;
    }
    Path file = Path.of(name);
    try {
      if (parsed(management, FILE, AdminKeys.readFile(file)).isEmpty()) {
        management.fault(FILE, "has no key in it; write one on a line of its own");
      }
    } catch (IOException unreadable) {
      management.fault(FILE, "cannot be read; does it exist, and may you read it?");
    }
    return file;
  }

  private static List<AdminKey> parsed(ConfigSection management, String setting, List<String> lines) {
    List<AdminKey> keys = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      try {
        keys.add(AdminKey.parse(lines.get(i)));
      } catch (IllegalArgumentException faulty) {
        management.fault(setting, "key %d in it %s".formatted(i + 1, faulty.getMessage()));
      }
    }
    return keys;
  }
}
