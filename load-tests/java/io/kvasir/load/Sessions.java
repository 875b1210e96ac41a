package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code load-tests/sessions}: conversations that share system prompts, through a router and four simulated
 * engines. For each profile it reports the share of requests whose cached tokens the router predicted exactly,
 * the token hit rate the engines report, and errors; with {@code --kill} an engine is killed in the middle
 * and started again.
 */
@Command(name = "load-tests/sessions", mixinStandardHelpOptions = true, sortOptions = false)
final class Sessions implements Runnable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern PREDICTED = Pattern.compile("cached=(\\d+)/");

  @Option(names = "--requests", defaultValue = "10000", description = "Requests for each profile.")
  private int requests;

  @Option(names = "--sessions", defaultValue = "32", description = "Conversations at a time.")
  private int sessions;

  @Option(names = "--turns", defaultValue = "8", description = "Requests in a conversation.")
  private int turns;

  @Option(names = "--speed", defaultValue = "50", description = "How many times faster than real the engines are.")
  private double speed;

  @Option(names = "--capacity", defaultValue = "16384", description = "KV blocks of an engine.")
  private int capacity;

  @Option(names = "--profiles", split = ",", defaultValue = "expected-cost,prefix-aware,round-robin")
  private List<String> profiles = List.of();

  @Option(names = "--kill", description = "Kill an engine after a third, start it again after two thirds.")
  private boolean kill;

  @Option(names = "--json", paramLabel = "OUT", description = "Write the results there, too.")
  private @Nullable Path json;

  /** What one profile came to. */
  private record Result(
      String name,
      int requests,
      int errors,
      int exact,
      double hitRate,
      double predictedHitRate,
      double meanMs,
      String byWorker) {}

  public static void main(String[] args) {
    System.exit(new CommandLine(new Sessions()).execute(args));
  }

  @Override
  public void run() {
    List<Result> results = new ArrayList<>();
    for (String profile : profiles) {
      results.add(measure(profile));
    }
    System.out.printf(
        "%n%-16s %9s %7s %9s %9s %10s %9s  %s%n",
        "profile", "requests", "errors", "exact", "hit rate", "predicted", "mean ms", "by worker");
    for (Result r : results) {
      System.out.printf(
          "%-16s %9d %7d %8.2f%% %8.1f%% %9.1f%% %9.1f  %s%n",
          r.name(),
          r.requests(),
          r.errors(),
          100.0 * r.exact() / Math.max(1, r.requests() - r.errors()),
          100 * r.hitRate(),
          100 * r.predictedHitRate(),
          r.meanMs(),
          r.byWorker());
    }
    ResultFile.write(json, JSON, results);
  }

  private Result measure(String profile) {
    Path work = Path.of("target", "sessions", profile);
    List<String> flags =
        List.of("--speed", String.valueOf(speed), "--capacity", String.valueOf(capacity));
    try (ProcessFleet fleet = new ProcessFleet(Path.of("./kvasir").toAbsolutePath(), work, 4, profile, flags);
        HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      Load load = new Load(fleet.gateway(), http);
      try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int i = 0; i < sessions; i++) {
          int seed = i;
          executor.execute(() -> load.converse(seed));
        }
        executor.shutdown();
        int killedAt = 0;
        while (!executor.awaitTermination(1, TimeUnit.SECONDS)) {
          System.err.printf(
              "\r%-16s %6d/%d requests, %d errors   ", profile, load.done.get(), requests, load.errors.get());
          if (kill && killedAt == 0 && load.done.get() > requests / 3) {
            fleet.kill(1);
            killedAt = load.done.get();
            System.err.printf("%nengine-1 killed after %d requests%n", killedAt);
          } else if (kill && killedAt > 0 && load.done.get() > 2 * requests / 3) {
            fleet.restart(1);
            System.err.printf("%nengine-1 started again after %d requests%n", load.done.get());
            killedAt = -1;
          }
        }
      }
      System.err.println();
      return load.result(profile);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** The conversations of one run and what came back. */
  private final class Load {
    private final URI chat;
    private final HttpClient http;
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger done = new AtomicInteger();
    private final AtomicInteger errors = new AtomicInteger();
    private final AtomicInteger exact = new AtomicInteger();
    private final LongAdder prompt = new LongAdder();
    private final LongAdder cached = new LongAdder();
    private final LongAdder predicted = new LongAdder();
    private final AtomicLong nanos = new AtomicLong();
    private final Map<String, LongAdder> byWorker = new ConcurrentSkipListMap<>();

    Load(URI gateway, HttpClient http) {
      this.chat = gateway.resolve("/v1/chat/completions");
      this.http = http;
    }

    /** Conversations one after the other, until enough requests have begun. */
    void converse(int seed) {
      Random random = new Random(seed);
      while (true) {
        ArrayNode messages = JSON.createArrayNode();
        messages.addObject().put("role", "system").put("content", Words.text(new Random(random.nextInt(8)), 1500));
        for (int turn = 0; turn < turns; turn++) {
          if (begun.incrementAndGet() > requests) {
            return;
          }
          messages.addObject().put("role", "user").put("content", Words.text(random, 100 + random.nextInt(300)));
          if (!ask(messages)) {
            break;
          }
        }
      }
    }

    private boolean ask(ArrayNode messages) {
      ObjectNode body = JSON.createObjectNode().put("model", "kvasir-demo").put("max_tokens", 24);
      body.set("messages", messages);
      long from = System.nanoTime();
      try {
        HttpRequest request =
            HttpRequest.newBuilder(chat)
                .header("Content-Type", "application/json")
                .timeout(Duration.ofMinutes(2))
                .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
                .build();
        HttpResponse<byte[]> response = http.send(request, BodyHandlers.ofByteArray());
        JsonNode answer = JSON.readTree(response.body());
        if (response.statusCode() != 200) {
          return failed(response.statusCode() + " " + answer);
        }
        nanos.addAndGet(System.nanoTime() - from);
        count(answer.path("usage"), response);
        messages.add(answer.path("choices").path(0).path("message").deepCopy());
        return true;
      } catch (IOException e) {
        return failed(e.toString());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      } finally {
        done.incrementAndGet();
      }
    }

    private void count(JsonNode usage, HttpResponse<?> response) {
      long actual = usage.path("prompt_tokens_details").path("cached_tokens").asLong(-1);
      String reason = response.headers().firstValue("X-Router-Reason").orElse("");
      Matcher matcher = PREDICTED.matcher(reason);
      long expected = matcher.find() ? Long.parseLong(matcher.group(1)) : -2;
      if (actual == expected) {
        exact.incrementAndGet();
      }
      prompt.add(usage.path("prompt_tokens").asLong());
      cached.add(Math.max(0, actual));
      predicted.add(Math.max(0, expected));
      byWorker
          .computeIfAbsent(response.headers().firstValue("X-Router-Backend").orElse("?"), w -> new LongAdder())
          .increment();
    }

    private boolean failed(String what) {
      if (errors.incrementAndGet() <= 5) {
        System.err.println("\nerror: " + what);
      }
      return false;
    }

    Result result(String profile) {
      int good = done.get() - errors.get();
      return new Result(
          profile,
          done.get(),
          errors.get(),
          exact.get(),
          (double) cached.sum() / Math.max(1, prompt.sum()),
          (double) predicted.sum() / Math.max(1, prompt.sum()),
          nanos.get() / 1e6 / Math.max(1, good),
          byWorker.toString());
    }
  }
}
