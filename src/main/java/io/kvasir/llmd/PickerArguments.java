package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/**
 * What arguments of llm-d's picker are in Kvasir. Immutable.
 *
 * @param settings settings by their paths below {@code kvasir}: texts, numbers, switches, lists and maps
 * @param configFile the EndpointPickerConfig to translate, null for none
 * @param configText an EndpointPickerConfig itself, null for none
 * @param findings what became of each argument
 */
public record PickerArguments(
    SequencedMap<String, Object> settings,
    @Nullable String configFile,
    @Nullable String configText,
    List<TranslatedPart> findings) {
  /** The headers by which gateways tell flows apart, which are tenants here. */
  private static final List<String> FAIRNESS_HEADERS =
      List.of("x-llm-d-inference-fairness-id", "x-gateway-inference-fairness-id");

  /** Copies the collections. */
  public PickerArguments {
    settings = new LinkedHashMap<>(settings);
    findings = List.copyOf(findings);
  }

  /**
   * Translates arguments.
   *
   * @param given the arguments with their values, switches with true or false
   * @param namespace the namespace where the picker runs, for arguments that name none
   * @throws UntranslatableException with every reason
   */
  public static PickerArguments translate(Map<PickerArgument, String> given, String namespace)
      throws UntranslatableException {
    Reading reading = new Reading(given);
    reading.settings.put("picker.enabled", true);
    reading.settings.put("routing.tenant-headers", FAIRNESS_HEADERS);
    reading.pods(namespace);
    reading.listeners();
    reading.operations();
    String file = given.get(PickerArgument.CONFIG_FILE);
    String text = given.get(PickerArgument.CONFIG_TEXT);
    if (file != null && text != null) {
      reading.fault(PickerArgument.CONFIG_FILE, "and --config-text are given; keep one");
    }
    if (!reading.faults.isEmpty()) {
      throw new UntranslatableException(reading.faults);
    }
    given.forEach((argument, value) -> reading.findings.add(finding(argument, value)));
    return new PickerArguments(reading.settings, file, text, reading.findings);
  }

  private static TranslatedPart finding(PickerArgument argument, String value) {
    boolean off = argument.isSwitch() && value.equalsIgnoreCase("false");
    return off && argument.verdict() == Verdict.MISSING
        ? new TranslatedPart(Verdict.SAME, argument.flag(), 0, "it is off here, too")
        : new TranslatedPart(argument.verdict(), argument.flag(), 0, argument.sentence());
  }

  /** The arguments while they are read. */
  private static final class Reading {
    private final Map<PickerArgument, String> given;
    private final SequencedMap<String, Object> settings = new LinkedHashMap<>();
    private final List<TranslatedPart> findings = new ArrayList<>();
    private final List<Fault> faults = new ArrayList<>();

    Reading(Map<PickerArgument, String> given) {
      this.given = given;
    }

    void pods(String ownNamespace) {
      String pool = given.get(PickerArgument.POOL_NAME);
      String selector = given.get(PickerArgument.ENDPOINT_SELECTOR);
      String namespace = given.getOrDefault(PickerArgument.POOL_NAMESPACE, ownNamespace);
      if (pool != null && selector != null) {
        fault(PickerArgument.POOL_NAME, "and --endpoint-selector are given; keep one");
      } else if (pool == null && selector == null) {
        fault(PickerArgument.POOL_NAME, "or --endpoint-selector is needed: which pods are engines?");
      }
      if (!namespace.isEmpty()) {
        settings.put("pods-from.kubernetes.namespace", namespace);
      }
      if (pool != null) {
        settings.put("pods-from.kubernetes.pools.namespaces", List.of(namespace.isEmpty() ? "default" : namespace));
      }
      if (selector != null) {
        settings.put("pods-from.kubernetes.selector", selector);
        targetPorts();
      }
    }

    private void targetPorts() {
      List<Integer> ports = new ArrayList<>();
      for (String port : given.getOrDefault(PickerArgument.ENDPOINT_TARGET_PORTS, "").split(",", -1)) {
        if (!port.isBlank()) {
          ports.add(number(PickerArgument.ENDPOINT_TARGET_PORTS, port.strip(), 1, 65_535));
        }
      }
      if (ports.isEmpty()) {
        fault(PickerArgument.ENDPOINT_TARGET_PORTS, "is needed with --endpoint-selector: the ports of the engines");
        return;
      }
      settings.put("pods-from.kubernetes.pod.url", "http://{ip}:" + ports.getFirst());
      if (ports.size() > 1) {
        findings.add(
            new TranslatedPart(
                Verdict.MISSING, PickerArgument.ENDPOINT_TARGET_PORTS.flag(), 0,
                "only the first port is used with a selector; an InferencePool's targetPorts are a worker each, and a"
                    + " pod that serves its ranks on one port says so by kvasir.io/ranks"));
      }
    }

    void listeners() {
      port(PickerArgument.GRPC_PORT, "picker.port");
      port(PickerArgument.GRPC_HEALTH_PORT, "picker.health-port");
      // Prometheus is not on the same machine.
      settings.put("management.host", "0.0.0.0");
      settings.put("management.port", 9090);
      settings.put("management.llm-d-metrics", true);
      port(PickerArgument.METRICS_PORT, "management.port");
      flag(PickerArgument.SECURE_SERVING, "picker.tls.enabled");
      certificate(PickerArgument.CERT_PATH, "picker.tls");
      certificate(PickerArgument.METRICS_CERT_DIR, "management.tls");
      text(PickerArgument.METRICS_CLIENT_CA_FILE, "management.tls.client-authority");
      String group = given.getOrDefault(PickerArgument.POOL_GROUP, "inference.networking.k8s.io");
      if (!group.equals("inference.networking.k8s.io")) {
        fault(PickerArgument.POOL_GROUP, "is " + group + "; InferencePools are of inference.networking.k8s.io");
      }
    }

    void operations() {
      String drain = given.get(PickerArgument.DRAIN_TIMEOUT);
      if (drain != null) {
        settings.put("gateway.drain-timeout", millis(PickerArgument.DRAIN_TIMEOUT, drain) + " ms");
      }
      String encoder = given.get(PickerArgument.ZAP_ENCODER);
      if (encoder != null) {
        settings.put("log.format", encoder.equals("json") ? "json" : "text");
      }
      String verbosity = given.get(PickerArgument.V);
      if (verbosity != null) {
        int level = number(PickerArgument.V, verbosity, 0, 100);
        settings.put("log.level", level <= 3 ? "info" : level == 4 ? "debug" : "trace");
      }
      String named = given.get(PickerArgument.ZAP_LOG_LEVEL);
      if (named != null) {
        settings.put("log.level", switch (named.toLowerCase(Locale.ROOT)) {
          case "error", "panic" -> "error";
          case "warn" -> "warn";
          case "info" -> "info";
          default -> "debug";
        });
      }
    }

    private void port(PickerArgument argument, String setting) {
      String value = given.get(argument);
      if (value != null) {
        settings.put(setting, number(argument, value, 0, 65_535));
      }
    }

    private void flag(PickerArgument argument, String setting) {
      String value = given.get(argument);
      if (value == null) {
        return;
      }
      switch (value.toLowerCase(Locale.ROOT)) {
        case "true", "t", "1" -> settings.put(setting, true);
        case "false", "f", "0" -> settings.put(setting, false);
        default -> fault(argument, "is " + value + "; it has to be true or false");
      }
    }

    private void text(PickerArgument argument, String setting) {
      String value = given.get(argument);
      if (value != null) {
        settings.put(setting, value);
      }
    }

    private void certificate(PickerArgument argument, String setting) {
      String directory = given.get(argument);
      if (directory != null) {
        String in = directory.endsWith("/") ? directory : directory + "/";
        settings.put(setting + ".certificate", in + "tls.crt");
        settings.put(setting + ".key", in + "tls.key");
      }
    }

    private int number(PickerArgument argument, String value, int min, int max) {
      try {
        int number = Integer.parseInt(value);
        if (number >= min && number <= max) {
          return number;
        }
      } catch (NumberFormatException notANumber) {
        // Told below.
      }
      fault(argument, "is " + value + "; it has to be a number from " + min + " to " + max);
      return min;
    }

    private long millis(PickerArgument argument, String value) {
      OptionalLong millis = GoNotation.DURATION.read(value);
      if (millis.isEmpty()) {
        fault(argument, GoNotation.DURATION.problem(value));
      }
      return Math.max(1, millis.orElse(1));
    }

    private void fault(PickerArgument argument, String problem) {
      faults.add(new Fault(0, argument.flag(), problem));
    }
  }
}
