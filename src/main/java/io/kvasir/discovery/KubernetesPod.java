package io.kvasir.discovery;

import com.fasterxml.jackson.databind.JsonNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigRenderOptions;
import com.typesafe.config.ConfigSyntax;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.engines.EngineAddress;
import io.kvasir.pools.Pool;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A Kubernetes pod, read as an entry of the configuration's pods. Settings come from annotations, or labels, {@code
 * kvasir.io/}{@code port, scheme, models, role, ranks, engine, max-in-flight, capacity-blocks, grpc-port, events-port,
 * replay-port}; ports are also found by their names in a container: {@code http}, {@code kv-events}, {@code kv-replay}.
 * Without a {@code role} of these the label {@code llm-d.ai/role} counts. The annotation {@code kvasir.io/pod} has any
 * other setting as a JSON object, in which {@code {ip}} stands for the pod's address. Immutable.
 */
final class KubernetesPod {
  private static final String PREFIX = "kvasir.io/";
  private static final List<String> SETTINGS =
      List.of("role", "ranks", "engine", "max-in-flight", "capacity-blocks", EngineAddress.GRPC_PORT);

  private static final Pattern ADDRESS = Pattern.compile("(?<host>tcp://.*:)(?<port>\\d{1,5})");

  private final JsonNode pod;
  private final String ip;

  KubernetesPod(JsonNode pod) {
    this.pod = pod;
    this.ip = pod.at("/status/podIP").asText("");
  }

  String name() {
    return pod.at("/metadata/name").asText("");
  }

  /** Its address, empty while it has none. */
  String ip() {
    return ip;
  }

  /** Its address as the host of a URL. */
  String host() {
    return ip.contains(":") ? "[" + ip + "]" : ip;
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

  /** The ports that serve now, where the pod says so: a pool's other ports are idle. Empty when it does not. */
  Set<Integer> activePorts() {
    Set<Integer> ports = new TreeSet<>();
    String said = annotated("llm-d.ai/active-ports", "inference.networking.k8s.io/active-ports").orElse("");
    for (String port : words(said)) {
      if (port.matches("\\d{1,5}")) {
        ports.add(Integer.valueOf(port));
      }
    }
    return ports;
  }

  /**
   * One of the pod's endpoints as an entry of the configuration's pods.
   *
   * @param labels names of the pod's labels that become labels of its workers
   * @param defaults for what the pod does not set; {@code {ip}} in a text stands for the pod's address
   * @throws ConfigException when the annotation with JSON is malformed
   */
  Config toPodConfig(PodEndpoint endpoint, List<String> labels, Config defaults) {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("name", endpoint.name());
    String host = host();
    (endpoint.port() == 0 ? ownPort() : Optional.of(String.valueOf(endpoint.port()))).ifPresent(
        port -> settings.put("url", setting("scheme").orElse("http") + "://" + host + ":" + port));
    setting("models").or(() -> setting("model")).ifPresent(models -> settings.put("models", words(models)));
    SETTINGS.forEach(setting -> setting(setting).ifPresent(value -> settings.put(setting, value)));
    if (!settings.containsKey("role")) {
      llmdRole().ifPresent(role -> settings.put("role", role));
    }
    Map<String, Object> events = new LinkedHashMap<>();
    setting("events-port").or(() -> port("kv-events")).ifPresent(
        port -> events.put("endpoint", "tcp://" + host + ":" + port));
    setting("replay-port").or(() -> port("kv-replay")).ifPresent(
        port -> events.put("replay", "tcp://" + host + ":" + port));
    if (!events.isEmpty()) {
      settings.put("events", events);
    }
    Map<String, Object> workerLabels = labels(labels);
    if (!endpoint.pools().isEmpty()) {
      workerLabels.put(Pool.LABEL, String.join(",", endpoint.pools()));
    }
    if (!workerLabels.isEmpty()) {
      settings.put("labels", workerLabels);
    }
    ConfigParseOptions options =
        ConfigParseOptions.defaults()
            .setSyntax(ConfigSyntax.JSON)
            .setOriginDescription("pod " + name() + ", annotation " + PREFIX + "pod");
    Config described =
        ConfigFactory.parseString(setting("pod").orElse("{}").replace("{ip}", host), options)
            .withFallback(ConfigValueFactory.fromMap(settings, "pod " + name()))
            .withFallback(withAddress(defaults, host));
    return atIndex(atIndex(described, "events.endpoint", endpoint.index()), "events.replay", endpoint.index());
  }

  /** Engines that serve at several ports publish at as many, one after another. */
  private static Config atIndex(Config described, String setting, int index) {
    Matcher port = ADDRESS.matcher(index > 0 && described.hasPath(setting) ? described.getString(setting) : "");
    return port.matches()
        ? described.withValue(
            setting,
            ConfigValueFactory.fromAnyRef(port.group("host") + (Integer.parseInt(port.group("port")) + index)))
        : described;
  }

  private static Config withAddress(Config defaults, String host) {
    String written = defaults.root().render(ConfigRenderOptions.concise());
    return written.contains("{ip}")
        ? ConfigFactory.parseString(
            written.replace("{ip}", host),
            ConfigParseOptions.defaults().setOriginDescription("pods-from.kubernetes.pod"))
        : defaults;
  }

  private Map<String, Object> labels(List<String> names) {
    Map<String, Object> labels = new LinkedHashMap<>();
    for (String name : names) {
      JsonNode value = pod.path("metadata").path("labels").path(name);
      if (value.isTextual()) {
        labels.put(name, value.textValue());
      }
    }
    return labels;
  }

  private Optional<String> ownPort() {
    return setting("port").or(() -> port("http")).or(this::onlyPort);
  }

  private Optional<String> setting(String setting) {
    return annotated(PREFIX + setting);
  }

  /** The first of these names that the pod has as an annotation or a label. */
  private Optional<String> annotated(String... names) {
    for (String name : names) {
      for (String field : List.of("annotations", "labels")) {
        JsonNode value = pod.path("metadata").path(field).path(name);
        if (value.isTextual()) {
          return Optional.of(value.textValue().strip());
        }
      }
    }
    return Optional.empty();
  }

  /** The role by llm-d's label, whose combined roles are those that can do all of a request. */
  private Optional<String> llmdRole() {
    String label = pod.path("metadata").path("labels").path("llm-d.ai/role").asText("");
    return switch (label) {
      case "encode", "prefill", "decode" -> Optional.of(label);
      case "encode-prefill" -> Optional.of("prefill");
      case "encode-decode" -> Optional.of("decode");
      case "prefill-decode", "encode-prefill-decode", "both" -> Optional.of("both");
      default -> Optional.empty();
    };
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
