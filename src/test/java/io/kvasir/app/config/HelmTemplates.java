package io.kvasir.app.config;

import com.marcnuri.helm.Helm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Renders a chart with each file of values of a directory, by Helm's own code, which helm-java has as a native library.
 * A program: Go's runtime then has a process to itself, and not that of all tests.
 */
final class HelmTemplates {
  private HelmTemplates() {}

  /**
   * Writes NAME.rendered or NAME.refused beside each NAME.yaml, and {@code lint}.
   *
   * @param arguments the chart, the directory, the version of Kubernetes
   */
  public static void main(String[] arguments) throws IOException {
    Path chart = Path.of(arguments[0]);
    Path directory = Path.of(arguments[1]);
    for (Path values : files(directory)) {
      String name = values.getFileName().toString().replace(".yaml", "");
      try {
        String rendered =
            new Helm(chart)
                .template()
                .withName("kvasir")
                .withNamespace("llm")
                .withKubeVersion(arguments[2])
                .withValuesFile(values)
                .call();
        Files.writeString(directory.resolve(name + ".rendered"), rendered);
      } catch (IllegalStateException refused) {
        Files.writeString(directory.resolve(name + ".refused"), String.valueOf(refused.getMessage()));
      }
    }
    List<String> said = new Helm(chart).lint().strict().call().getMessages();
    Files.writeString(directory.resolve("lint"), String.join("\n", said));
  }

  private static List<Path> files(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return all.filter(file -> file.toString().endsWith(".yaml")).sorted().toList();
    }
  }
}
