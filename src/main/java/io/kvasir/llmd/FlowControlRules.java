package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;

/**
 * The rules by which flow control is translated. Requests wait in the router as they do in llm-d's, in classes instead
 * of bands: priorities above 0 are {@code interactive}, 0 is {@code default}, and below 0 is {@code bulk}.
 */
final class FlowControlRules {
  static final String GATE = "flowControl";

  private static final String OFF = "the feature gate flowControl is off, so llm-d does not use it either";
  private static final String TTL = "defaultRequestTTL";
  private static final String NO_ENDPOINT_TTL = "noEndpointRequestTTL";
  private static final String MAX_REQUESTS = "maxRequests";
  private static final String MAX_BYTES = "maxBytes";
  private static final String BAND = "defaultPriorityBand";
  private static final String NEGATIVE_BAND = "defaultNegativePriorityBand";
  private static final String BANDS = "priorityBands";
  private static final String USAGE_LIMIT = "usageLimitPolicyPluginRef";
  private static final String EVICTION = "enableEviction";
  private static final List<String> SETTINGS =
      List.of(MAX_BYTES, MAX_REQUESTS, TTL, NO_ENDPOINT_TTL, BAND, NEGATIVE_BAND, BANDS, USAGE_LIMIT, EVICTION);

  private final EndpointPickerConfig config;
  private final TranslatedParts findings;

  FlowControlRules(EndpointPickerConfig config, TranslatedParts findings) {
    this.config = config;
    this.findings = findings;
  }

  void apply(SequencedMap<String, Object> settings) {
    YamlSection flowControl = config.flowControl();
    boolean on = config.gates().contains(GATE);
    if (on) {
      settings.put("admission.enabled", true);
      findings.add(
          Verdict.SIMILAR, "featureGates: flowControl", 0,
          "admission: requests wait until a worker can begin them soon, in classes by their priorities, fair among"
              + " tenants");
      WaitingClasses classes = new WaitingClasses(settings);
      times(flowControl, classes, settings);
      amounts(flowControl, classes);
      limits(flowControl);
    } else {
      SETTINGS.stream()
          .filter(flowControl::has)
          .forEach(setting -> found(Verdict.NEEDLESS, flowControl, setting, OFF));
    }
    detector(flowControl, on, settings);
    flowControl.rejectUnread();
  }

  private void found(Verdict verdict, YamlSection flowControl, String setting, String sentence) {
    findings.add(verdict, "flowControl." + setting, flowControl.line(setting), sentence);
  }

  private void times(YamlSection flowControl, WaitingClasses classes, SequencedMap<String, Object> settings) {
    if (flowControl.has(TTL)) {
      long millis = flowControl.value(TTL, GoNotation.DURATION);
      if (millis > 0) {
        classes.longestWait(millis);
      }
      found(
          Verdict.SIMILAR, flowControl, TTL,
          millis > 0
              ? "longest-wait of the classes in admission.classes; who would wait longer is refused at once"
              : "who waits for longer than longest-wait of its class is refused all the same");
    }
    if (flowControl.has(NO_ENDPOINT_TTL)) {
      long millis = flowControl.value(NO_ENDPOINT_TTL, GoNotation.DURATION);
      settings.put("admission.wait-for-workers", WaitingClasses.duration(millis));
      found(Verdict.SIMILAR, flowControl, NO_ENDPOINT_TTL, "admission.wait-for-workers");
    }
  }

  private void amounts(YamlSection flowControl, WaitingClasses classes) {
    Bounds all = Bounds.of(flowControl);
    WaitingClasses.ALL.forEach(name -> all.set(classes, name));
    for (String setting : List.of(MAX_REQUESTS, MAX_BYTES)) {
      if (flowControl.has(setting)) {
        found(
            Verdict.SIMILAR, flowControl, setting,
            (setting.equals(MAX_BYTES) ? "max-bytes" : "max-waiting")
                + " of each class in admission.classes by itself, instead of all together");
      }
    }
    if (flowControl.has(BAND)) {
      Bounds standard = Bounds.of(flowControl.section(BAND));
      standard.set(classes, WaitingClasses.of(1));
      standard.set(classes, WaitingClasses.of(0));
      band(flowControl, BAND);
    }
    if (flowControl.has(NEGATIVE_BAND)) {
      Bounds.of(flowControl.section(NEGATIVE_BAND)).set(classes, WaitingClasses.of(-1));
      band(flowControl, NEGATIVE_BAND);
    }
    Map<String, Bounds> ofClasses = new HashMap<>();
    for (YamlSection band : flowControl.sections(BANDS)) {
      int priority = band.whole("priority", 0, Integer.MIN_VALUE, Integer.MAX_VALUE);
      ofClasses.merge(WaitingClasses.of(priority), Bounds.of(band), Bounds::and);
    }
    ofClasses.forEach((name, bounds) -> bounds.set(classes, name));
    if (flowControl.has(BANDS)) {
      band(flowControl, BANDS);
    }
  }

  private void band(YamlSection flowControl, String setting) {
    found(
        Verdict.SIMILAR, flowControl, setting,
        "admission.classes: priorities above 0 are the class interactive, 0 is default, below 0 is bulk; the bands of a"
            + " class are one");
  }

  /** The bounds of a band, 0 where it has none. */
  private record Bounds(long requests, long bytes) {
    static Bounds of(YamlSection band) {
      return new Bounds(band.value(MAX_REQUESTS, GoNotation.QUANTITY), band.value(MAX_BYTES, GoNotation.QUANTITY));
    }

    /** Those of two bands together: without a bound where one has none. */
    Bounds and(Bounds other) {
      return new Bounds(
          requests == 0 || other.requests == 0 ? 0 : requests + other.requests,
          bytes == 0 || other.bytes == 0 ? 0 : bytes + other.bytes);
    }

    void set(WaitingClasses classes, String name) {
      if (requests > 0) {
        classes.mostWaiting(name, requests);
      }
      if (bytes > 0) {
        classes.mostBytes(name, bytes);
      }
    }
  }

  private void limits(YamlSection flowControl) {
    if (flowControl.has(USAGE_LIMIT)) {
      found(
          Verdict.SIMILAR, flowControl, USAGE_LIMIT,
          "engine-queue in admission.classes: the less urgent a class, the less may be queued at a worker when its"
              + " requests go");
    }
    if (flowControl.has(EVICTION)) {
      found(Verdict.MISSING, flowControl, EVICTION, "requests under way are never taken back");
    }
  }

  private void detector(YamlSection flowControl, boolean on, SequencedMap<String, Object> settings) {
    YamlSection detector = flowControl.section("saturationDetector");
    PluginEntry plugin = EndpointPickerConfig.checkReference(detector, "pluginRef", config.plugins());
    if (plugin != null && plugin.type() == LlmdPlugin.CONCURRENCY_DETECTOR && on) {
      String mode = plugin.parameters().text("concurrencyMode", "requests");
      settings.put("pod-defaults.max-in-flight", Concurrency.of(plugin));
      if (!mode.equals("requests")) {
        findings.parameter(
            Verdict.MISSING, plugin, "concurrencyMode", "workers are full by requests, not by tokens");
        plugin.parameters().has("maxTokenConcurrency");
      }
    }
    detector.rejectUnread();
  }
}
