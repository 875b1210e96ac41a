package io.kvasir.console;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A management port with the console and an admin API that answers out of a {@link FakeFleet}: as many workers, faults
 * and strange names as a test wants, which no real set of nodes has at once. Thread-safe.
 */
final class FakeAdmin implements AutoCloseable {
  static final String KEY = "an-admins-key-0123456789";
  static final String VIEWER_KEY = "a-viewers-key-0123456789";

  private static final ObjectMapper JSON = new ObjectMapper();

  /** How often a stream looks whether somebody has changed something; a round is a second. */
  private static final int LOOK_MILLIS = 50;
  private static final int LOOKS_PER_ROUND = 20;
  private static final byte[] KEEP_ALIVE = ":\n\n".getBytes(StandardCharsets.UTF_8);

  private volatile FakeFleet fleet;
  private final HttpServer server;
  private final ConsoleAssets assets = new ConsoleAssets();
  private final Queue<String> changes = new ConcurrentLinkedQueue<>();
  private final Set<CountDownLatch> streams = ConcurrentHashMap.newKeySet();
  private volatile boolean refusesStreams;
  private volatile boolean keysAreWithdrawn;

  private FakeAdmin(FakeFleet fleet, int port) throws IOException {
    this.fleet = fleet;
    this.server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/console", this::asset);
    server.createContext("/admin/", this::admin);
    server.start();
  }

  static FakeAdmin start(FakeFleet fleet) throws IOException {
    return new FakeAdmin(fleet, 0);
  }

  /** Shows this fleet from now on, to whoever has a key, and has not been asked to change anything. */
  void show(FakeFleet shown) {
    fleet = shown;
    changes.clear();
    refusesStreams = false;
    keysAreWithdrawn = false;
  }

  /** Serves until the process ends, to look at the pages while they are written: workers, port. */
  public static void main(String[] arguments) throws IOException {
    FakeAdmin admin = new FakeAdmin(new FakeFleet(Integer.parseInt(arguments[0])), Integer.parseInt(arguments[1]));
    System.out.println(admin.console());
  }

  URI console() {
    return URI.create("http://127.0.0.1:%d/console/".formatted(server.getAddress().getPort()));
  }

  /** What was asked to be changed, as method, path and body. */
  List<String> changes() {
    return List.copyOf(changes);
  }

  /** Ends the streams there are, and refuses others from now on or takes them again. */
  void refuseStreams(boolean refuse) {
    refusesStreams = refuse;
    streams.forEach(CountDownLatch::countDown);
  }

  /** How many streams are open. */
  int streams() {
    return streams.size();
  }

  /** No key opens any more, and what was opened ends. */
  void withdrawKeys() {
    keysAreWithdrawn = true;
    streams.forEach(CountDownLatch::countDown);
  }

  @Override
  public void close() {
    refuseStreams(true);
    server.stop(0);
  }

  private void asset(HttpExchange exchange) throws IOException {
    if (!(assets.handle(new AssetRequest(exchange)) instanceof Response.Buffered answer)) {
      throw new IllegalStateException("files are at hand");
    }
    for (int i = 0; i < answer.headers().size(); i++) {
      exchange.getResponseHeaders().add(answer.headers().name(i), answer.headers().value(i));
    }
    send(exchange, answer.status(), answer.body());
  }

  private void admin(HttpExchange exchange) throws IOException {
    String authorization = String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"));
    boolean viewer = authorization.equals("Bearer " + VIEWER_KEY);
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    String path = exchange.getRequestURI().getPath().substring("/admin/".length());
    if (keysAreWithdrawn || (!viewer && !authorization.equals("Bearer " + KEY))) {
      refuse(exchange, 401, "this key is none of this router's");
    } else if (path.equals("watch")) {
      watch(exchange);
    } else if (exchange.getRequestMethod().equals("GET") || path.equals("explain")) {
      JsonNode answer = path.equals("session") ? session(viewer)
          : path.equals("log") ? log(String.valueOf(exchange.getRequestURI().getQuery()))
          : fleet.answer(path);
      if (answer == null) {
        refuse(exchange, 404, "there is nothing at /admin/" + path);
      } else {
        answer(exchange, 200, answer);
      }
    } else {
      changes.add("%s %s %s".formatted(exchange.getRequestMethod(), path, body).strip());
      fleet.change(path, body.isEmpty() ? JSON.createObjectNode() : JSON.readTree(body));
      answer(exchange, 200, JSON.createObjectNode());
    }
  }

  /** The entries of the kind that is asked for. */
  private ObjectNode log(String query) {
    ObjectNode log = requireNonNull((ObjectNode) fleet.answer("log"));
    ArrayNode entries = JSON.createArrayNode();
    for (JsonNode entry : log.path("log")) {
      if (!query.contains("kind=") || query.contains("kind=" + entry.path("kind").asText())) {
        entries.add(entry);
      }
    }
    log.set("log", entries);
    return log;
  }

  private static ObjectNode session(boolean viewer) {
    return JSON.createObjectNode().put("principal", "ada").put("role", viewer ? "viewer" : "admin")
        .put("demo", true);
  }

  private void watch(HttpExchange exchange) throws IOException {
    if (refusesStreams) {
      refuse(exchange, 503, "32 streams are being watched");
      return;
    }
    List<String> topics = Arrays.asList(exchange.getRequestURI().getQuery().substring("topics=".length()).split(","));
    exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
    exchange.sendResponseHeaders(200, 0);
    CountDownLatch end = new CountDownLatch(1);
    streams.add(end);
    try (exchange; OutputStream out = exchange.getResponseBody()) {
      write(out, topics, "full");
      int told = changes.size();
      for (int look = 1; !end.await(LOOK_MILLIS, TimeUnit.MILLISECONDS); look++) {
        if (look % LOOKS_PER_ROUND == 0 || changes.size() != told) {
          told = changes.size();
          fleet.goOn();
          write(out, topics, "patch");
        } else {
          // A page that has gone is noticed at once.
          out.write(KEEP_ALIVE);
          out.flush();
        }
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } finally {
      streams.remove(end);
    }
  }

  private void write(OutputStream out, List<String> topics, String kind) throws IOException {
    String frames =
        topics.stream()
            .map(topic -> "event: %s\ndata: {\"%s\":%s}\n\n".formatted(topic, kind, watched(topic)))
            .collect(Collectors.joining());
    out.write(frames.getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  /** A topic's state with lists by key. */
  private JsonNode watched(String topic) {
    ObjectNode state = requireNonNull((ObjectNode) fleet.answer(topic));
    ObjectNode keyed = JSON.createObjectNode();
    for (var member : state.properties()) {
      List<String> key = FakeFleet.KEYS.get(member.getKey());
      if (key != null && member.getValue() instanceof ArrayNode list) {
        ObjectNode entries = keyed.putObject(member.getKey());
        list.forEach(entry -> entries.set(
            key.stream().map(name -> entry.path(name).asText()).collect(Collectors.joining(" ")), entry));
      } else {
        keyed.set(member.getKey(), member.getValue());
      }
    }
    return keyed;
  }

  private static void refuse(HttpExchange exchange, int status, String message) throws IOException {
    ObjectNode body = JSON.createObjectNode();
    body.putObject("error").put("code", "refused").put("message", message);
    answer(exchange, status, body);
  }

  private static void answer(HttpExchange exchange, int status, JsonNode body) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    send(exchange, status, JSON.writeValueAsBytes(body));
  }

  private static void send(HttpExchange exchange, int status, byte[] body) throws IOException {
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    try (exchange; OutputStream out = exchange.getResponseBody()) {
      out.write(body);
    }
  }

  /** What the handler of the files looks at. */
  private record AssetRequest(HttpExchange exchange) implements Exchange {
    @Override
    public String method() {
      return exchange.getRequestMethod();
    }

    @Override
    public String target() {
      return exchange.getRequestURI().toString();
    }

    @Override
    public Headers headers() {
      Headers.Builder headers = Headers.builder();
      exchange.getRequestHeaders().forEach((name, values) -> values.forEach(value -> headers.add(name, value)));
      return headers.build();
    }

    @Override
    public byte[] body() {
      return new byte[0];
    }

    @Override
    public RequestMemory memory() {
      return RequestMemory.UNCOUNTED;
    }

    @Override
    public InetAddress client() {
      return exchange.getRemoteAddress().getAddress();
    }

    @Override
    public Cancellation cancellation() {
      return Cancellation.NONE;
    }
  }
}
