package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.terminal.ProgressBar;
import java.io.IOException;
import java.nio.file.Path;
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
  /** Of the fleet's engines. */
  private static final int BLOCK_SIZE = 16;

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
        ChatClient client = new ChatClient(fleet.gateway(), null)) {
      Load load = new Load(client);
      try (ProgressBar progress = new ProgressBar(profile);
          ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int i = 0; i < sessions; i++) {
          int seed = i;
          executor.execute(() -> load.converse(seed));
        }
        executor.shutdown();
        int killedAt = 0;
        while (!executor.awaitTermination(1, TimeUnit.SECONDS)) {
          progress.draw(
              (double) load.done.get() / requests,
              "%d of %d requests, %d errors".formatted(load.done.get(), requests, load.errors.get()));
          if (kill && killedAt == 0 && load.done.get() > requests / 3) {
            fleet.kill(1);
            killedAt = load.done.get();
            progress.startLine();
            System.err.printf("engine-1 killed after %d requests%n", killedAt);
          } else if (kill && killedAt > 0 && load.done.get() > 2 * requests / 3) {
            fleet.restart(1);
            progress.startLine();
            System.err.printf("engine-1 started again after %d requests%n", load.done.get());
            killedAt = -1;
          }
        }
        progress.end();
      }
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
    private final ChatClient client;
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger done = new AtomicInteger();
    private final AtomicInteger errors = new AtomicInteger();
    private final AtomicInteger exact = new AtomicInteger();
    private final LongAdder prompt = new LongAdder();
    private final LongAdder cached = new LongAdder();
    private final LongAdder predicted = new LongAdder();
    private final AtomicLong nanos = new AtomicLong();
    private final Map<String, LongAdder> byWorker = new ConcurrentSkipListMap<>();

    Load(ChatClient client) {
      this.client = client;
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
        ChatClient.Answer answer = client.ask(body);
        if (answer.status() != 200) {
          return failed(answer.status() + " " + answer.body());
        }
        nanos.addAndGet(System.nanoTime() - from);
        count(answer);
        messages.add(answer.message());
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

    private void count(ChatClient.Answer answer) {
      int expected =
          CachePrediction.parse(answer.header("X-Router-Reason"), BLOCK_SIZE).map(CachePrediction::tokens).orElse(-2);
      if (answer.cachedTokens() == expected) {
        exact.incrementAndGet();
      }
      prompt.add(answer.promptTokens());
      cached.add(Math.max(0, answer.cachedTokens()));
      predicted.add(Math.max(0, expected));
      String worker = answer.header("X-Router-Backend");
      byWorker.computeIfAbsent(worker.isEmpty() ? "?" : worker, w -> new LongAdder()).increment();
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
