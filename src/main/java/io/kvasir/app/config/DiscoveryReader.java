package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.discovery.Discovery;
import io.kvasir.discovery.KubernetesSettings;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.pods-from}: the sources of pods that are watched while the node runs. */
final class DiscoveryReader {
  private static final String ROLES = "pekko.cluster.roles";

  private final Discovery.Settings settings;

  DiscoveryReader(ConfigSection podsFrom) {
    ConfigSection file = podsFrom.section("file");
    String path = file.text("path");
    Duration interval = file.duration("interval");
    file.rejectUnread();
    ConfigSection section = podsFrom.section("kubernetes");
    KubernetesSettings kubernetes = kubernetes(section);
    section.rejectUnread();
    podsFrom.rejectUnread();
    this.settings = new Discovery.Settings(path.isEmpty() ? null : Path.of(path), interval, kubernetes);
  }

  Discovery.Settings settings() {
    return settings;
  }

  /** The platform's settings with the cluster roles of nodes that can watch these sources. */
  Config roles(Config platform) {
    List<String> roles = new ArrayList<>(platform.getStringList(ROLES));
    roles.addAll(settings.roles());
    return platform.withValue(ROLES, ConfigValueFactory.fromIterable(roles));
  }

  private static @Nullable KubernetesSettings kubernetes(ConfigSection kubernetes) {
    String selector = kubernetes.text("selector");
    String api = kubernetes.text("api");
    Path token = Path.of(kubernetes.text("token"));
    Path authority = Path.of(kubernetes.text("authority"));
    String namespace = kubernetes.text("namespace");
    Duration relist = kubernetes.duration("relist");
    List<String> labels = kubernetes.texts("labels");
    Config pod = ConfigFactory.parseMap(kubernetes.values("pod"));
    if (selector.isBlank()) {
      return null;
    }
    URI uri = api.isEmpty() ? inside(kubernetes) : kubernetes.url("api");
    if (uri.getScheme().equals("https") && !Files.isReadable(authority)) {
      kubernetes.fault("authority", authority + " cannot be read; it proves who the API server is");
    }
    if (namespace.isEmpty()) {
      namespace = ownNamespace(kubernetes, token.resolveSibling("namespace"));
    }
    return new KubernetesSettings(uri, namespace, selector, token, authority, relist, labels, pod);
  }

  private static URI inside(ConfigSection kubernetes) {
    String host = System.getenv("KUBERNETES_SERVICE_HOST");
    if (host == null) {
      kubernetes.fault("api", "is needed outside Kubernetes: such as https://10.0.0.1:6443, or empty the selector");
      return URI.create("http://localhost");
    }
    String port = System.getenv("KUBERNETES_SERVICE_PORT");
    return URI.create(
        "https://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + (port == null ? "443" : port));
  }

  private static String ownNamespace(ConfigSection kubernetes, Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException outside) {
      kubernetes.fault("namespace", "is needed where " + file + " cannot be read: that of the engines' pods");
      return "default";
    }
  }
}
