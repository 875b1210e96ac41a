package io.kvasir.app.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * What the chart makes of a file of values.
 *
 * @param name the file's, without its ending
 * @param values the file's own
 * @param manifests by kind and name
 * @param file what Helm wrote
 */
record RenderedChart(String name, JsonNode values, Map<String, JsonNode> manifests, Path file) {
  static final Path CHART = Path.of("cluster-configs/helm/kvasir");
  static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
  static final Path CASES = Path.of("src/test/resources/io/kvasir/app/config/chart");
  /** The least that the chart is for. */
  private static final String KUBERNETES = "1.30.0";

  /** What a run of Helm made of several files of values, by their names. */
  record Run(Map<String, RenderedChart> rendered, Map<String, String> refused, String lint) {}

  /** The chart with our values, and those of its examples; rendered once for all tests of this JVM. */
  static Run all() {
    return Everything.RUN;
  }

  private static final class Everything {
    static final Run RUN = render();

    private static Run render() {
      try {
        return allOf(Files.createTempDirectory("chart"));
      } catch (Exception broken) {
        throw new IllegalStateException(broken);
      }
    }
  }

  private static Run allOf(Path directory) throws Exception {
    for (Path from : List.of(CASES, CASES.resolve("refused"), CHART.resolve("examples"))) {
      try (Stream<Path> files = Files.list(from)) {
        for (Path file : files.filter(each -> each.toString().endsWith(".yaml")).toList()) {
          Files.copy(file, directory.resolve(file.getFileName()));
        }
      }
    }
    return render(directory);
  }

  /** Renders the chart with each file of values of a directory, where there are no Secrets yet. */
  static Run render(Path directory) throws Exception {
    return render(directory, Map.of());
  }

  /** Renders the chart with each file of values of a directory, where there are these Secrets already. */
  static Run render(Path directory, Map<String, JsonNode> secrets) throws Exception {
    return render(CHART, directory, secrets);
  }

  /** The same of another chart, such as a later version. */
  static Run render(Path chart, Path directory, Map<String, JsonNode> secrets) throws Exception {
    try (KnownSecrets api = new KnownSecrets(secrets)) {
      return render(chart, directory, api.kubeconfig(directory));
    }
  }

  private static Run render(Path chart, Path directory, Path kubeconfig) throws Exception {
    Path said = directory.resolve("output");
    ProcessBuilder program =
        new ProcessBuilder(
                ProcessHandle.current().info().command().orElse("java"), "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Djava.io.tmpdir=" + directory, "-cp",
                System.getProperty("java.class.path"), HelmTemplates.class.getName(), chart.toString(),
                directory.toString(), KUBERNETES)
            .redirectErrorStream(true)
            .redirectOutput(said.toFile());
    program.environment().put("KUBECONFIG", kubeconfig.toString());
    if (program.start().waitFor() != 0) {
      throw new IllegalStateException("Helm's library: " + Files.readString(said));
    }
    Map<String, RenderedChart> rendered = new TreeMap<>();
    Map<String, String> refused = new TreeMap<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.filter(each -> each.toString().endsWith(".yaml")).toList()) {
        String name = file.getFileName().toString().replace(".yaml", "");
        Path output = directory.resolve(name + ".rendered");
        if (Files.exists(output)) {
          rendered.put(name, new RenderedChart(name, YAML.readTree(file.toFile()), read(output), output));
        } else {
          refused.put(name, Files.readString(directory.resolve(name + ".refused")));
        }
      }
    }
    return new Run(rendered, refused, Files.readString(directory.resolve("lint")));
  }

  /** The manifests of a file, by kind and name; those of other namespaces than the release's by that, too. */
  static Map<String, JsonNode> read(Path file) throws IOException {
    Map<String, JsonNode> manifests = new LinkedHashMap<>();
    try (var documents = YAML.readerFor(JsonNode.class).<JsonNode>readValues(Files.readString(file))) {
      for (JsonNode each : documents.readAll()) {
        if (each.isObject()) {
          String namespace = each.at("/metadata/namespace").asText();
          String key =
              each.path("kind").asText() + " " + each.at("/metadata/name").asText()
                  + (namespace.equals("llm") ? "" : " in " + namespace);
          if (manifests.put(key, each) != null) {
            throw new IllegalStateException("two manifests are " + key);
          }
        }
      }
    }
    return manifests;
  }

  JsonNode manifest(String key) {
    return Optional.ofNullable(manifests.get(key)).orElseThrow(() -> new AssertionError("no " + key + " in " + name));
  }

  List<JsonNode> ofKind(String kind) {
    return manifests.values().stream().filter(each -> each.path("kind").asText().equals(kind)).toList();
  }

  /** The Deployment or StatefulSet. */
  JsonNode nodes() {
    return Stream.concat(ofKind("Deployment").stream(), ofKind("StatefulSet").stream()).findFirst().orElseThrow();
  }

  JsonNode pod() {
    return nodes().at("/spec/template/spec");
  }

  JsonNode container() {
    return pod().at("/containers/0");
  }

  /** The value of one of the container's variables. */
  String variable(String variable) {
    for (JsonNode each : container().path("env")) {
      if (each.path("name").asText().equals(variable)) {
        return each.path("value").asText();
      }
    }
    throw new AssertionError("no variable " + variable);
  }

  /** The names of the container's ports, with their numbers. */
  Map<String, Integer> ports() {
    Map<String, Integer> ports = new LinkedHashMap<>();
    for (JsonNode port : container().path("ports")) {
      ports.put(port.path("name").asText(), port.path("containerPort").asInt());
    }
    return ports;
  }

  String configuration() {
    return manifest("ConfigMap " + nodes().at("/metadata/name").asText()).path("data").path("kvasir.conf").asText();
  }

  /** A value of a Secret that the chart makes. */
  static String secret(JsonNode secret, String key) {
    return new String(Base64.getDecoder().decode(secret.path("data").path(key).asText()), UTF_8);
  }

  @Override
  public String toString() {
    return name;
  }

  static List<String> texts(JsonNode list) {
    List<String> texts = new ArrayList<>();
    list.forEach(each -> texts.add(each.asText()));
    return texts;
  }
}
