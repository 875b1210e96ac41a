package io.kvasir.app.membership;

import com.fasterxml.jackson.databind.JsonNode;
import com.typesafe.config.Config;
import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.KubernetesApi;
import io.kvasir.kubernetes.KubernetesConnection;
import io.kvasir.kubernetes.ObjectSelection;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.discovery.Lookup;
import org.apache.pekko.discovery.ServiceDiscovery;
import scala.Option;
import scala.concurrent.Future;
import scala.concurrent.duration.FiniteDuration;
import scala.jdk.javaapi.CollectionConverters;
import scala.jdk.javaapi.FutureConverters;

/**
 * The discovery of other nodes by the Kubernetes API: the running pods with a label, at their port of a name. Pekko's
 * bootstrap makes it by its name in the configuration {@code pekko.discovery}, and calls it until this node has joined
 * a cluster. Thread-safe.
 */
public final class KubernetesNodes extends ServiceDiscovery {
  /** Where its settings are in the platform's configuration. */
  public static final String SETTINGS = "pekko.discovery.kubernetes-api";

  private final Config settings;

  /** By the settings of a system. */
  public KubernetesNodes(ExtendedActorSystem system) {
    this.settings = system.settings().config().getConfig(SETTINGS);
  }

  @Override
  public Future<Resolved> lookup(Lookup lookup, FiniteDuration timeout) {
    CompletableFuture<Resolved> resolved = new CompletableFuture<>();
    Thread.ofVirtual().name("kvasir-node-discovery").start(() -> {
      try {
        List<ResolvedTarget> targets = targets(pods(), lookup.getPortName().orElse(""));
        resolved.complete(new Resolved(lookup.serviceName(), CollectionConverters.asScala(targets).toSeq()));
      } catch (IOException | InterruptedException | RuntimeException failed) {
        resolved.completeExceptionally(failed);
      }
    });
    return FutureConverters.asScala(resolved.orTimeout(timeout.length(), timeout.unit()));
  }

  private List<JsonNode> pods() throws IOException, InterruptedException {
    Path token = Path.of(settings.getString("api-token-path"));
    URI api =
        settings.getString("api").isEmpty()
            ? KubernetesConnection.ownCluster().orElseThrow(
                () -> new IOException("cluster.kubernetes.api is empty, and this node runs in no Kubernetes"))
            : URI.create(settings.getString("api"));
    KubernetesConnection connection =
        new KubernetesConnection(api, token, Path.of(settings.getString("api-ca-path")));
    String namespace = settings.getString("pod-namespace");
    if (namespace.isEmpty()) {
      namespace = Files.readString(token.resolveSibling("namespace")).strip();
    }
    try (KubernetesApi kubernetes = new KubernetesApi(connection)) {
      return kubernetes.list(
              new ObjectSelection(ApiResource.PODS, namespace, settings.getString("pod-label-selector")))
          .objects();
    }
  }

  private static List<ResolvedTarget> targets(List<JsonNode> pods, String portName) throws IOException {
    List<ResolvedTarget> targets = new ArrayList<>();
    for (JsonNode pod : pods) {
      String ip = pod.at("/status/podIP").asText("");
      boolean running = pod.at("/status/phase").asText().equals("Running");
      if (running && !ip.isEmpty() && !pod.path("metadata").hasNonNull("deletionTimestamp")) {
        for (int port : ports(pod, portName)) {
          targets.add(new ResolvedTarget(ip, Option.apply(port), Option.apply(InetAddress.getByName(ip))));
        }
      }
    }
    return targets;
  }

  private static List<Integer> ports(JsonNode pod, String name) {
    List<Integer> ports = new ArrayList<>();
    for (JsonNode container : pod.at("/spec/containers")) {
      for (JsonNode port : container.path("ports")) {
        if (port.path("name").asText().equals(name)) {
          ports.add(port.path("containerPort").asInt());
        }
      }
    }
    return ports;
  }
}
