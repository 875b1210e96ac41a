package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.GoldenPrompts;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.VllmVersion;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * {@code load-tests/prompts}: prompts that engines' own code made of requests at random, beside those that the router
 * expects them to read. Ends with 1 when one differs.
 */
@Command(name = "load-tests/prompts", mixinStandardHelpOptions = true, sortOptions = false)
final class Preparation implements Callable<Integer> {
  @Parameters(
      paramLabel = "FILE", arity = "1..*",
      description = "What vllm_prompts.py or sglang_prompts.py of load-tests/preparation wrote.")
  private List<Path> files;

  @Option(names = "--examples", defaultValue = "2", description = "How many that differ are shown of each file.")
  private int examples;

  public static void main(String[] args) {
    System.exit(new CommandLine(new Preparation()).execute(args));
  }

  @Override
  public Integer call() throws IOException {
    System.out.printf(
        "%-14s %-10s %9s %8s %6s %9s %9s%n", "engine", "API", "requests", "prompts", "equal", "different", "exact %");
    boolean differ = false;
    for (Path file : files) {
      List<GoldenPrompts.Pair> pairs;
      try (BufferedReader lines = Files.newBufferedReader(file)) {
        pairs = GoldenPrompts.of(lines, Preparation::engine);
      }
      print(pairs);
      List<GoldenPrompts.Pair> different = pairs.stream().filter(GoldenPrompts.Pair::differs).toList();
      different.stream().limit(examples).forEach(Preparation::explain);
      differ |= !different.isEmpty();
    }
    return differ ? 1 : 0;
  }

  private static EngineVersion engine(JsonNode request) {
    String version = request.path("version").asText();
    return request.path("engine").asText().equals("SGLang")
        ? SglangVersion.of(version, request.path("parser").textValue()) : VllmVersion.of(version);
  }

  private static String name(JsonNode request) {
    return request.path("engine").asText() + " " + request.path("version").asText();
  }

  private static void print(List<GoldenPrompts.Pair> pairs) {
    Map<String, List<GoldenPrompts.Pair>> byApi = pairs.stream()
        .collect(Collectors.groupingBy(pair -> pair.request().path("api").asText(), TreeMap::new, Collectors.toList()));
    byApi.forEach((api, requests) -> {
      long prompts = requests.stream().filter(pair -> pair.engines() != null).count();
      long different = requests.stream().filter(GoldenPrompts.Pair::differs).count();
      System.out.printf(
          "%-14s %-10s %9d %8d %6d %9d %9.2f%n",
          name(requests.getFirst().request()), api, requests.size(), prompts, prompts - different, different,
          prompts == 0 ? 0 : 100.0 * (prompts - different) / prompts);
    });
  }

  private static void explain(GoldenPrompts.Pair pair) {
    JsonNode request = pair.request();
    System.out.printf(
        "%n%s: %s %s, template %s%n  request   %s%n  engine's  %s%n  expected  %s%n%n",
        engine(request), request.path("api").asText(), request.path("case").asText(), request.path("template").asText(),
        request.path("body"), inOneLine(pair.engines()),
        pair.ours() == null ? "none: refused" : inOneLine(pair.ours()));
  }

  private static String inOneLine(String prompt) {
    return prompt.replace("\n", "\\n");
  }
}
