package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.Objective;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A reader of specifications. It holds them against the published schemas again, because a server may have been made to
 * skip that, and against what the schemas cannot say. Unknown fields are ignored. Used once.
 */
final class SpecReader {
  private static final int MOST_LABELS = 64;
  private static final int MOST_PORTS = 8;
  private static final int MOST_WEIGHT = 1_000_000;

  private final ObjectKey key;
  private final JsonNode spec;
  private final List<String> faults = new ArrayList<>();

  private SpecReader(JsonNode object) {
    this.key = ObjectKey.of(object);
    this.spec = object.path("spec");
  }

  /** An InferencePool. */
  static Reading<InferencePool> pool(JsonNode object) {
    SpecReader reader = new SpecReader(object);
    InferencePool pool =
        new InferencePool(reader.key, reader.matchLabels(), reader.targetPorts(), reader.picker());
    return reader.reading(pool);
  }

  /** An InferenceObjective. */
  static Reading<Objective> objective(JsonNode object) {
    SpecReader reader = new SpecReader(object);
    JsonNode priority = reader.spec.path("priority");
    if (!isAbsent(priority) && !priority.canConvertToInt()) {
      reader.fault("priority", "has to be a whole number");
    }
    return reader.reading(new Objective(reader.poolId(), reader.key.name(), priority.asInt(0)));
  }

  /** An InferenceModelRewrite. */
  static Reading<ModelRewrite> rewrite(JsonNode object) {
    SpecReader reader = new SpecReader(object);
    return reader.reading(new ModelRewrite(reader.key.name(), reader.poolId(), reader.rules()));
  }

  private <T> Reading<T> reading(T value) {
    return new Reading<>(faults.isEmpty() ? value : null, faults);
  }

  private void fault(String field, String what) {
    faults.add("spec." + field + " " + what);
  }

  private static boolean isAbsent(JsonNode node) {
    return node.isMissingNode() || node.isNull();
  }

  private Map<String, String> matchLabels() {
    Map<String, String> labels = new TreeMap<>();
    for (Map.Entry<String, JsonNode> label : spec.at("/selector/matchLabels").properties()) {
      if (label.getValue().isTextual()) {
        labels.put(label.getKey(), label.getValue().textValue());
      } else {
        fault("selector.matchLabels." + label.getKey(), "has to be a text");
      }
    }
    if (labels.isEmpty() || labels.size() > MOST_LABELS) {
      fault("selector.matchLabels", "needs 1 to 64 labels, not " + labels.size());
    }
    return labels;
  }

  private List<Integer> targetPorts() {
    Set<Integer> ports = new LinkedHashSet<>();
    for (JsonNode port : spec.path("targetPorts")) {
      int number = port.path("number").asInt();
      if (number < 1 || number > 65_535) {
        fault("targetPorts", "has " + port.path("number") + " where a port from 1 to 65535 is needed");
      } else if (!ports.add(number)) {
        fault("targetPorts", "has " + number + " twice");
      }
    }
    if (ports.isEmpty() || ports.size() > MOST_PORTS) {
      fault("targetPorts", "needs 1 to 8 ports, not " + ports.size());
    }
    return List.copyOf(ports);
  }

  private InferencePool.@Nullable PickerReference picker() {
    JsonNode reference = spec.path("endpointPickerRef");
    if (isAbsent(reference)) {
      return null;
    }
    String name = reference.path("name").asText("");
    if (name.isEmpty()) {
      fault("endpointPickerRef.name", "is missing");
    }
    return new InferencePool.PickerReference(reference.path("kind").asText("Service"), name);
  }

  /** The id of the pool that the object belongs to, which is in its own namespace. */
  private String poolId() {
    String name = spec.at("/poolRef/name").asText("");
    if (name.isEmpty()) {
      fault("poolRef.name", "is missing: which InferencePool is it for?");
    }
    return new ObjectKey(key.namespace(), name).toString();
  }

  private List<ModelRewrite.Rule> rules() {
    List<ModelRewrite.Rule> rules = new ArrayList<>();
    JsonNode listed = spec.path("rules");
    if (!listed.isArray()) {
      fault("rules", "is missing");
    }
    for (int i = 0; i < listed.size(); i++) {
      String field = "rules[" + i + "]";
      Set<String> models = models(field, listed.get(i).path("matches"));
      List<ModelRewrite.Target> targets = targets(field + ".targets", listed.get(i).path("targets"));
      if (!targets.isEmpty()) {
        rules.add(new ModelRewrite.Rule(models, targets));
      }
    }
    return rules;
  }

  private Set<String> models(String rule, JsonNode matches) {
    Set<String> models = new LinkedHashSet<>();
    for (int i = 0; i < matches.size(); i++) {
      String field = rule + ".matches[" + i + "].model";
      JsonNode model = matches.get(i).path("model");
      String type = model.path("type").asText("Exact");
      String value = model.path("value").asText("");
      if (!type.equals("Exact")) {
        fault(field + ".type", "is " + type + "; only Exact is known");
      } else if (value.isEmpty()) {
        fault(field + ".value", "is missing");
      } else {
        models.add(value);
      }
    }
    return models;
  }

  private List<ModelRewrite.Target> targets(String field, JsonNode listed) {
    List<ModelRewrite.Target> targets = new ArrayList<>();
    int weighted = 0;
    for (JsonNode target : listed) {
      String model = target.path("modelRewrite").asText("");
      JsonNode weight = target.path("weight");
      weighted += isAbsent(weight) ? 0 : 1;
      int share = weight.asInt(isAbsent(weight) ? 1 : 0);
      if (model.isEmpty()) {
        fault(field, "has one without modelRewrite");
      } else if (share < 1 || share > MOST_WEIGHT) {
        fault(field, "has the weight " + weight + "; it has to be from 1 to 1000000");
      } else {
        targets.add(new ModelRewrite.Target(model, share));
      }
    }
    if (listed.isEmpty()) {
      fault(field, "is empty: which model do these requests get?");
    } else if (weighted != 0 && weighted != listed.size()) {
      fault(field, "has weights on some only: give all of them one, or none");
    }
    return targets;
  }
}
