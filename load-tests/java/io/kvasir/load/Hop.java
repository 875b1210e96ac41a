package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * What a request costs that arrives at another node than its cell's home: the same requests in turn to the home and to
 * another of two nodes, one at a time, first as fast as they are answered and then with pauses, in which threads fall
 * asleep.
 */
@Command(name = "hop", mixinStandardHelpOptions = true, sortOptions = false)
final class Hop implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();

  @Option(names = "--warm", description = "Requests to each node before anything is measured, ${DEFAULT-VALUE}.")
  private int warm = 6_000;

  @Option(names = "--requests", description = "Requests to each node and phase, ${DEFAULT-VALUE}.")
  private int requests = 3_000;

  @Option(names = "--pause", description = "Milliseconds between requests of the second phase, ${DEFAULT-VALUE}.")
  private int pause = 5;

  @Option(names = "--words", description = "Length of a prompt in words, ${DEFAULT-VALUE}.")
  private int words = 400;

  @Option(names = "--json", description = "Writes the result there, too.")
  private @Nullable Path json;

  private enum EntryNode { HOME, OTHER }

  /**
   * A phase's figures in milliseconds: of whole requests that arrive at the cell's home and elsewhere, and of the
   * decision alone, as the node measures it that asks for it.
   */
  private record Result(
      @JsonProperty("pause_ms") int pause,
      @JsonProperty("home_p50_ms") double homeP50,
      @JsonProperty("elsewhere_p50_ms") double elsewhereP50,
      @JsonProperty("home_p99_ms") double homeP99,
      @JsonProperty("elsewhere_p99_ms") double elsewhereP99,
      @JsonProperty("remote_decision_p50_ms") double decisionP50,
      @JsonProperty("remote_decision_p99_ms") double decisionP99) {}

  public static void main(String[] args) {
    System.exit(new CommandLine(new Hop()).execute(args));
  }

  @Override
  public void run() {
    try (SimEngine engine = engine();
        RouterNodes nodes =
            new RouterNodes(
                Path.of("./kvasir").toAbsolutePath(), Path.of("target", "hop"), 2, 2, List.of(engine), 256, "",
                new LoopbackNetwork(2));
        HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      for (RouterNodes.Node node : nodes.all()) {
        nodes.awaitReady(node, 1);
      }
      RouterNodes.Node home = nodes.home();
      if (home == null) {
        throw new IllegalStateException("no node knows where the cell is at home");
      }
      RouterNodes.Node other = nodes.all().getFirst() == home ? nodes.all().getLast() : nodes.all().getFirst();
      System.err.println("warming up ...");
      ask(http, home, other, warm, 0);
      List<Result> results = new ArrayList<>();
      for (int each : List.of(0, pause)) {
        System.err.println("measuring, pauses of " + each + " ms ...");
        results.add(measure(nodes, http, home, other, each));
      }
      System.out.printf(
          "%n%8s %10s %10s %10s %10s %10s %14s %14s%n", "pause ms", "home p50", "else p50", "added p50", "home p99",
          "else p99", "decision p50", "decision p99");
      for (Result r : results) {
        System.out.printf(
            "%8d %10.2f %10.2f %10.2f %10.2f %10.2f %14.2f %14.2f%n", r.pause, r.homeP50, r.elsewhereP50,
            r.elsewhereP50 - r.homeP50, r.homeP99, r.elsewhereP99, r.decisionP50, r.decisionP99);
      }
      if (json != null) {
        Files.write(json, JSON.writerWithDefaultPrettyPrinter().writeValueAsBytes(Map.of("results", results)));
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private Result measure(
      RouterNodes nodes, HttpClient http, RouterNodes.Node home, RouterNodes.Node other, int each)
      throws IOException, InterruptedException {
    RemoteDecisions before = nodes.remoteDecisions();
    Map<EntryNode, Histogram> took = ask(http, home, other, requests, each);
    RemoteDecisions decisions = nodes.remoteDecisions().since(before);
    return new Result(
        each,
        millis(took, EntryNode.HOME, 50),
        millis(took, EntryNode.OTHER, 50),
        millis(took, EntryNode.HOME, 99),
        millis(took, EntryNode.OTHER, 99),
        decisions.millis(0.5),
        decisions.millis(0.99));
  }

  private static double millis(Map<EntryNode, Histogram> took, EntryNode where, double percentile) {
    return took.getOrDefault(where, new Histogram(3)).getValueAtPercentile(percentile) / 1e6;
  }

  private Map<EntryNode, Histogram> ask(
      HttpClient http, RouterNodes.Node home, RouterNodes.Node other, int times, int each)
      throws IOException, InterruptedException {
    Map<EntryNode, Histogram> took = new EnumMap<>(EntryNode.class);
    Random random = new Random(times);
    String known = Words.text(random, words * 6);
    for (int i = 0; i < times; i++) {
      String body =
          JSON.createObjectNode()
              .put("model", "kvasir-demo")
              .put("max_tokens", 1)
              .put("prompt", known + Words.text(random, 60))
              .toString();
      for (EntryNode where : EntryNode.values()) {
        long begun = System.nanoTime();
        ask(http, where == EntryNode.HOME ? home : other, body);
        took.computeIfAbsent(where, _ -> new Histogram(3)).recordValue(System.nanoTime() - begun);
        if (each > 0) {
          Thread.sleep(each);
        }
      }
    }
    return took;
  }

  private static void ask(HttpClient http, RouterNodes.Node node, String body)
      throws IOException, InterruptedException {
    HttpResponse<String> response =
        http.send(
            HttpRequest.newBuilder(node.gateway("/v1/completions"))
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(30))
                .POST(BodyPublishers.ofString(body))
                .build(),
            BodyHandlers.ofString());
    if (response.statusCode() != 200
        || response.headers().firstValue("X-Router-Reason").orElse("").startsWith("fallback")) {
      throw new IllegalStateException("node " + node.number() + ": " + response + " " + response.body());
    }
  }

  /** As fast as it can be: what is measured lies before it. */
  private static SimEngine engine() throws IOException {
    return SimEngine.start(
        SimSettings.builder()
            .port(0)
            .model("kvasir-demo")
            .capacityBlocks(16384)
            .speed(1_000)
            .events(EventSettings.DEFAULT.withLoopback())
            .build());
  }
}
