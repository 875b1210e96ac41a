package io.kvasir.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.core.metrics.Counter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who may read a path, as the Kubernetes API knows: a TokenReview says whose a bearer token is, and a
 * SubjectAccessReview whether they have the verb {@code get} on that {@code nonResourceURL}. An answer holds for a
 * while, a leave longer than a refusal; without an answer nobody may. Thread-safe; nothing here blocks its caller.
 */
public final class PathReviews {
  private static final Logger LOG = LoggerFactory.getLogger(PathReviews.class);
  private static final ApiResource TOKENS = new ApiResource("authentication.k8s.io", "v1", "tokenreviews");
  private static final ApiResource ACCESSES = new ApiResource("authorization.k8s.io", "v1", "subjectaccessreviews");
  private static final Duration ALLOWED_FOR = Duration.ofMinutes(1);
  private static final Duration REFUSED_FOR = Duration.ofSeconds(10);
  private static final int MAX_KNOWN = 1024;
  /** So many at a time: whoever makes up tokens is not to keep the API busy. Readers do not count. */
  private static final int MAX_ASKED = 8;

  /** What is known of a token. */
  public sealed interface Finding {
    /** Its owner may read the path. */
    record Allowed() implements Finding {}

    /** It is nobody's, or no longer anybody's. */
    record Unknown() implements Finding {}

    /**
     * Its owner may not.
     *
     * @param user the owner, such as {@code system:serviceaccount:monitoring:prometheus}
     */
    record Forbidden(String user) implements Finding {}

    /**
     * The API did not say.
     *
     * @param reason in a sentence
     */
    record Unanswered(String reason) implements Finding {}
  }

  /**
   * What the API said.
   *
   * @param until when it has to be asked again, by the clock
   * @param reader whether the token's owner could read the path when the API said so last
   */
  private record Answer(Finding finding, long until, boolean reader) {}

  private final KubernetesConnection connection;
  private final String path;
  private final NanoClock clock;
  private final Counter reviews;
  private final Semaphore asked = new Semaphore(MAX_ASKED);
  /** By the tokens' digests: tokens are not kept. */
  private final Cache<String, CompletableFuture<Answer>> answers =
      Caffeine.newBuilder().maximumSize(MAX_KNOWN).build();
  private volatile @Nullable String failure;

  /**
   * Reviews of the readers of a path.
   *
   * @param path such as {@code /metrics}
   * @param metrics of this node, once
   */
  public PathReviews(KubernetesConnection connection, String path, Metrics metrics) {
    this(connection, path, metrics, NanoClock.SYSTEM);
  }

  PathReviews(KubernetesConnection connection, String path, Metrics metrics, NanoClock clock) {
    this.connection = connection;
    this.path = path;
    this.clock = clock;
    this.reviews =
        Counter.builder()
            .name("kvasir_kubernetes_reviews_total")
            .help("Readers of /metrics about whom the Kubernetes API was asked, by result: allowed, unknown, forbidden,"
                + " unanswered")
            .labelNames("result")
            .register(metrics.registry());
  }

  /** What the API says of a token, or has said shortly before. */
  public CompletionStage<Finding> of(String token) {
    return answers.asMap()
        .compute(
            digest(token),
            (_, before) -> before == null || isOver(before) ? begun(token, isReader(before)) : before)
        .thenApply(Answer::finding);
  }

  private boolean isOver(CompletableFuture<Answer> answer) {
    return answer.isDone() && (answer.isCompletedExceptionally() || clock.nanos() - answer.join().until >= 0);
  }

  private static boolean isReader(@Nullable CompletableFuture<Answer> before) {
    return before != null && !before.isCompletedExceptionally() && before.join().reader;
  }

  private CompletableFuture<Answer> begun(String token, boolean wasReader) {
    return CompletableFuture.supplyAsync(
        () -> {
          Finding finding = counted(token, wasReader);
          boolean reader =
              finding instanceof Finding.Allowed || (wasReader && finding instanceof Finding.Unanswered);
          return new Answer(finding, clock.nanos() + lifetime(finding).toNanos(), reader);
        },
        task -> Thread.ofVirtual().name("kvasir-review").start(task));
  }

  /** Why nobody who is not known can read the path now, for readiness. */
  public Optional<Problem> problem() {
    return Optional.ofNullable(failure)
        .map(
            reason ->
                Problem.warning(
                    "who may read " + path + " cannot be asked, so that nobody may: " + reason,
                    "see that this node reaches the Kubernetes API and may create tokenreviews and"
                        + " subjectaccessreviews"));
  }

  private static Duration lifetime(Finding finding) {
    return switch (finding) {
      case Finding.Allowed _ -> ALLOWED_FOR;
      case Finding.Unknown _, Finding.Forbidden _ -> REFUSED_FOR;
      case Finding.Unanswered _ -> Duration.ZERO;
    };
  }

  private Finding counted(String token, boolean wasReader) {
    Finding finding = reviewed(token, wasReader);
    String result =
        switch (finding) {
          case Finding.Allowed _ -> "allowed";
          case Finding.Unknown _ -> "unknown";
          case Finding.Forbidden _ -> "forbidden";
          case Finding.Unanswered _ -> "unanswered";
        };
    reviews.labelValues(result).inc();
    return finding;
  }

  private Finding reviewed(String token, boolean wasReader) {
    boolean counts = !wasReader;
    if (counts && !asked.tryAcquire()) {
      return new Finding.Unanswered(MAX_ASKED + " other tokens are being asked about");
    }
    try (KubernetesApi api = new KubernetesApi(connection)) {
      Finding finding = review(api, token);
      failure = null;
      return finding;
    } catch (IOException | RuntimeException failed) {
      String reason = failed.getMessage() == null ? failed.toString() : failed.getMessage();
      if (failure == null) {
        LOG.warn("nobody else may read {}: {}", path, reason);
      }
      failure = reason;
      return new Finding.Unanswered(reason);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      return new Finding.Unanswered("this node stops");
    } finally {
      if (counts) {
        asked.release();
      }
    }
  }

  private Finding review(KubernetesApi api, String token) throws IOException, InterruptedException {
    ObjectNode tokenReview = review(TOKENS, "TokenReview");
    tokenReview.putObject("spec").put("token", token);
    JsonNode who = api.create(TOKENS, "", tokenReview).path("status");
    if (!who.path("authenticated").asBoolean()) {
      return new Finding.Unknown();
    }
    JsonNode user = who.path("user");
    ObjectNode accessReview = review(ACCESSES, "SubjectAccessReview");
    ObjectNode spec = accessReview.putObject("spec").put("user", user.path("username").asText());
    for (String known : new String[] {"uid", "groups", "extra"}) {
      if (user.has(known)) {
        spec.set(known, user.path(known));
      }
    }
    spec.putObject("nonResourceAttributes").put("path", path).put("verb", "get");
    JsonNode access = api.create(ACCESSES, "", accessReview).path("status");
    return access.path("allowed").asBoolean()
        ? new Finding.Allowed()
        : new Finding.Forbidden(user.path("username").asText());
  }

  private static ObjectNode review(ApiResource resource, String kind) {
    return JsonNodeFactory.instance.objectNode()
        .put("apiVersion", resource.group() + "/" + resource.version())
        .put("kind", kind);
  }

  private static String digest(String token) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
