package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import io.kvasir.http.client.ScriptedPod;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * However requests end, side by side and at random: every reservation is closed, once. A failure names its seed, for
 * {@code -Dkvasir.test.seed}, and lists the events in the order in which they happened.
 */
final class RandomEndsTest {
  private static final long SEED = Long.getLong("kvasir.test.seed", 17);
  private static final int REQUESTS = 400;
  private static final String TOKEN = "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n";

  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private final long startNanos = System.nanoTime();

  /** Something that happened to a request. */
  private record Event(long micros, String request, String what) {
    @Override
    public String toString() {
      return "%10d µs  %s  %s".formatted(micros, request, what);
    }
  }

  @Test
  void reservations_returnToZero() throws Exception {
    try (TestRouter router = new TestRouter();
        ScriptedPod pod = new ScriptedPod(this::answer);
        ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 4; i++) {
        router.cells.worker("w" + i, pod.url(), "m");
      }
      try {
        runClients(router, clients);
        Await.await("all requests are over", () -> isSettled(router));
        assertThat(router.cells.closedTwice).hasValue(0);
      } catch (Exception | AssertionError failure) {
        throw new AssertionError(description(router), failure);
      }
    }
  }

  private void runClients(TestRouter router, ExecutorService clients) throws Exception {
    Random seeds = new Random(SEED);
    List<Future<?>> ends = new ArrayList<>();
    for (int i = 0; i < REQUESTS; i++) {
      long seed = seeds.nextLong();
      ends.add(clients.submit(() -> {
        runClient(router, new Random(seed));
        return null;
      }));
    }
    for (Future<?> end : ends) {
      end.get(90, TimeUnit.SECONDS);
    }
  }

  private static boolean isSettled(TestRouter router) {
    return router.metric("kvasir_requests") == REQUESTS
        && router.cells.open.get() == 0
        && router.metric("kvasir_requests_in_flight") == 0
        && router.metric("kvasir_attempts_in_flight") == 0
        // A client may close its connection when a worker has been chosen and nothing sent yet.
        && router.metric("kvasir_attempts") <= router.cells.outcomes.size();
  }

  /** Each request gets what its id says, so that it does not depend on the order of arrival. */
  private void answer(ScriptedPod.ReceivedRequest request, ScriptedPod.ScriptedResponse out) throws Exception {
    String id = String.valueOf(request.headers().first("X-Request-Id"));
    int kind = Math.floorMod(id.hashCode(), 7);
    record(id, "the pod has it, answers in manner " + kind);
    try {
      switch (kind) {
        case 0 -> out.stream(List.of(TOKEN, TOKEN, "data: [DONE]\n\n"));
        case 1 -> out.json(503, "{}");
        case 2 -> out.reset();
        case 3 -> out.events().chunk(TOKEN).reset();
        case 4 -> out.json(200, "{\"id\":\"x\"}");
        case 5 -> out.events().chunk(TOKEN).awaitClosed();
        default -> out.awaitClosed();
      }
    } finally {
      record(id, "the pod has ended its answer");
    }
  }

  private void runClient(TestRouter router, Random random) throws IOException {
    String id = "r" + random.nextLong();
    try (Socket socket = router.connect()) {
      // Each says something else: requests that are alike are put in quarantine when workers die under them.
      String body = "{\"model\":\"m\",\"stream\":true,\"user\":\"%s\"}".formatted(id);
      socket.getOutputStream().write(TestRouter.wire("/v1/chat/completions", body, "X-Request-Id", id));
      record(id, "sent");
      Await.await("the request is routed", () -> router.cells.asked.contains(id));
      record(id, "routed");
      // Some close at once, some when other requests have been routed, some when they have read a little.
      switch (random.nextInt(3)) {
        case 0 -> { }
        case 1 -> {
          int routed = Math.min(REQUESTS, router.cells.asked.size() + random.nextInt(40));
          Await.await("other requests are routed", () -> router.cells.asked.size() >= routed);
        }
        default -> {
          socket.setSoTimeout(50 + random.nextInt(100));
          int read = socket.getInputStream().readNBytes(random.nextInt(600)).length;
          record(id, "read " + read + " bytes");
        }
      }
    } catch (SocketException | SocketTimeoutException e) {
      record(id, "stopped reading: " + e.getMessage()); // cut, or nothing to read: the connection is closed either way
    }
    record(id, "closed");
  }

  private void record(String request, String what) {
    events.add(new Event((System.nanoTime() - startNanos) / 1000, request, what));
  }

  private String description(TestRouter router) {
    StringBuilder text = new StringBuilder("seed " + SEED + " (-Dkvasir.test.seed=" + SEED + "): ");
    text.append(router.metric("kvasir_requests")).append(" requests over, ");
    text.append(router.cells.open).append(" open reservations, ");
    text.append(router.metric("kvasir_requests_in_flight")).append(" requests and ");
    text.append(router.metric("kvasir_attempts_in_flight")).append(" attempts in flight, ");
    text.append(router.metric("kvasir_attempts")).append(" attempts, ");
    text.append(router.cells.outcomes.size()).append(" outcomes");
    events.forEach(event -> text.append('\n').append(event));
    return text.toString();
  }
}
