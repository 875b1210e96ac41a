package io.kvasir.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.load.TenantClient.Answer;
import io.kvasir.load.TenantClient.End;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Programs whose contexts are together some times what the engines' caches hold, each with the next one as soon as it
 * has ended, with and without the thrash guard; or beside prompts that nobody comes back to, with and without engines
 * that retain what programs have used.
 */
@Command(name = "agents", mixinStandardHelpOptions = true, sortOptions = false)
final class Agents implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String PATH = "/v1/chat/completions";
  private static final int ENGINES = 2;
  private static final int TURNS = 8;
  private static final int FIRST_CHARS = 4000;
  private static final int TURN_CHARS = 1600;
  private static final int ANSWER_TOKENS = 32;
  private static final int ONE_OFF_CHARS = 8000;

  /** Half of a program's longest context, roughly: about four characters are a token. */
  private static final int AVERAGE_TOKENS = (FIRST_CHARS + TURNS * TURN_CHARS / 2) / 4;

  @Mixin private TenantFleetOptions options = new TenantFleetOptions(60, 64);

  @Option(names = "--load", description = "The programs' contexts against what the caches hold, ${DEFAULT-VALUE}.")
  private double load = 2;

  @Option(names = "--engine-tokens", description = "Tokens that an engine's cache holds, ${DEFAULT-VALUE}.")
  private int engineTokens = 24_000;

  @Option(names = "--think", description = "Seconds between turns, on average, ${DEFAULT-VALUE}.")
  private double think = 2;

  @Option(
      names = "--one-offs",
      description = {
        "So many clients send prompts that nobody comes back to, one after the other, before engines of SGLang's kind:",
        "then what is compared is whether the engines retain what programs have used. ${DEFAULT-VALUE}."
      })
  private int oneOffs;

  @Option(names = "--good", description = "Seconds to the first token of a good turn, ${DEFAULT-VALUE}.")
  private double goodSeconds = 5;

  /**
   * What has been seen.
   *
   * @param ended programs with all of their turns
   * @param goodTurns the share of later turns whose first token came in time
   * @param hits the share of the prompts of later turns that the engines found cached
   * @param longestHoldSeconds until the first token, of any turn, those included that are not answered at the end
   */
  record Result(
      @JsonProperty("guard") boolean guard,
      @JsonProperty("retention") boolean retention,
      @JsonProperty("programs") int programs,
      @JsonProperty("turns") int turns,
      @JsonProperty("ended") int ended,
      @JsonProperty("good_turns") double goodTurns,
      @JsonProperty("hits") double hits,
      @JsonProperty("ttft_p50_ms") double ttftP50,
      @JsonProperty("longest_hold_s") double longestHoldSeconds,
      @JsonProperty("failed") int failed) {}

  private record Turn(int number, Answer answer) {}

  /** What is compared: the programs' guard, or what engines do. */
  private record Variant(boolean guard, boolean retention) {}

  public static void main(String[] args) {
    System.exit(new CommandLine(new Agents()).execute(args));
  }

  @Override
  public void run() {
    System.out.printf(
        "%-9s %8s %6s %6s %7s %7s %9s %13s %7s%n", oneOffs == 0 ? "guard" : "retention", "programs", "turns",
        "ended", "good %", "hits %", "p50 ms", "longest hold", "failed");
    List<Result> results = new ArrayList<>();
    for (boolean on : new boolean[] {false, true}) {
      Result r = measure(oneOffs == 0 ? new Variant(on, false) : new Variant(false, on));
      System.out.printf(
          "%-9s %8d %6d %6d %7.1f %7.1f %9.0f %11.1f s %7d%n", on ? "on" : "off", r.programs, r.turns, r.ended,
          100 * r.goodTurns, 100 * r.hits, r.ttftP50, r.longestHoldSeconds, r.failed);
      results.add(r);
    }
    ResultFile.write(options.json(), JSON, results);
  }

  private Result measure(Variant variant) {
    return TenantFleet.measure(
        options,
        new TenantFleet.Shape("agents", ENGINES, engineTokens, 1, options.slots(), oneOffs > 0, settings(variant)),
        fleet -> measure(variant, fleet.nodes().all().getFirst().gateway(PATH), fleet.client()));
  }

  private Result measure(Variant variant, URI url, TenantClient client) throws InterruptedException {
    int programs = (int) Math.round(load * ENGINES * engineTokens / AVERAGE_TOKENS);
    Collection<Turn> turns = new ConcurrentLinkedQueue<>();
    Map<Integer, Long> open = new ConcurrentHashMap<>();
    AtomicInteger names = new AtomicInteger();
    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    IntStream.range(0, programs).forEach(_ -> threads.execute(() -> {
      try {
        while (!Thread.currentThread().isInterrupted()) {
          program(names.incrementAndGet(), url, client, turns, open);
        }
      } catch (InterruptedException ended) {
        Thread.currentThread().interrupt();
      }
    }));
    IntStream.range(0, oneOffs).forEach(number -> threads.execute(() -> {
      Random random = new Random(-1 - number);
      try {
        while (!Thread.currentThread().isInterrupted()) {
          ObjectNode body = TenantClient.body(ANSWER_TOKENS);
          body.putArray("messages").addObject().put("role", "user").put("content", Words.text(random, ONE_OFF_CHARS));
          Answer _ = client.ask(url, "", body);
        }
      } catch (InterruptedException ended) {
        Thread.currentThread().interrupt();
      }
    }));
    Thread.sleep(Duration.ofSeconds(options.seconds()));
    long now = System.nanoTime();
    double stillHeld = open.values().stream().mapToDouble(begun -> (now - begun) / 1e9).max().orElse(0);
    List<Turn> all = List.copyOf(turns);
    threads.shutdownNow();
    List<Answer> complete =
        all.stream().map(Turn::answer).filter(each -> each.end() == End.COMPLETE).toList();
    List<Answer> later =
        all.stream().filter(each -> each.number > 0).map(Turn::answer).filter(each -> each.end() == End.COMPLETE)
            .toList();
    double[] ttft =
        complete.stream().mapToDouble(Answer::ttftMs).filter(each -> !Double.isNaN(each)).sorted().toArray();
    return new Result(
        variant.guard, variant.retention, programs, complete.size(),
        (int) all.stream().filter(each -> each.number == TURNS - 1 && each.answer.end() == End.COMPLETE).count(),
        (double) later.stream().filter(each -> each.ttftMs() <= goodSeconds * 1e3).count() / Math.max(1, later.size()),
        later.stream().mapToDouble(Answer::cachedTokens).sum()
            / Math.max(1, later.stream().mapToDouble(Answer::promptTokens).sum()),
        TailRatio.quantile(ttft, 0.5),
        Math.max(stillHeld, TailRatio.quantile(ttft, 1) / 1e3), all.size() - complete.size());
  }

  /** One program, with a context that grows turn by turn. */
  private void program(int number, URI url, TenantClient client, Collection<Turn> turns, Map<Integer, Long> open)
      throws InterruptedException {
    Random random = new Random(number);
    ArrayNode messages = JSON.createArrayNode();
    for (int turn = 0; turn < TURNS; turn++) {
      messages.addObject().put("role", "user")
          .put("content", Words.text(random, turn == 0 ? FIRST_CHARS : TURN_CHARS));
      ObjectNode body = TenantClient.body(ANSWER_TOKENS);
      body.set("messages", messages);
      open.put(number, System.nanoTime());
      Answer answer = client.ask(url, "", body, "X-Session-ID", "program-" + number);
      open.remove(number);
      turns.add(new Turn(turn, answer));
      messages.addObject().put("role", "assistant").put("content", answer.text());
      Thread.sleep((long) (-Math.log(1 - random.nextDouble()) * think * 1e3));
    }
  }

  private String settings(Variant variant) {
    return """
        admission { enabled = true, classes.default { longest-wait = 10 m, starvation = 10 m } }
          programs { enabled = true, worker-tokens = %d, guard.enabled = %s }
          pod-defaults.retention = %s
        """
        .formatted(engineTokens, variant.guard, variant.retention ? "sglang" : "none");
  }
}
