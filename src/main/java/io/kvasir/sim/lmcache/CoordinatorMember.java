package io.kvasir.sim.lmcache;

import static io.kvasir.sim.lmcache.FastApi.JSON;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes an engine a member of an LMCache coordinator: registers, sends heartbeats, and registers again when the
 * coordinator has no record of it. One thread of its own; the coordinator may start later.
 */
public final class CoordinatorMember implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CoordinatorMember.class);
  private static final Duration TIMEOUT = Duration.ofSeconds(1);

  private final URI coordinator;
  private final String instance;
  private final String ip;
  private final int port;
  private final Duration heartbeat;
  private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread thread;

  /**
   * Starts.
   *
   * @param instance the engine's id
   * @param ip and {@code port}: where the engine answers
   * @param heartbeat between two heartbeats
   */
  public CoordinatorMember(URI coordinator, String instance, String ip, int port, Duration heartbeat) {
    this.coordinator = coordinator;
    this.instance = instance;
    this.ip = ip;
    this.port = port;
    this.heartbeat = heartbeat;
    this.thread = Thread.ofVirtual().name("sim-lmcache-member-" + instance).start(this::run);
  }

  /** Stops without deregistering, as a process that is killed. */
  @Override
  public void close() {
    closed.countDown();
    http.shutdownNow();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    http.close();
  }

  private void run() {
    try {
      boolean member = false;
      do {
        member = (member && heartbeat()) || register();
      } while (!closed.await(heartbeat.toMillis(), TimeUnit.MILLISECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean register() throws InterruptedException {
    String body =
        JSON.createObjectNode().put("instance_id", instance).put("ip", ip).put("http_port", port).toString();
    return ok(
        HttpRequest.newBuilder(coordinator.resolve("/instances"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body)));
  }

  private boolean heartbeat() throws InterruptedException {
    String path = "/instances/" + URLEncoder.encode(instance, StandardCharsets.UTF_8) + "/heartbeat";
    return ok(HttpRequest.newBuilder(coordinator.resolve(path)).PUT(BodyPublishers.noBody()));
  }

  private boolean ok(HttpRequest.Builder request) throws InterruptedException {
    try {
      return http.send(request.timeout(TIMEOUT).build(), BodyHandlers.discarding()).statusCode() == 200;
    } catch (IOException e) {
      LOG.debug("The coordinator does not answer {}", instance, e);
      return false;
    }
  }
}
