package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.answers.AnswerCache;
import io.kvasir.answers.AnswerCacheStats;
import io.kvasir.answers.StoreUnavailableException;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /admin/cache}: the response cache's figures, and forgetting answers: {@code {"tenant": …}},
 * {@code {"model": …}}, both, or {@code {"all": true}}. Thread-safe.
 */
public final class CacheHandler implements AdminResource {
  private static final Logger LOG = LoggerFactory.getLogger(CacheHandler.class);
  private static final Set<String> LIMITS = Set.of("tenant", "model", "all");
  private static final String WANTED = "send {\"tenant\": …}, {\"model\": …}, both, or {\"all\": true}";

  private final @Nullable AnswerCache cache;

  /** Over a node's cache; null when it keeps no answers. */
  public CacheHandler(@Nullable AnswerCache cache) {
    this.cache = cache;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get("/admin/cache", _ -> AdminResponse.ok(figures())),
        AdminRoute.post("/admin/cache/flush", this::flush));
  }

  private ObjectNode figures() {
    ObjectNode body = object();
    if (cache == null) {
      return body.put("store", "off");
    }
    AnswerCacheStats figures = cache.stats();
    AnswerCacheStats.StoreStats store = figures.store();
    body.put("store", store.name()).put("available", store.outage().isEmpty());
    store.outage().ifPresent(outage -> body.put("away", outage));
    store.entries().ifPresent(entries -> body.put("entries", entries));
    store.bytes().ifPresent(bytes -> body.put("bytes", bytes));
    AnswerCacheStats.RequestStats requests = figures.requests();
    body.put("hits", requests.hits())
        .put("misses", requests.misses())
        .put("shared", requests.shared())
        .put("kept", figures.kept())
        .put("waiting", figures.waiting())
        .put("recording_bytes", figures.recordingBytes());
    ObjectNode bypassed = body.putObject("bypassed");
    requests.bypassed().forEach(bypassed::put);
    return body;
  }

  private AdminResponse flush(AdminRequest request) throws AdminException {
    if (cache == null) {
      throw AdminException.of(409, "no answers are kept: kvasir.answers.store is off");
    }
    JsonNode limits = request.body(WANTED);
    for (var member : limits.properties()) {
      if (!LIMITS.contains(member.getKey())) {
        throw AdminException.invalid(member.getKey(), "'%s' limits nothing; %s".formatted(member.getKey(), WANTED));
      }
    }
    String tenant = text(limits, "tenant");
    String model = text(limits, "model");
    if (limits.path("all").asBoolean(false) == (tenant != null || model != null)) {
      throw AdminException.invalid("all", "what is to be forgotten is not clear; " + WANTED);
    }
    try {
      OptionalLong forgotten = cache.flush(tenant, model);
      LOG.info("{} kept answers of tenant {} and model {} forgotten by the admin API",
          forgotten.orElse(-1), tenant == null ? "any" : "'" + tenant + "'", model == null ? "any" : "'" + model + "'");
      ObjectNode done = object();
      forgotten.ifPresent(count -> done.put("forgotten", count));
      return AdminResponse.ok(done);
    } catch (StoreUnavailableException e) {
      throw AdminException.of(503, "nothing, or not all, was forgotten: %s".formatted(e.getMessage()));
    }
  }

  private static @Nullable String text(JsonNode limits, String field) throws AdminException {
    JsonNode value = limits.get(field);
    if (value != null && !value.isTextual()) {
      throw AdminException.invalid(field, "'%s' is %s, and has to be a text; %s".formatted(field, value, WANTED));
    }
    return value == null ? null : value.textValue();
  }
}
