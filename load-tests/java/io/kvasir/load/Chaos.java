package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.terminal.ProgressBar;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.transfer.TransferDialect;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code load-tests/chaos}: requests through a node while its engines are killed, hung, restarted and drained at
 * random. Every answer is compared with what the engine has to say; a request that ends in anything but the complete
 * answer, a clean error before the first byte or a stream cut short by a worker in trouble is lost. At the end no load
 * may be booked any more, and threads, sockets and memory are compared with those before.
 */
@Command(name = "load-tests/chaos", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true)
final class Chaos implements Callable<Integer> {
  private static final int DISTINCT = 400;

  @Option(names = "--requests", defaultValue = "20000", description = "How many.")
  private int requests;

  @Option(names = "--seconds", defaultValue = "0", description = "Stop after so long; 0: after the requests.")
  private int seconds;

  @Option(names = "--clients", defaultValue = "48", description = "Requests at a time.")
  private int clients;

  @Option(names = "--workers", defaultValue = "3", description = "Aggregated engines.")
  private int workers;

  @Option(names = "--pairs", defaultValue = "2", description = "Prefill engines, and as many decode engines.")
  private int pairs;

  @Option(
      names = "--dialect",
      defaultValue = "vllm-nixl",
      description = "How they hand KV over: vllm-nixl, vllm-push, vllm-mooncake, sglang, tensorrt-llm.")
  private String dialect = "";

  @Option(names = "--seed", defaultValue = "1", description = "Decides the requests and the faults.")
  private long seed;

  @Option(names = "--calm", description = "No trouble: everything has to be complete.")
  private boolean calm;

  @Option(names = "--json", paramLabel = "OUT", description = "Write the result there, too.")
  private @Nullable Path json;

  /**
   * What came of it.
   *
   * @param tally requests by how they ended
   * @param leaked load still booked at the end
   * @param before what the process held before
   * @param after what it held when all had come to rest
   * @param trouble what was done to the engines
   * @param handedOver sequences whose KV went from one engine to another, as far as the engines remember
   */
  record Result(
      ChaosResults tally,
      long leaked,
      ChaosFootprint before,
      ChaosFootprint after,
      String trouble,
      long handedOver) {
    boolean grew() {
      return after.grewSince(before);
    }

    @Override
    public String toString() {
      return tally + " leaked " + leaked;
    }
  }

  public static void main(String[] arguments) {
    System.setProperty("kvasir.log.level", System.getProperty("kvasir.log.level", "OFF"));
    System.exit(new CommandLine(new Chaos()).execute(arguments));
  }

  /** A short run without a word, for tests; what the process holds is not waited for. */
  static Result run(int requests, long seed) throws Exception {
    Chaos chaos = new Chaos();
    chaos.requests = requests;
    chaos.clients = 24;
    chaos.workers = 3;
    chaos.pairs = 2;
    chaos.dialect = "vllm-nixl";
    chaos.seed = seed;
    return chaos.measure(false);
  }

  @Override
  public Integer call() throws Exception {
    Result result = measure(true);
    ChaosResults tally = result.tally();
    result.tally().lost().forEach(System.out::println);
    System.out.printf("trouble: %s%n", result.trouble());
    if (pairs > 0) {
      System.out.printf(
          "handed over from prefill to decode since the last restarts: %d%n", result.handedOver());
    }
    System.out.printf("before: %s%nafter:  %s%s%n", result.before(), result.after(), result.grew() ? "  GREW" : "");
    if (json != null) {
      new ObjectMapper().writeValue(
          json.toFile(),
          Map.of(
              "requests", tally.requests(), "complete", tally.count(ChaosClient.End.COMPLETE), "refused",
              tally.count(ChaosClient.End.REFUSED), "truncated", tally.count(ChaosClient.End.TRUNCATED), "lost",
              tally.count(ChaosClient.End.LOST), "leaked", result.leaked(), "before", result.before(), "after",
              result.after(), "trouble", result.trouble()));
    }
    System.out.println(result);
    return tally.count(ChaosClient.End.LOST) == 0 && result.leaked() == 0 && !result.grew() ? 0 : 1;
  }

  /** A request and what it has to be answered. */
  private record Case(ChaosRequest request, String expected) {}

  private Result measure(boolean shows) throws Exception {
    List<Case> cases = cases();
    ChaosFaultLog trouble = new ChaosFaultLog();
    ChaosResults tally = new ChaosResults();
    try (ChaosFleet fleet = new ChaosFleet(workers, pairs, dialect())) {
      ChaosClient first = new ChaosClient(fleet.gateway(), trouble);
      try (first) {
        drive(first, cases, Math.min(requests, 2 * DISTINCT), 0, new ChaosResults(), null);
      }
      ChaosFootprint before = settled(fleet, shows);
      ChaosClient client = new ChaosClient(fleet.gateway(), trouble);
      try (client;
          ChaosMonkey _ = calm ? null : new ChaosMonkey(fleet, trouble, seed);
          ProgressBar progress = shows ? new ProgressBar() : null) {
        drive(client, cases, requests, seconds, tally, progress);
      }
      fleet.awaitHealthy();
      ChaosFootprint after = settledTo(before, fleet, shows);
      return new Result(tally, fleet.reserved(), before, after, trouble.summary(), fleet.transferred());
    }
  }

  private TransferDialect dialect() {
    return Arrays.stream(TransferDialect.values())
        .filter(known -> known.toString().equals(dialect))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("--dialect: there is no " + dialect));
  }

  /** Half of the requests are divided between a prefill and a decode engine, if there are any. */
  private String profile(Random random) {
    return pairs > 0 && random.nextBoolean() ? "prefill-decode" : "";
  }

  private List<Case> cases() throws IOException, InterruptedException {
    Random random = new Random(seed);
    List<Case> cases = new ArrayList<>();
    try (SimEngine reference = ChaosFleet.reference();
        ChaosClient client = new ChaosClient(reference.url(), new ChaosFaultLog())) {
      for (int i = 0; i < Math.min(DISTINCT, requests); i++) {
        ChaosRequest request = ChaosRequest.random(random, ChaosFleet.MODEL);
        cases.add(new Case(request, client.answer(request)));
      }
    }
    return cases;
  }

  private void drive(
      ChaosClient client,
      List<Case> cases,
      int count,
      int limitSeconds,
      ChaosResults tally,
      @Nullable ProgressBar progress)
      throws InterruptedException {
    AtomicInteger begun = new AtomicInteger();
    AtomicInteger done = new AtomicInteger();
    long deadline = limitSeconds == 0 ? Long.MAX_VALUE : TimeUnit.SECONDS.toNanos(limitSeconds);
    long from = System.nanoTime();
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < clients; i++) {
        Random random = new Random(seed * 1000 + i);
        executor.execute(() -> {
          while (begun.getAndIncrement() < count && System.nanoTime() - from < deadline) {
            one(client, cases.get(random.nextInt(cases.size())), random, tally);
            done.incrementAndGet();
          }
        });
      }
      executor.shutdown();
      while (!executor.awaitTermination(500, TimeUnit.MILLISECONDS)) {
        if (progress != null) {
          progress.draw(share(done.get(), count, limitSeconds, System.nanoTime() - from), tally.toString());
        }
      }
    }
  }

  private void one(ChaosClient client, Case what, Random random, ChaosResults tally) {
    try {
      if (random.nextInt(25) == 0) { // and one client more, who leaves
        client.cancel(what.request(), random.nextBoolean(), profile(random));
      }
      boolean stream = random.nextInt(3) > 0;
      tally.add(what.request(), client.send(what.request(), stream, profile(random), what.expected()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** What is held when everything has come to rest, or after a while if it does not. */
  private static ChaosFootprint settled(ChaosFleet fleet, boolean patiently) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(15);
    if (patiently) { // idle connections are kept for four seconds
      LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(6));
    }
    while (fleet.reserved() != 0 && System.nanoTime() - deadline < 0) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
    }
    return ChaosFootprint.now();
  }

  /** What is held when that is as little as it was before, or after half a minute: what is idle goes by and by. */
  private static ChaosFootprint settledTo(ChaosFootprint before, ChaosFleet fleet, boolean patiently) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    ChaosFootprint after = settled(fleet, patiently);
    while (after.grewSince(before) && System.nanoTime() - deadline < 0) {
      after = settled(fleet, patiently);
    }
    return after;
  }

  /** How much of the run is over, by its requests or its time, whichever ends it first. */
  private static double share(int done, int count, int limitSeconds, long nanos) {
    double ofRequests = (double) done / Math.max(1, count);
    return limitSeconds == 0
        ? ofRequests
        : Math.max(ofRequests, (double) nanos / TimeUnit.SECONDS.toNanos(limitSeconds));
  }
}
