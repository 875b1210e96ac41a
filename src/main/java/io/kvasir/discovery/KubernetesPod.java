package io.kvasir.discovery;

import com.fasterxml.jackson.databind.JsonNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigSyntax;
import com.typesafe.config.ConfigValueFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A Kubernetes pod, read as an entry of the configuration's pods. Settings come from annotations, or labels, {@code
 * kvasir.io/}{@code port, scheme, models, role, ranks, engine, max-in-flight, capacity-blocks, events-port,
 * replay-port}; ports are also found by their names in a container: {@code http}, {@code kv-events}, {@code kv-replay}.
 * The annotation {@code kvasir.io/pod} has any other setting as a JSON object, in which {@code {ip}} stands for the
 * pod's address. Immutable.
 */
final class KubernetesPod {
  private static final String PREFIX = "kvasir.io/";
  private static final List<String> SETTINGS = List.of("role", "ranks", "engine", "max-in-flight", "capacity-blocks");

  private final JsonNode pod;
  private final String ip;

  KubernetesPod(JsonNode pod) {
    this.pod = pod;
    this.ip = pod.at("/status/podIP").asText("");
  }

  String name() {
    return pod.at("/metadata/name").asText("");
  }

  /** Whether the pod may have a running engine: it has an address and has not terminated. */
  boolean isActive() {
    String phase = pod.at("/status/phase").asText("");
    return !ip.isEmpty() && !phase.equals("Succeeded") && !phase.equals("Failed");
  }

  /** Whether the pod gets no new requests: it is not ready, or it is terminating. */
  boolean isWithheld() {
    if (pod.at("/metadata").hasNonNull("deletionTimestamp")) {
      return true;
    }
    for (JsonNode condition : pod.at("/status/conditions")) {
      if (condition.path("type").asText().equals("Ready")) {
        return !condition.path("status").asText().equals("True");
      }
    }
    return true;
  }

  /**
   * The pod as an entry of the configuration's pods.
   *
   * @param labels names of the pod's labels that become labels of its workers
   * @param defaults for what the pod does not set
   * @throws ConfigException when the annotation with JSON is malformed
   */
  Config toPodConfig(List<String> labels, Config defaults) {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("name", name());
    String host = ip.contains(":") ? "[" + ip + "]" : ip;
    setting("port").or(() -> port("http")).or(this::onlyPort).ifPresent(
        port -> settings.put("url", setting("scheme").orElse("http") + "://" + host + ":" + port));
    setting("models").or(() -> setting("model")).ifPresent(models -> settings.put("models", words(models)));
    SETTINGS.forEach(setting -> setting(setting).ifPresent(value -> settings.put(setting, value)));
    Map<String, Object> events = new LinkedHashMap<>();
    setting("events-port").or(() -> port("kv-events")).ifPresent(
        port -> events.put("endpoint", "tcp://" + host + ":" + port));
    setting("replay-port").or(() -> port("kv-replay")).ifPresent(
        port -> events.put("replay", "tcp://" + host + ":" + port));
    if (!events.isEmpty()) {
      settings.put("events", events);
    }
    Map<String, Object> workerLabels = new LinkedHashMap<>();
    for (String label : labels) {
      JsonNode value = pod.path("metadata").path("labels").path(label);
      if (value.isTextual()) {
        workerLabels.put(label, value.textValue());
      }
    }
    if (!workerLabels.isEmpty()) {
      settings.put("labels", workerLabels);
    }
    ConfigParseOptions options =
        ConfigParseOptions.defaults()
            .setSyntax(ConfigSyntax.JSON)
            .setOriginDescription("pod " + name() + ", annotation " + PREFIX + "pod");
    return ConfigFactory.parseString(setting("pod").orElse("{}").replace("{ip}", host), options)
        .withFallback(ConfigValueFactory.fromMap(settings, "pod " + name()))
        .withFallback(defaults);
  }

  private Optional<String> setting(String setting) {
    for (String field : List.of("annotations", "labels")) {
      JsonNode value = pod.path("metadata").path(field).path(PREFIX + setting);
      if (value.isTextual()) {
        return Optional.of(value.textValue().strip());
      }
    }
    return Optional.empty();
  }

  private Optional<String> port(String name) {
    for (JsonNode container : pod.at("/spec/containers")) {
      for (JsonNode port : container.path("ports")) {
        if (port.path("name").asText().equals(name)) {
          return Optional.of(port.path("containerPort").asText());
        }
      }
    }
    return Optional.empty();
  }

  private Optional<String> onlyPort() {
    List<String> ports = new ArrayList<>();
    pod.at("/spec/containers").forEach(
        container -> container.path("ports").forEach(port -> ports.add(port.path("containerPort").asText())));
    return ports.size() == 1 ? Optional.of(ports.getFirst()) : Optional.empty();
  }

  private static List<String> words(String text) {
    return List.of(text.split("[,\\s]+", -1)).stream().filter(word -> !word.isEmpty()).toList();
  }
}
