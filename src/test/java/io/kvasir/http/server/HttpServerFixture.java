package io.kvasir.http.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvasir.SharedSystem;
import io.kvasir.http.ByteSink;
import io.kvasir.http.ChannelLoop;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.pekko.actor.typed.ActorSystem;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** Servers and clients, closed after each test, and the requests and answers that most tests need. */
abstract class HttpServerFixture {
  private static final SharedSystem SYSTEM = new SharedSystem("http-server-test");

  final List<AutoCloseable> open = new ArrayList<>();
  final ChannelLoop loop = new ChannelLoop("test-http", ChannelLoop.defaultThreads());

  @BeforeAll
  static void startSystem() {
    SYSTEM.begin();
  }

  @AfterAll
  static void stopSystem() {
    SYSTEM.end();
  }

  static ActorSystem<Void> system() {
    return SYSTEM.get();
  }

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : open.reversed()) {
      each.close();
    }
    loop.close();
  }

  static Response echo(Exchange exchange) {
    return text(200, exchange.method() + ' ' + exchange.target() + ' ' + new String(exchange.body(), UTF_8));
  }

  static Response.Buffered text(int status, String text) {
    return new Response.Buffered(status, Headers.of("Content-Type", "text/plain; charset=utf-8"), text.getBytes(UTF_8));
  }

  /** Writes a body and may wait for something. */
  interface BodyWriter {
    void writeTo(ByteSink client) throws Exception;
  }

  static Response stream(BodyWriter writer) {
    return new Response.Streaming(200, Headers.of("Content-Type", "text/event-stream"), StreamingBody.of(client -> {
      try {
        writer.writeTo(client);
      } catch (IOException | RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IOException(e);
      }
    }));
  }

  static void write(ByteSink body, String text) throws IOException {
    byte[] bytes = text.getBytes(UTF_8);
    body.write(bytes, 0, bytes.length);
  }

  static String get(String target, String headers) {
    return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
  }

  static String post(String target, String body) {
    return "POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: " + body.length()
        + "\r\n\r\n" + body;
  }

  static HttpSettings settings() {
    return HttpSettings.at("127.0.0.1", 0);
  }

  HttpServer serve(HttpHandler handler) throws IOException {
    return serve(handler, settings());
  }

  HttpServer serve(HttpHandler handler, HttpSettings settings) throws IOException {
    return serve(handler, settings, NanoClock.SYSTEM);
  }

  HttpServer serve(HttpHandler handler, HttpSettings settings, NanoClock clock) throws IOException {
    HttpServer server =
        HttpServer.start(system(), settings, handler, loop, new Metrics(new PrometheusRegistry()), clock);
    open.add(server);
    return server;
  }

  RawClient client(HttpServer server) throws IOException {
    RawClient client = new RawClient(server.address());
    open.add(client);
    return client;
  }
}
