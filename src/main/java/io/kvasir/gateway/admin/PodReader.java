package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.PodSpec;
import io.kvasir.events.EventFeed;
import io.kvasir.routing.Retention;
import io.kvasir.routing.Role;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads a pod's description, gathering every fault on the way. One description, one reader; when
 * {@link #faults} is not empty, what {@link #pod} gave is of no use.
 */
final class PodReader {
  /** Names go into headers, metrics and paths. */
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:-]{0,126}");
  private static final int MAX_IN_FLIGHT = 1_000_000;
  private static final int MAX_BLOCK = 1 << 20;
  private static final int MAX_PORT = 65_535;
  private static final String GRPC_PORT = "grpc_port";

  private final PodDefaults defaults;
  private final List<ObjectNode> faults = new ArrayList<>();

  PodReader(PodDefaults defaults) {
    this.defaults = defaults;
  }

  /** What was wrong so far. */
  List<ObjectNode> faults() {
    return faults;
  }

  /** The pod that a JSON object describes. */
  PodSpec pod(JsonNode body) {
    known(body, "", "name", "url", "role", "models", "ranks", "block_size", "labels", "max_in_flight", "engine",
        "capacity_blocks", "retention", "events", "kv_transfer", GRPC_PORT);
    grpcPort(body);
    Set<String> models = models(body.get("models"));
    int ranks = count(body, "ranks", defaults.engine().ranks(), defaults.engine().maxRanks());
    URI url = url(body.get("url"));
    Role role = choice(body, "role", defaults.role(), Role.class);
    String name = name(body.get("name"));
    String model = models.stream().findFirst().orElse("");
    int blockSize = count(body, "block_size", defaults.engine().blockSize().applyAsInt(model), MAX_BLOCK);
    return new PodSpec(
        name,
        url,
        role,
        models,
        labels(body.get("labels")),
        engine(body, ranks, blockSize),
        events(body.get("events"), ranks),
        defaults.kvTransfer().read(body.get("kv_transfer"), role, url, this::fault));
  }

  /** Where an engine tells over gRPC what it does not tell over HTTP; null when the body does not say. */
  @Nullable Integer grpcPort(JsonNode body) {
    return body.has(GRPC_PORT) ? Integer.valueOf(count(body, GRPC_PORT, 0, MAX_PORT)) : null;
  }

  private PodSpec.Engine engine(JsonNode body, int ranks, int blockSize) {
    int maxInFlight = count(body, "max_in_flight", defaults.maxInFlight(), MAX_IN_FLIGHT);
    String name = body.has("engine") ? text(body.get("engine"), "engine") : defaults.engine().name();
    int capacityBlocks = count(body, "capacity_blocks", defaults.engine().capacityBlocks(), PodDefaults.MOST_CAPACITY);
    Retention retention = choice(body, "retention", defaults.engine().retention(), Retention.class);
    return new PodSpec.Engine(name, ranks, blockSize, maxInFlight, capacityBlocks, retention);
  }

  private String name(@Nullable JsonNode value) {
    String name = text(value, "name");
    if (!name.isEmpty() && !NAME.matcher(name).matches()) {
      fault("name", "has to be 1 to 127 letters, digits, '.', '_', ':' or '-', and begin with a letter or digit");
    }
    return name;
  }

  /** The base URL of an engine. */
  URI url(@Nullable JsonNode value) {
    URI nowhere = URI.create("http://localhost");
    String text = text(value, "url");
    if (text.isEmpty()) {
      return nowhere;
    }
    try {
      URI url = new URI(text);
      boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
      String path = url.getRawPath();
      if (http && url.getHost() != null && (path == null || path.isEmpty() || path.equals("/"))
          && url.getRawQuery() == null && url.getRawFragment() == null && url.getRawUserInfo() == null) {
        return new URI(url.getScheme(), null, url.getHost(), url.getPort(), null, null, null);
      }
    } catch (URISyntaxException e) {
      // Reported below, with what would be right.
    }
    fault("url", "has to be like http://10.0.0.7:8000, http or https, without a path");
    return nowhere;
  }

  private <E extends Enum<E>> E choice(JsonNode body, String field, E otherwise, Class<E> type) {
    JsonNode value = body.get(field);
    if (value == null) {
      return otherwise;
    }
    for (E constant : type.getEnumConstants()) {
      if (value.isTextual() && constant.name().equalsIgnoreCase(value.textValue())) {
        return constant;
      }
    }
    fault(field, "has to be one of " + Arrays.stream(type.getEnumConstants())
        .map(constant -> constant.name().toLowerCase(Locale.ROOT))
        .collect(Collectors.joining(", ")));
    return otherwise;
  }

  private Set<String> models(@Nullable JsonNode value) {
    Set<String> models = new LinkedHashSet<>();
    if (value == null || !value.isArray() || value.isEmpty()) {
      fault("models", "has to be a list with the model's name as requests call it, its LoRA adapters after it");
      return models;
    }
    for (int i = 0; i < value.size(); i++) {
      String model = text(value.get(i), "models[" + i + "]");
      if (!model.isEmpty() && !models.add(model)) {
        fault("models[" + i + "]", "names '" + model + "' twice");
      }
    }
    return models;
  }

  private int count(JsonNode body, String field, int otherwise, int most) {
    JsonNode value = body.get(field);
    if (value == null) {
      return otherwise;
    }
    if (value.isInt() && value.intValue() >= 1 && value.intValue() <= most) {
      return value.intValue();
    }
    fault(field, "has to be a whole number from 1 to " + most);
    return otherwise;
  }

  private Map<String, String> labels(@Nullable JsonNode value) {
    if (value == null) {
      return defaults.labels();
    }
    Map<String, String> labels = new LinkedHashMap<>(defaults.labels());
    if (!value.isObject()) {
      fault("labels", "has to be an object of texts");
      return labels;
    }
    value.properties().forEach(
        label -> labels.put(label.getKey(), text(label.getValue(), "labels." + label.getKey())));
    return labels;
  }

  private List<EventFeed> events(@Nullable JsonNode value, int ranks) {
    return value == null || value.isNull() ? List.of() : defaults.events().read(value, ranks, this::fault);
  }

  private String text(@Nullable JsonNode value, String field) {
    if (value == null) {
      fault(field, "is missing");
      return "";
    }
    if (!value.isTextual() || value.textValue().isBlank()) {
      fault(field, "has to be a text that is not blank");
      return "";
    }
    return value.textValue();
  }

  private void known(JsonNode body, String prefix, String... fields) {
    Set<String> names = Set.of(fields);
    body.properties().forEach(member -> {
      if (!names.contains(member.getKey())) {
        fault(prefix + member.getKey(), "is not a field of a pod; there are " + String.join(", ", fields));
      }
    });
  }

  private void fault(String field, String message) {
    faults.add(AdminException.fault(field, message));
  }
}
