package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.discovery.Discovery;
import io.kvasir.discovery.KubernetesSettings;
import io.kvasir.discovery.PoolSettings;
import io.kvasir.kubernetes.KubernetesConnection;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.pods-from}: the sources of pods that are watched while the node runs. */
final class DiscoveryReader {
  private static final String ROLES = "pekko.cluster.roles";

  private final ConfigSection kubernetes;
  private final String api;
  private final Path token;
  private final Path authority;
  private final Discovery.Settings settings;
  private @Nullable KubernetesConnection connection;

  DiscoveryReader(ConfigSection podsFrom) {
    ConfigSection file = podsFrom.section("file");
    String path = file.text("path");
    Duration interval = file.duration("interval");
    file.rejectUnread();
    this.kubernetes = podsFrom.section("kubernetes");
    this.api = kubernetes.text("api");
    this.token = Path.of(kubernetes.text("token"));
    this.authority = Path.of(kubernetes.text("authority"));
    KubernetesSettings pods = kubernetes();
    kubernetes.rejectUnread();
    podsFrom.rejectUnread();
    this.settings = new Discovery.Settings(path.isEmpty() ? null : Path.of(path), interval, pods, List.of());
  }

  Discovery.Settings settings() {
    return settings;
  }

  /** The API server, whatever is asked of it; empty where none is named and this node runs in no Kubernetes. */
  Optional<KubernetesConnection> connection() {
    if (connection == null) {
      Optional<URI> server = api.isEmpty() ? KubernetesConnection.ownCluster() : Optional.of(kubernetes.url("api"));
      if (server.isPresent()) {
        if (server.get().getScheme().equals("https") && !Files.isReadable(authority)) {
          kubernetes.fault("authority", authority + " cannot be read; it proves who the API server is");
        }
        connection = new KubernetesConnection(server.get(), token, authority);
      }
    }
    return Optional.ofNullable(connection);
  }

  /** The platform's settings with the cluster roles of nodes that can watch these sources. */
  Config roles(Config platform) {
    List<String> roles = new ArrayList<>(platform.getStringList(ROLES));
    roles.addAll(settings.roles());
    return platform.withValue(ROLES, ConfigValueFactory.fromIterable(roles));
  }

  private @Nullable KubernetesSettings kubernetes() {
    String selector = kubernetes.text("selector");
    String named = kubernetes.text("namespace");
    Duration relist = kubernetes.duration("relist");
    List<String> labels = kubernetes.texts("labels");
    Config pod = ConfigFactory.parseMap(kubernetes.values("pod"));
    PoolSettings pools = pools(kubernetes.section("pools"));
    if (selector.isBlank() && pools == null) {
      return null;
    }
    Optional<KubernetesConnection> server = connection();
    if (server.isEmpty()) {
      kubernetes.fault(
          "api", "is needed outside Kubernetes: such as https://10.0.0.1:6443; or name no selector and no pools");
    }
    String namespace = named.isEmpty() ? ownNamespace(kubernetes, token.resolveSibling("namespace")) : named;
    return server
        .map(known -> new KubernetesSettings(known, namespace, selector, relist, labels, pools, pod))
        .orElse(null);
  }

  private static @Nullable PoolSettings pools(ConfigSection pools) {
    List<String> namespaces = pools.texts("namespaces");
    boolean writesStatus = pools.flag("write-status");
    pools.rejectUnread();
    if (namespaces.contains("*") && namespaces.size() > 1) {
      pools.fault("namespaces", "has \"*\" beside names: it means all namespaces");
    }
    if (namespaces.stream().anyMatch(String::isBlank)) {
      pools.fault("namespaces", "has an empty name; \"*\" means all namespaces");
    }
    return namespaces.isEmpty()
        ? null
        : new PoolSettings(namespaces.contains("*") ? List.of("") : namespaces, writesStatus);
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
