package io.kvasir.discovery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.cell.Cells;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pod source of Kubernetes: lists the engines' pods and watches their changes. A watch may lose events, end, or
 * hang silently, so no watch is used for longer than {@code relist}: then, and after every failure, all pods are listed
 * again and those that the list does not have are removed. Failures are retried with exponential back-off, up to half a
 * minute. While the API does not answer, the known pods stay: an API that is down is no reason to stop serving. Owns
 * its thread.
 */
final class KubernetesPods implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(KubernetesPods.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration MIN_BACKOFF = Duration.ofMillis(500);
  private static final Duration MAX_BACKOFF = Duration.ofSeconds(30);
  /** How much later than requested a server may end a watch. */
  private static final Duration GRACE = Duration.ofSeconds(5);

  private final KubernetesSettings settings;
  private final PodsReader reader;
  private final Cells cells;
  private final SourceState state;
  private final Thread thread;
  /** The pods as of the latest event, by name. */
  private final Map<String, JsonNode> pods = new TreeMap<>();
  /** The last valid reading of each pod: a pod whose annotations have become invalid stays as it was. */
  private final Map<String, DiscoveredPod> accepted = new HashMap<>();
  private Duration backoff = MIN_BACKOFF;
  private volatile boolean closed;

  /** Starts listing and watching. */
  KubernetesPods(KubernetesSettings settings, PodsReader reader, Cells cells, SourceState state) {
    this.settings = settings;
    this.reader = reader;
    this.cells = cells;
    this.state = state;
    this.thread = Thread.ofVirtual().name("kvasir-kubernetes").start(this::run);
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }

  private void run() {
    try {
      while (!closed) {
        try (KubernetesApi api = new KubernetesApi(settings)) {
          while (!closed) {
            follow(api);
            backoff = MIN_BACKOFF;
            Thread.sleep(backoff);
          }
        } catch (KubernetesApi.KubernetesApiException refused) {
          if (!refused.isExpired()) {
            failed(String.valueOf(refused.getMessage()));
          }
        } catch (IOException | RuntimeException broken) {
          failed("the Kubernetes API at " + settings.api() + " cannot be reached: " + message(broken));
        }
        Thread.sleep(backoff.multipliedBy(75 + ThreadLocalRandom.current().nextInt(50)).dividedBy(100));
        backoff = backoff.multipliedBy(2).compareTo(MAX_BACKOFF) < 0 ? backoff.multipliedBy(2) : MAX_BACKOFF;
      }
    } catch (InterruptedException closed) {
      LOG.debug("the watch of Kubernetes ends");
    }
  }

  private static String message(Exception failure) {
    return failure.getMessage() == null ? failure.toString() : failure.getMessage();
  }

  private void failed(String reason) {
    if (closed) {
      return;
    }
    state.failed(reason + "; the " + pods.size() + " pods known from it stay");
  }

  /** Lists all pods and watches them, until it is time to list them again. */
  private void follow(KubernetesApi api) throws IOException, InterruptedException {
    KubernetesApi.PodList listed = api.list();
    pods.clear();
    listed.pods().forEach(this::put);
    declare();
    try (InputStream watch = api.watch(listed.resourceVersion(), settings.relist())) {
      Thread guard = closeLater(watch, settings.relist().plus(GRACE));
      try (BufferedReader lines = new BufferedReader(new InputStreamReader(watch, StandardCharsets.UTF_8))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          backoff = MIN_BACKOFF;
          apply(JSON.readTree(line));
        }
      } finally {
        guard.interrupt();
      }
    }
  }

  private void apply(JsonNode event) throws KubernetesApi.KubernetesApiException {
    JsonNode pod = event.path("object");
    switch (event.path("type").asText()) {
      case "ADDED", "MODIFIED" -> {
        put(pod);
        declare();
      }
      case "DELETED" -> {
        pods.remove(pod.at("/metadata/name").asText());
        declare();
      }
      case "ERROR" ->
          throw new KubernetesApi.KubernetesApiException(
              pod.path("code").asInt(), "the watch of the Kubernetes API ended: " + pod.path("message").asText());
      default -> LOG.debug("ignoring the event {}", event.path("type"));
    }
  }

  private void put(JsonNode pod) {
    pods.put(pod.at("/metadata/name").asText(), pod);
  }

  private void declare() {
    List<DiscoveredPod> found = new ArrayList<>();
    List<String> faults = new ArrayList<>();
    accepted.keySet().retainAll(pods.keySet());
    for (JsonNode each : pods.values()) {
      KubernetesPod pod = new KubernetesPod(each);
      if (!pod.isActive()) {
        continue;
      }
      List<String> podFaults = new ArrayList<>();
      DiscoveredPod read = read(pod, podFaults);
      if (podFaults.isEmpty() && read != null) {
        accepted.put(pod.name(), read);
      }
      podFaults.forEach(fault -> faults.add("pod " + pod.name() + ": " + fault));
      DiscoveredPod valid = accepted.get(pod.name());
      if (valid != null) {
        found.add(new DiscoveredPod(valid.spec(), pod.isWithheld()));
      }
    }
    faults.addAll(cells.declare(PodSource.KUBERNETES, found));
    state.accepted(found.size(), faults);
  }

  private @Nullable DiscoveredPod read(KubernetesPod pod, List<String> faults) {
    try {
      Config described = pod.toPodConfig(settings.labels(), settings.pod());
      Config list =
          ConfigFactory.empty()
              .withValue("pods", ConfigValueFactory.fromIterable(List.of(described.root())));
      List<DiscoveredPod> read = reader.read(list, faults::add);
      return read.size() == 1 ? read.getFirst() : null;
    } catch (ConfigException malformed) {
      faults.add(String.valueOf(malformed.getMessage()));
      return null;
    }
  }

  /** Closes a watch whose connection has broken silently: nothing else would ever end the read from it. */
  private static Thread closeLater(InputStream watch, Duration when) {
    return Thread.ofVirtual().name("kvasir-kubernetes-guard").start(() -> {
      try {
        Thread.sleep(when);
        watch.close();
      } catch (InterruptedException inTime) {
        LOG.trace("the watch ended in time");
      } catch (IOException e) {
        LOG.debug("closing a watch", e);
      }
    });
  }
}
