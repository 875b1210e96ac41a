package io.kvasir.tracing;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.opentelemetry.proto.collector.trace.v1.ExportTracePartialSuccess;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.resource.v1.Resource;
import io.opentelemetry.proto.trace.v1.ResourceSpans;
import io.opentelemetry.proto.trace.v1.ScopeSpans;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPInputStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * A collector of traces that reads what it is sent as OTLP's own definition has it: over HTTP, compressed or not, as
 * protobuf. It answers as it is told to, and takes what it is sent otherwise.
 */
public final class OtlpCollector implements AutoCloseable {
  /** A request as it came; its spans count only when the answer was 200. */
  public record Received(
      long nanos, String path, TreeMap<String, String> headers, ExportTraceServiceRequest message, int status) {}

  /** A span with what it belongs to. */
  public record CollectedSpan(Resource resource, String scope, Span span) {
    public String name() {
      return span.getName();
    }

    public String id() {
      return HexFormat.of().formatHex(span.getSpanId().toByteArray());
    }

    public String traceId() {
      return HexFormat.of().formatHex(span.getTraceId().toByteArray());
    }

    public String parentId() {
      return HexFormat.of().formatHex(span.getParentSpanId().toByteArray());
    }

    /** An attribute's value as text; empty without one. */
    public String attribute(String key) {
      return text(span.getAttributesList(), key);
    }

    /** The same of the resource. */
    public String resourceAttribute(String key) {
      return text(resource.getAttributesList(), key);
    }

    private static String text(List<KeyValue> attributes, String key) {
      return attributes.stream().filter(each -> each.getKey().equals(key)).map(KeyValue::getValue)
          .map(CollectedSpan::text).findFirst().orElse("");
    }

    private static String text(AnyValue value) {
      return switch (value.getValueCase()) {
        case STRING_VALUE -> value.getStringValue();
        case INT_VALUE -> Long.toString(value.getIntValue());
        case DOUBLE_VALUE -> Double.toString(value.getDoubleValue());
        case BOOL_VALUE -> Boolean.toString(value.getBoolValue());
        case ARRAY_VALUE -> value.getArrayValue().getValuesList().stream().map(CollectedSpan::text).toList().toString();
        default -> throw new AssertionError("an attribute of another type: " + value);
      };
    }
  }

  /** An answer other than that all is well. */
  private record Answer(int status, String retryAfter, byte[] body) {}

  private static final InetSocketAddress LOOPBACK = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  public final BlockingQueue<Received> received = new LinkedBlockingQueue<>();
  private final BlockingQueue<CollectedSpan> spans = new LinkedBlockingQueue<>();
  private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();
  private volatile CountDownLatch held = new CountDownLatch(0);
  private final HttpServer server;
  private final String scheme;

  public OtlpCollector() throws IOException {
    this(HttpServer.create(LOOPBACK, 0), "http");
  }

  /** One over TLS, which takes only clients with a certificate. */
  OtlpCollector(SSLContext tls) throws IOException {
    this(encrypted(tls), "https");
  }

  private static HttpServer encrypted(SSLContext tls) throws IOException {
    HttpsServer server = HttpsServer.create(LOOPBACK, 0);
    server.setHttpsConfigurator(new HttpsConfigurator(tls) {
      @Override
      public void configure(HttpsParameters parameters) {
        SSLParameters mutual = tls.getDefaultSSLParameters();
        mutual.setNeedClientAuth(true);
        parameters.setSSLParameters(mutual);
      }
    });
    return server;
  }

  private OtlpCollector(HttpServer server, String scheme) {
    this.server = server;
    this.scheme = scheme;
    server.createContext("/", this::handle);
    server.start();
  }

  public String url() {
    return scheme + "://127.0.0.1:" + server.getAddress().getPort();
  }

  /** Takes what comes and answers nothing until what is returned has been counted down. */
  CountDownLatch hold() {
    CountDownLatch answering = new CountDownLatch(1);
    held = answering;
    return answering;
  }

  /** Answers the next request with this status, and with when to come back if that is not empty. */
  public void answer(int status, String retryAfter) {
    answers.add(new Answer(status, retryAfter, new byte[0]));
  }

  /** Takes the next request but for some spans. */
  public void reject(long rejected, String why) {
    answers.add(new Answer(200, "",
        ExportTraceServiceResponse.newBuilder()
            .setPartialSuccess(
                ExportTracePartialSuccess.newBuilder().setErrorMessage(why).setRejectedSpans(rejected))
            .build().toByteArray()));
  }

  /** The next request. */
  public Received next() throws InterruptedException {
    Received next = received.poll(60, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("no spans have come");
    }
    return next;
  }

  /** The next spans, as many as are expected. */
  public List<CollectedSpan> spans(int expected) throws InterruptedException {
    List<CollectedSpan> found = new ArrayList<>();
    while (found.size() < expected) {
      CollectedSpan next = spans.poll(60, TimeUnit.SECONDS);
      if (next == null) {
        throw new AssertionError(
            "%d of %d spans have come: %s".formatted(
                found.size(), expected, found.stream().map(CollectedSpan::name).toList()));
      }
      found.add(next);
    }
    return found;
  }

  private void handle(HttpExchange exchange) throws IOException {
    long nanos = System.nanoTime();
    TreeMap<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    exchange.getRequestHeaders().forEach((name, values) -> headers.put(name, String.join(", ", values)));
    byte[] body = exchange.getRequestBody().readAllBytes();
    InputStream plain = new ByteArrayInputStream(body);
    if ("gzip".equals(headers.get("Content-Encoding"))) {
      plain = new GZIPInputStream(plain);
    }
    ExportTraceServiceRequest message = ExportTraceServiceRequest.parseFrom(plain);
    Answer answer = answers.isEmpty() ? new Answer(200, "", new byte[0]) : answers.remove();
    if (answer.status() == 200) {
      for (ResourceSpans ofResource : message.getResourceSpansList()) {
        for (ScopeSpans ofScope : ofResource.getScopeSpansList()) {
          ofScope.getSpansList().forEach(
              span -> spans.add(new CollectedSpan(ofResource.getResource(), ofScope.getScope().getName(), span)));
        }
      }
    }
    try {
      held.await();
    } catch (InterruptedException stopped) {
      throw new InterruptedIOException();
    }
    received.add(new Received(nanos, exchange.getRequestURI().getPath(), headers, message, answer.status()));
    if (!answer.retryAfter().isEmpty()) {
      exchange.getResponseHeaders().set("Retry-After", answer.retryAfter());
    }
    exchange.getResponseHeaders().set("Content-Type", "application/x-protobuf");
    exchange.sendResponseHeaders(answer.status(), answer.body().length == 0 ? -1 : answer.body().length);
    exchange.getResponseBody().write(answer.body());
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
