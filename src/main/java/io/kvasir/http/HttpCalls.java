package io.kvasir.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.http.HttpCallException.Kind;
import io.kvasir.http.LimitedBody.TooLargeException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * A client for short HTTP/1.1 calls to other services, most of them with JSON in and out, on one pool of connections.
 * A call has one deadline for the whole exchange, from connecting to the last byte of the response's body, and a limit
 * on the body's size; whatever goes wrong is an {@link HttpCallException} of a {@link Kind}. Thread-safe. Its owner
 * closes it, which ends calls in progress.
 */
public final class HttpCalls implements AutoCloseable {
  private static final JsonMapper JSON = new JsonMapper();

  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  private final HttpClient.Builder builder;
  private final @Nullable SSLContext tls;

  /** Made with the first call: most nodes make none, and it has a thread and the trust of the JVM. */
  private @Nullable HttpClient client;

  private boolean closed;

  /** A client that connects as long as a call's deadline allows, and trusts what the JVM trusts. */
  public HttpCalls() {
    this(null, null);
  }

  /**
   * A client.
   *
   * @param connectTimeout how long connecting may take; null for as long as a call's deadline allows
   * @param tls for {@code https} addresses; null for what the JVM trusts
   */
  public HttpCalls(@Nullable Duration connectTimeout, @Nullable SSLContext tls) {
    this.tls = tls;
    builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).executor(executor);
    if (connectTimeout != null) {
      builder.connectTimeout(connectTimeout);
    }
    if (tls != null) {
      builder.sslContext(tls);
    }
  }

  /** For {@code https} addresses, and for whatever else is asked of the same servers; null for what the JVM trusts. */
  public @Nullable SSLContext tls() {
    return tls;
  }

  private synchronized HttpClient client() {
    HttpClient made = client;
    if (made == null) {
      made = builder.build();
      client = made;
      if (closed) {
        made.shutdownNow();
      }
    }
    return made;
  }

  /**
   * A request. Immutable.
   *
   * @param headers fields besides those that the connection needs
   * @param body null for none
   * @param timeout for the whole exchange
   * @param maxBytes the response's body may have
   */
  public record Request(
      String method, URI uri, Headers headers, byte @Nullable [] body, Duration timeout, long maxBytes) {
    private static final long MAX_BYTES = 8 << 20;

    /** A request without a body, whose response may have 8 MiB. */
    public static Request of(String method, URI uri, Duration timeout) {
      return new Request(method, uri, Headers.EMPTY, null, timeout, MAX_BYTES);
    }

    /** A GET, whose response may have 8 MiB. */
    public static Request get(URI uri, Duration timeout) {
      return of("GET", uri, timeout);
    }

    /** A POST of JSON, whose response may have 8 MiB. */
    public static Request post(URI uri, byte[] json, Duration timeout) {
      return of("POST", uri, timeout).withJson(json);
    }

    /** The same with a body of JSON. */
    public Request withJson(byte[] json) {
      return withHeader("Content-Type", "application/json").withBody(json);
    }

    /** The same with a body. */
    public Request withBody(byte[] bytes) {
      return new Request(method, uri, headers, bytes, timeout, maxBytes);
    }

    /** The same with another header field. */
    public Request withHeader(String name, String value) {
      return new Request(method, uri, headers.toBuilder().add(name, value).build(), body, timeout, maxBytes);
    }

    /** The same with a bearer token, or unchanged when there is none. */
    public Request withBearer(@Nullable String token) {
      return token == null ? this : withHeader("Authorization", "Bearer " + token);
    }

    /** The same with another limit on the response's body. */
    public Request withMaxBytes(long limit) {
      return new Request(method, uri, headers, body, timeout, limit);
    }

    private HttpRequest build() {
      HttpRequest.Builder builder =
          HttpRequest.newBuilder(uri)
              .timeout(timeout)
              .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
      for (int i = 0; i < headers.size(); i++) {
        builder.header(headers.name(i), headers.value(i));
      }
      return builder.build();
    }
  }

  /** A whole response, of any status. */
  public static final class Reply {
    private final URI uri;
    private final HttpResponse<byte[]> response;

    private Reply(URI uri, HttpResponse<byte[]> response) {
      this.uri = uri;
      this.response = response;
    }

    public int status() {
      return response.statusCode();
    }

    /** The value of the first header field of that name. */
    public Optional<String> header(String name) {
      return response.headers().firstValue(name);
    }

    public byte[] body() {
      return response.body();
    }

    /**
     * This reply.
     *
     * @throws HttpCallException of the kind STATUS when it has another status
     */
    public Reply requireStatus(int expected) throws HttpCallException {
      if (status() != expected) {
        throw new HttpCallException(Kind.STATUS, uri + " answered " + status());
      }
      return this;
    }

    /**
     * The body as JSON of any type; a missing node when the body is empty.
     *
     * @throws HttpCallException of the kind NOT_JSON when it is none, or not all of it
     */
    public JsonNode json() throws HttpCallException {
      try {
        return JSON.readTree(body());
      } catch (JsonProcessingException malformed) {
        throw new HttpCallException(
            Kind.NOT_JSON,
            "%s answered with no whole JSON: the fault is at line %d, column %d".formatted(
                uri, malformed.getLocation().getLineNr(), malformed.getLocation().getColumnNr()),
            malformed);
      } catch (IOException unreadable) {
        throw new HttpCallException(Kind.NOT_JSON, uri + " answered with no whole JSON: " + unreadable, unreadable);
      }
    }

    /**
     * The body as a JSON object.
     *
     * @throws HttpCallException of the kind NOT_JSON when it is none
     */
    public JsonNode jsonObject() throws HttpCallException {
      JsonNode content = json();
      if (!content.isObject()) {
        throw new HttpCallException(Kind.NOT_JSON, uri + " answered with no JSON object");
      }
      return content;
    }
  }

  /**
   * Sends a request and waits for the whole response.
   *
   * @throws HttpCallException of the kind TIMEOUT, TOO_LARGE or IO
   * @throws InterruptedException when the thread was interrupted; the call is given up
   */
  public Reply send(Request request) throws HttpCallException, InterruptedException {
    CompletableFuture<Reply> reply = sendAsync(request);
    try {
      return reply.get();
    } catch (ExecutionException failed) {
      throw failure(request, failed);
    } catch (InterruptedException interrupted) {
      reply.cancel(true);
      throw interrupted;
    }
  }

  /**
   * Sends a request.
   *
   * @return completes with the whole response, or with an {@link HttpCallException} of the kind TIMEOUT, TOO_LARGE or
   *     IO. To cancel it gives the call up
   */
  public CompletableFuture<Reply> sendAsync(Request request) {
    // The name of a host is looked up in a call that keeps the thread.
    ConnectionThread.leaveConnection();
    CompletableFuture<HttpResponse<byte[]>> exchange =
        client().sendAsync(request.build(), LimitedBody.handler(request.maxBytes));
    // A future of its own: the client's timeout ends with a response's head, and what is derived from the client's
    // future would cancel the exchange together with itself.
    CompletableFuture<HttpResponse<byte[]>> inTime = new CompletableFuture<>();
    CompletableFuture<Reply> reply = new CompletableFuture<>();
    var _ = inTime
        .orTimeout(request.timeout.toNanos(), TimeUnit.NANOSECONDS)
        .whenComplete(
            (response, failure) -> {
              if (response != null) {
                reply.complete(new Reply(request.uri, response));
              } else {
                exchange.cancel(true);
                reply.completeExceptionally(failure(request, failure));
              }
            });
    var _ = exchange.whenComplete(
        (response, failure) -> {
          if (response != null) {
            inTime.complete(response);
          } else {
            inTime.completeExceptionally(failure);
          }
        });
    var _ = reply.whenComplete((_, _) -> inTime.cancel(false));
    return reply;
  }

  /**
   * Sends a request and waits for the response's head. Deadline and size limit do not hold for the body, which the
   * caller reads and closes.
   *
   * @throws HttpCallException of the kind TIMEOUT or IO
   */
  public HttpResponse<InputStream> open(Request request) throws HttpCallException, InterruptedException {
    try {
      return client().send(request.build(), BodyHandlers.ofInputStream());
    } catch (IOException failed) {
      throw failure(request, failed);
    }
  }

  private static HttpCallException failure(Request request, Throwable failure) {
    Throwable cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException) && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return switch (cause) {
      case HttpCallException known -> known;
      case TimeoutException late -> timeout(request, late);
      case HttpTimeoutException late -> timeout(request, late);
      case TooLargeException tooLarge ->
          new HttpCallException(
              Kind.TOO_LARGE, request.uri + " answered with more than " + request.maxBytes + " bytes", tooLarge);
      case ConnectException refused ->
          new HttpCallException(Kind.IO, request.uri + " takes no connection", refused);
      case IOException broken when broken.getCause() instanceof TooLargeException inner -> failure(request, inner);
      default -> new HttpCallException(Kind.IO, request.uri + ": " + message(cause), cause);
    };
  }

  private static HttpCallException timeout(Request request, Exception late) {
    return new HttpCallException(
        Kind.TIMEOUT, request.uri + " did not answer within " + request.timeout.toMillis() + " ms", late);
  }

  private static String message(Throwable cause) {
    return cause.getMessage() == null ? cause.toString() : cause.getMessage();
  }

  @Override
  public void close() {
    HttpClient made;
    synchronized (this) {
      closed = true;
      made = client;
    }
    if (made != null) {
      made.shutdownNow();
      made.close();
    }
    executor.shutdown();
  }
}
