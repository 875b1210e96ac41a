package io.kvasir.app.node;

import io.kvasir.kubernetes.PathReviews.Finding;
import io.kvasir.kubernetes.PathReviews;
import io.kvasir.telemetry.Metrics;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.StatusCode;
import org.apache.pekko.http.javadsl.model.StatusCodes;
import org.apache.pekko.http.javadsl.model.headers.RawHeader;
import org.jspecify.annotations.Nullable;

/** {@code /metrics}, for everybody or for those whom the Kubernetes API lets read it. Thread-safe. */
final class MetricsPage {
  static final String PATH = "/metrics";
  private static final String SCHEME = "bearer ";

  private final Metrics metrics;
  private final @Nullable PathReviews reviews;

  /**
   * The page.
   *
   * @param reviews who may read it; null: everybody
   */
  MetricsPage(Metrics metrics, @Nullable PathReviews reviews) {
    this.metrics = metrics;
    this.reviews = reviews;
  }

  /** The page, or why it is not shown, in a line. */
  CompletionStage<HttpResponse> answer(HttpRequest request) {
    if (reviews == null) {
      return CompletableFuture.completedFuture(page(request));
    }
    String token = token(request);
    if (token.isEmpty()) {
      return CompletableFuture.completedFuture(
          unauthorized("a token of Kubernetes is needed to read this: Authorization: Bearer TOKEN"));
    }
    return reviews.of(token).thenApply(finding -> switch (finding) {
      case Finding.Allowed _ -> page(request);
      case Finding.Unknown _ -> unauthorized("Kubernetes does not know this token; it may have expired");
      case Finding.Forbidden(String user) ->
          refusal(
              StatusCodes.FORBIDDEN,
              user + " may not read this: bind it to a ClusterRole with the verb get on the nonResourceURL " + PATH);
      case Finding.Unanswered(String reason) ->
          refusal(
                  StatusCodes.SERVICE_UNAVAILABLE,
                  "Kubernetes cannot be asked whether this token may read this: " + reason)
              .addHeader(RawHeader.create("Retry-After", "5"));
    });
  }

  private static String token(HttpRequest request) {
    String credentials = request.getHeader("Authorization").map(header -> header.value()).orElse("");
    return credentials.toLowerCase(Locale.ROOT).startsWith(SCHEME)
        ? credentials.substring(SCHEME.length()).strip()
        : "";
  }

  private static HttpResponse unauthorized(String why) {
    return refusal(StatusCodes.UNAUTHORIZED, why).addHeader(RawHeader.create("WWW-Authenticate", "Bearer"));
  }

  private static HttpResponse refusal(StatusCode status, String why) {
    return HttpResponse.create()
        .withStatus(status)
        .withEntity(HttpEntities.create(ContentTypes.TEXT_PLAIN_UTF8, why + "\n"));
  }

  private HttpResponse page(HttpRequest request) {
    String accept = request.getHeader("Accept").map(header -> header.value()).orElse("");
    ByteArrayOutputStream text = new ByteArrayOutputStream(1 << 16);
    try {
      String contentType = metrics.write(accept, text);
      return HttpResponse.create()
          .withEntity(HttpEntities.create(ContentTypes.parse(contentType), text.toByteArray()));
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }
}
