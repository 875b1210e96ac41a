package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.client.ScriptedPod;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** However requests end, side by side and at random: every reservation is given back, once. */
final class RandomEndsTest {
  private static final int REQUESTS = 400;
  private static final String BODY = "{\"model\":\"m\",\"stream\":true}";
  private static final String TOKEN = "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n";

  @Test
  void reservations_returnToZero() throws Exception {
    Random seeds = new Random(17);
    try (TestRouter router = new TestRouter();
        ScriptedPod pod = new ScriptedPod((request, out) -> answer(request, out));
        ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 4; i++) {
        router.cells.worker("w" + i, pod.url(), "m");
      }
      List<Future<?>> ends = new ArrayList<>();
      for (int i = 0; i < REQUESTS; i++) {
        long seed = seeds.nextLong();
        ends.add(clients.submit(() -> {
          ask(router, new Random(seed));
          return null;
        }));
      }
      for (Future<?> end : ends) {
        end.get(60, TimeUnit.SECONDS);
      }

      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (!settled(router) && System.nanoTime() < deadline) {
        TimeUnit.MILLISECONDS.sleep(5);
      }
      assertThat(settled(router))
          .as("%s requests over, %s open reservations, %s requests and %s attempts in flight, %s attempts, %s outcomes",
              router.metric("kvasir_requests"),
              router.cells.open,
              router.metric("kvasir_requests_in_flight"),
              router.metric("kvasir_attempts_in_flight"),
              router.metric("kvasir_attempts"),
              router.cells.outcomes.size())
          .isTrue();
      assertThat(router.cells.closedTwice).hasValue(0);
    }
  }

  private static boolean settled(TestRouter router) {
    return router.metric("kvasir_requests") == REQUESTS
        && router.cells.open.get() == 0
        && router.metric("kvasir_requests_in_flight") == 0
        && router.metric("kvasir_attempts_in_flight") == 0
        // A client may leave when a worker has been chosen and nothing sent yet.
        && router.metric("kvasir_attempts") <= router.cells.outcomes.size();
  }

  /** Each request gets what its id says, so that it does not depend on the order of arrival. */
  private static void answer(ScriptedPod.ReceivedRequest request, ScriptedPod.ScriptedResponse out) throws Exception {
    switch (Math.floorMod(String.valueOf(request.headers().first("X-Request-Id")).hashCode(), 7)) {
      case 0 -> out.stream(List.of(TOKEN, TOKEN, "data: [DONE]\n\n"));
      case 1 -> out.json(503, "{}");
      case 2 -> out.reset();
      case 3 -> out.events().chunk(TOKEN).reset();
      case 4 -> out.json(200, "{\"id\":\"x\"}");
      case 5 -> out.events().chunk(TOKEN).awaitClosed();
      default -> out.awaitClosed();
    }
  }

  private static void ask(TestRouter router, Random random) throws IOException, InterruptedException {
    try (Socket socket = router.connect()) {
      String id = "r" + random.nextLong();
      socket.getOutputStream().write(TestRouter.wire("/v1/chat/completions", BODY, "X-Request-Id", id));
      while (!router.cells.asked.contains(id)) {
        TimeUnit.MILLISECONDS.sleep(1);
      }
      // Some leave at once, some after a while, some when they have read a little.
      switch (random.nextInt(3)) {
        case 0 -> { }
        case 1 -> TimeUnit.MILLISECONDS.sleep(random.nextInt(20));
        default -> {
          socket.setSoTimeout(50 + random.nextInt(100));
          socket.getInputStream().readNBytes(random.nextInt(600));
        }
      }
    } catch (SocketException | SocketTimeoutException e) {
      // Cut, or nothing to read: the client leaves either way.
    }
  }
}
