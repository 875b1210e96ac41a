package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.ApiKey;
import io.kvasir.access.Grants;
import io.kvasir.access.Isolation;
import io.kvasir.access.Limits;
import io.kvasir.gateway.admin.KeysAdmin.KeyResult;
import io.kvasir.gateway.admin.KeysAdmin.KnownKey;
import java.time.Instant;
import java.util.Locale;
import java.util.TreeSet;

/** Clients' keys in the admin API's JSON: of a digest 8 digits are shown. */
public final class KeyJson {
  private KeyJson() {}

  /** A change that holds: the key, its new text if it has one, and what the change lacks. */
  public static ObjectNode change(KeyResult.Done done, Instant now) {
    ObjectNode body = object();
    body.set("key", key(done.key(), now));
    if (done.secret() != null) {
      body.put("secret", done.secret());
    }
    done.warnings().forEach(body.putArray("warnings")::add);
    return body;
  }

  /** A key as people may see it. */
  public static ObjectNode key(KnownKey known, Instant now) {
    ApiKey key = known.key();
    Instant notAfter = key.notAfter();
    boolean expired = notAfter != null && now.isAfter(notAfter);
    ObjectNode shown =
        object()
            .put("id", key.id())
            .put("tenant", key.tenant())
            .put("digest", key.digest().shortHex())
            .put("source", known.source().name().toLowerCase(Locale.ROOT))
            .put("state", key.disabled() ? "disabled" : expired ? "expired" : "active");
    if (notAfter != null) {
      shown.put("not_after", notAfter.toString());
    }
    ApiKey.PreviousDigest previous = key.previous();
    if (previous != null && !now.isAfter(previous.notAfter())) {
      shown.put("previous_not_after", previous.notAfter().toString());
    }
    show(shown, key.grants());
    show(shown.putObject("limits"), key.limits());
    return shown;
  }

  private static void show(ObjectNode shown, Grants grants) {
    new TreeSet<>(grants.models()).forEach(shown.putArray("models")::add);
    new TreeSet<>(grants.apis()).forEach(shown.putArray("apis")::add);
    if (grants.profile() != null) {
      shown.put("profile", grants.profile());
    }
    shown.put("highest_class", grants.highestClass().name().toLowerCase(Locale.ROOT)).put("weight", grants.weight());
    switch (grants.isolation()) {
      case Isolation.None _ -> shown.put("isolation", "none");
      case Isolation.Tenant _ -> shown.put("isolation", "tenant");
      case Isolation.Key _ -> shown.put("isolation", "key");
      case Isolation.Group(String name) -> shown.putObject("isolation").put("group", name);
    }
    shown.put("routing_details", grants.routingDetails()).put("request_templates", grants.requestTemplates());
  }

  private static void show(ObjectNode shown, Limits limits) {
    if (limits.requestsPerMinute() > 0) {
      shown.put("requests_per_minute", limits.requestsPerMinute());
    }
    if (limits.tokensPerMinute() > 0) {
      shown.put("tokens_per_minute", limits.tokensPerMinute());
    }
    if (limits.concurrent() > 0) {
      shown.put("concurrent", limits.concurrent());
    }
    if (!limits.budgets().isEmpty()) {
      ArrayNode budgets = shown.putArray("budgets");
      for (Limits.Budget budget : limits.budgets()) {
        budgets.addObject().put("tokens", budget.tokens()).put("window_seconds", budget.window().toSeconds());
      }
    }
  }
}
