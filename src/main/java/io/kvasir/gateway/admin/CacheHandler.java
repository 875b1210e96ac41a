package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminJson.answer;
import static io.kvasir.gateway.admin.AdminJson.error;
import static io.kvasir.gateway.admin.AdminJson.object;
import static io.kvasir.gateway.admin.AdminJson.read;
import static io.kvasir.gateway.admin.AdminJson.wrongMethod;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.answers.AnswerCache;
import io.kvasir.answers.AnswerFigures;
import io.kvasir.answers.StoreAwayException;
import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import io.kvasir.gateway.http.Handler;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /admin/cache}: the response cache's figures (GET), and forgetting answers (POST {@code /admin/cache/flush}
 * with {@code {"tenant": …}}, {@code {"model": …}}, both, or {@code {"all": true}}). Thread-safe.
 */
public final class CacheHandler implements Handler {
  /** The path of the figures. */
  public static final String PATH = "/admin/cache";

  private static final Logger LOG = LoggerFactory.getLogger(CacheHandler.class);
  private static final String FLUSH = PATH + "/flush";
  private static final Set<String> LIMITS = Set.of("tenant", "model", "all");
  private static final String WANTED = "send {\"tenant\": …}, {\"model\": …}, both, or {\"all\": true}";

  private final @Nullable AnswerCache cache;

  /** A handler over a node's cache; null when it keeps no answers. */
  public CacheHandler(@Nullable AnswerCache cache) {
    this.cache = cache;
  }

  @Override
  public Answer handle(Exchange exchange) {
    return switch (exchange.path()) {
      case PATH -> exchange.method().equals("GET") ? answer(200, figures()) : wrongMethod(exchange, "GET");
      case FLUSH -> exchange.method().equals("POST") ? flush(exchange.body()) : wrongMethod(exchange, "POST");
      default -> error(404, "there is nothing at %s; the response cache is at %s".formatted(exchange.path(), PATH));
    };
  }

  @Override
  public Answer failure(String target, int status, String message) {
    return error(status, message);
  }

  private ObjectNode figures() {
    ObjectNode body = object();
    if (cache == null) {
      return body.put("store", "off");
    }
    AnswerFigures figures = cache.figures();
    body.put("store", figures.store()).put("available", figures.away().isEmpty());
    figures.away().ifPresent(away -> body.put("away", away));
    figures.entries().ifPresent(entries -> body.put("entries", entries));
    figures.bytes().ifPresent(bytes -> body.put("bytes", bytes));
    body.put("hits", figures.hits())
        .put("misses", figures.misses())
        .put("shared", figures.shared())
        .put("kept", figures.kept())
        .put("waiting", figures.waiting())
        .put("recording_bytes", figures.recordingBytes());
    ObjectNode bypassed = body.putObject("bypassed");
    figures.bypassed().forEach(bypassed::put);
    return body;
  }

  private Answer flush(byte[] body) {
    if (cache == null) {
      return error(409, "no answers are kept: kvasir.answers.store is off");
    }
    JsonNode limits;
    try {
      limits = read(body);
    } catch (IllegalArgumentException e) {
      return error(400, "%s; %s".formatted(e.getMessage(), WANTED));
    }
    if (!limits.isObject()) {
      return error(400, "the body is no JSON object; " + WANTED);
    }
    for (var member : limits.properties()) {
      if (!LIMITS.contains(member.getKey())) {
        return error(400, "'%s' limits nothing; %s".formatted(member.getKey(), WANTED));
      }
    }
    String tenant = limits.path("tenant").textValue();
    String model = limits.path("model").textValue();
    boolean all = limits.path("all").asBoolean(false);
    if (all == (tenant != null || model != null)
        || limits.has("tenant") != (tenant != null)
        || limits.has("model") != (model != null)) {
      return error(400, "what is to be forgotten is not clear; " + WANTED);
    }
    try {
      OptionalLong forgotten = cache.flush(tenant, model);
      LOG.info("{} kept answers of tenant {} and model {} forgotten by the admin API",
          forgotten.orElse(-1), tenant == null ? "any" : "'" + tenant + "'", model == null ? "any" : "'" + model + "'");
      ObjectNode done = object();
      forgotten.ifPresent(count -> done.put("forgotten", count));
      return answer(200, done);
    } catch (StoreAwayException away) {
      return error(503, "nothing, or not all, was forgotten: %s".formatted(away.getMessage()));
    }
  }
}
