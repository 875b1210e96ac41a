package io.kvasir.load;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Requests of tenants with new prompts, each from its own clients, until it is closed. Thread-safe. */
final class TenantLoad implements AutoCloseable {
  /** No two loads have a prompt in common. */
  private static final AtomicLong SEEDS = new AtomicLong();

  private static final long PHI = 0x9E3779B97F4A7C15L;

  private final TenantClient client;
  private final Supplier<URI> url;
  private final Collection<TenantClient.Answer> answers = new ConcurrentLinkedQueue<>();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Phaser open = new Phaser(1);
  private volatile boolean ending;

  /**
   * What a tenant sends.
   *
   * @param clients each of which asks again when it was answered; 0: requests come at a rate instead
   * @param perSecond of requests, when there are no such clients, at random times
   * @param promptChars about the length of a prompt
   * @param answerTokens the length of an answer
   * @param serviceClass that its requests name; empty for none
   */
  record Tenant(
      String name, int clients, double perSecond, int promptChars, int answerTokens, String serviceClass) {}

  /**
   * The load begins.
   *
   * @param url where the next request goes
   */
  TenantLoad(TenantClient client, Supplier<URI> url, List<Tenant> tenants) {
    this(client, url, tenants, SEEDS.incrementAndGet());
  }

  /**
   * The same with requests at the times of every other load of the same tenants and {@code times}, as far as tenants
   * have a rate.
   */
  TenantLoad(TenantClient client, Supplier<URI> url, List<Tenant> tenants, long times) {
    this.client = client;
    this.url = url;
    for (Tenant tenant : tenants) {
      for (int i = 0; i < tenant.clients; i++) {
        Random random = new Random(SEEDS.incrementAndGet());
        threads.execute(() -> askAgainAndAgain(tenant, random));
      }
      if (tenant.clients == 0) {
        Random prompts = new Random(SEEDS.incrementAndGet());
        threads.execute(() -> askAtTheRate(tenant, new Random(tenant.name.hashCode() * PHI + times), prompts));
      }
    }
  }

  /** The settings of keys that are called like their tenants. */
  static String keys(List<String> tenants) {
    return tenants.stream()
        .map(
            name -> "{ id = %s, tenant = %s, sha256 = \"%s\", routing-details = true }"
                .formatted(name, name, sha256(name)))
        .collect(Collectors.joining("\n    ", "access.keys = [\n    ", "\n  ]\n"));
  }

  private static String sha256(String key) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }

  /** What has ended until now. */
  List<TenantClient.Answer> answers() {
    return new ArrayList<>(answers);
  }

  private void askAgainAndAgain(Tenant tenant, Random random) {
    while (!ending) {
      ask(tenant, random);
    }
  }

  private void askAtTheRate(Tenant tenant, Random times, Random prompts) {
    long next = System.nanoTime();
    while (!ending) {
      next += (long) (-Math.log(1 - times.nextDouble()) / tenant.perSecond * 1e9);
      for (long left = next - System.nanoTime(); left > 0 && !ending; left = next - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      if (!ending) {
        Random its = new Random(prompts.nextLong());
        open.register();
        Thread.ofVirtual().start(() -> {
          try {
            ask(tenant, its);
          } finally {
            open.arriveAndDeregister();
          }
        });
      }
    }
  }

  private void ask(Tenant tenant, Random random) {
    ObjectNode body = TenantClient.body(tenant.answerTokens);
    body.putArray("messages").addObject().put("role", "user").put("content", Words.text(random, tenant.promptChars));
    String[] headers =
        tenant.serviceClass.isEmpty() ? new String[0] : new String[] {"X-Router-Class", tenant.serviceClass};
    try {
      TenantClient.Answer answer = client.ask(url.get(), tenant.name, body, headers);
      answers.add(answer);
      if (answer.end() != TenantClient.End.COMPLETE) {
        LockSupport.parkNanos(200_000_000);
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /** Sends nothing more. */
  void stop() {
    ending = true;
  }

  /** Sends nothing more, and waits until every request under way has ended. */
  @Override
  public void close() {
    ending = true;
    threads.close();
    open.arriveAndAwaitAdvance();
  }
}
