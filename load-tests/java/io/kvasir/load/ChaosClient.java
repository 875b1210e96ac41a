package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Sends requests over HTTP and judges how each ended. Thread-safe; calls block. */
final class ChaosClient implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Longer than the router may take; who waits this long has been forgotten. */
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  /** The statuses with which a router may refuse when no worker can serve. */
  private static final Set<Integer> CLEAN = Set.of(429, 500, 502, 503, 504);

  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final ScheduledThreadPoolExecutor watch =
      new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name("chaos-watch").factory());
  private final URI base;
  private final ChaosFaultLog faults;

  ChaosClient(URI base, ChaosFaultLog trouble) {
    this.base = base;
    this.faults = trouble;
    watch.setRemoveOnCancelPolicy(true);
  }

  /** How a request ended. */
  enum End {
    COMPLETE,
    REFUSED,
    TRUNCATED,
    LOST
  }

  /** How a request ended, and why that is so in words. */
  record Verdict(End end, String why) {}

  /** The text of a complete answer, from a server that is never in trouble. */
  String answer(ChaosRequest question) throws IOException, InterruptedException {
    HttpResponse<String> response =
        http.send(request(question, false, ""), HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
    if (response.statusCode() != 200) {
      throw new IOException(response.statusCode() + " " + response.body());
    }
    return question.api().text(response.body());
  }

  /** Sends a request and compares its answer with the expected one. */
  Verdict send(ChaosRequest question, boolean stream, String profile, String expected) throws InterruptedException {
    long from = System.nanoTime();
    HttpResponse<InputStream> response;
    try {
      response = http.send(request(question, stream, profile), HttpResponse.BodyHandlers.ofInputStream());
    } catch (IOException e) {
      return new Verdict(End.LOST, "no answer: " + e);
    }
    List<String> lines = new ArrayList<>();
    String broken = read(response.body(), lines);
    String body = String.join("\n", lines);
    String worker = workers(response);
    if (response.statusCode() != 200) {
      return refused(response.statusCode(), body, broken, worker);
    }
    try {
      if (stream) {
        ChaosRequest.Reply reply = question.api().read(lines);
        boolean complete = reply.ended() && !reply.failed() && broken.isEmpty();
        if (complete) {
          return complete(reply.text(), expected, worker);
        }
        if (!expected.startsWith(reply.text())) {
          return new Verdict(End.LOST, worker + " cut short and wrong: '" + reply.text() + "' of '" + expected + "'");
        }
        return truncated(worker, from, reply.failed() ? "error in the stream" : "no terminator " + broken);
      }
      return broken.isEmpty()
          ? complete(question.api().text(body), expected, worker)
          : truncated(worker, from, "answer cut short: " + broken);
    } catch (IOException e) {
      return new Verdict(End.LOST, worker + " unreadable: " + body);
    }
  }

  /** Sends a request and cancels it: at once, or after the first line. */
  void cancel(ChaosRequest question, boolean afterFirst, String profile) throws InterruptedException {
    var answer =
        http.sendAsync(request(question, true, profile), HttpResponse.BodyHandlers.ofInputStream());
    try {
      if (afterFirst) {
        answer.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS).body().close();
      } else {
        TimeUnit.MILLISECONDS.sleep(5);
        answer.cancel(true);
      }
    } catch (ExecutionException | TimeoutException | IOException e) {
      answer.cancel(true);
    }
  }

  @Override
  public void close() {
    watch.shutdownNow();
    http.shutdownNow();
  }

  private HttpRequest request(ChaosRequest question, boolean stream, String profile) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(base.resolve(question.api().path()))
            .timeout(TIMEOUT)
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofByteArray(question.bytes(stream)));
    if (!profile.isEmpty()) {
      request.header("X-Router-Profile", profile);
    }
    return request.build();
  }

  /** Reads to the end; returns what broke it, or nothing. */
  private String read(InputStream body, List<String> lines) {
    ScheduledFuture<?> tired = watch.schedule(() -> close(body), TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    try (BufferedReader in = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        lines.add(line);
      }
      return "";
    } catch (IOException e) {
      return String.valueOf(e);
    } finally {
      tired.cancel(false);
    }
  }

  private static void close(InputStream body) {
    try {
      body.close();
    } catch (IOException e) {
      // closed is closed
    }
  }

  private static Verdict complete(String text, String expected, String worker) {
    return text.equals(expected)
        ? new Verdict(End.COMPLETE, worker)
        : new Verdict(End.LOST, worker + " answered '" + text + "' in place of '" + expected + "'");
  }

  private Verdict refused(int status, String body, String broken, String worker) {
    try {
      boolean clean = CLEAN.contains(status) && broken.isEmpty() && !JSON.readTree(body).path("error").isMissingNode();
      return new Verdict(clean ? End.REFUSED : End.LOST, status + " of " + worker + ": " + body + broken);
    } catch (IOException e) {
      return new Verdict(End.LOST, status + " of " + worker + ", not JSON: " + body);
    }
  }

  /** Who generated, and who read the prompt if that was another: its KV may be lost with it. */
  private static String workers(HttpResponse<?> response) {
    String decode = response.headers().firstValue("X-Router-Backend").orElse("?");
    return response.headers().firstValue("X-Router-Prefill-Backend").map(prefill -> decode + " " + prefill)
        .orElse(decode);
  }

  private Verdict truncated(String worker, long from, String how) {
    long now = System.nanoTime();
    return Arrays.stream(worker.split(" ", -1)).anyMatch(one -> faults.overlaps(one, from, now))
        ? new Verdict(End.TRUNCATED, worker + " " + how)
        : new Verdict(End.LOST, worker + " was well: " + how);
  }
}
