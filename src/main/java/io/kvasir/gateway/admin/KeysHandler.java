package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.ApiKey;
import io.kvasir.access.Grants;
import io.kvasir.access.Isolation;
import io.kvasir.access.Limits;
import io.kvasir.gateway.admin.KeysAdmin.EntryFault;
import io.kvasir.gateway.admin.KeysAdmin.KeyResult;
import io.kvasir.gateway.admin.KeysAdmin.KnownKey;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;

/**
 * {@code /admin/keys}: shows clients' keys, and creates, disables, enables, rotates and deletes them on all nodes. A
 * key's text is in the answer that creates it and nowhere else; of its digest 8 digits are shown. Thread-safe.
 */
public final class KeysHandler implements AdminResource {
  private static final String PATH = "/admin/keys";
  private static final String ID = "id";
  private static final String OVERLAP = "overlap_seconds";
  private static final String EXPECTED = "send {\"id\": \"NAME\", \"tenant\": \"NAME\", ...}";
  private static final long MAX_OVERLAP_SECONDS = Duration.ofDays(365).toSeconds();

  private final KeysAdmin admin;
  private final InstantSource clock;

  /**
   * Over a node's keys.
   *
   * @param clock tells which keys have expired
   */
  public KeysHandler(KeysAdmin admin, InstantSource clock) {
    this.admin = admin;
    this.clock = clock;
  }

  @Override
  public List<AdminRoute> routes() {
    String one = PATH + "/{id}";
    return List.of(
        AdminRoute.get(PATH, _ -> AdminResponse.ok(listed())),
        AdminRoute.post(PATH, request -> created(request)),
        AdminRoute.delete(one, request -> changed(request, admin.delete(request.variable(ID)))),
        AdminRoute.post(one + "/disable", request -> changed(request, admin.setDisabled(request.variable(ID), true))),
        AdminRoute.post(one + "/enable", request -> changed(request, admin.setDisabled(request.variable(ID), false))),
        AdminRoute.post(one + "/rotate", this::rotated).with(OVERLAP));
  }

  private ObjectNode listed() {
    ObjectNode body = object();
    ArrayNode keys = body.putArray("keys");
    admin.keys().forEach(key -> keys.add(shown(key)));
    return body;
  }

  private AdminResponse created(AdminRequest request) throws AdminException {
    return new AdminResponse(201, answered("", admin.create(request.body(EXPECTED))));
  }

  private AdminResponse rotated(AdminRequest request) throws AdminException {
    return changed(request, admin.rotate(request.variable(ID), overlap(request)));
  }

  private AdminResponse changed(AdminRequest request, KeyResult result) throws AdminException {
    return AdminResponse.ok(answered(request.variable(ID), result));
  }

  private ObjectNode answered(String id, KeyResult result) throws AdminException {
    return switch (result) {
      case KeyResult.Done done -> {
        ObjectNode body = object();
        body.set("key", shown(done.key()));
        if (done.secret() != null) {
          body.put("secret", done.secret());
        }
        done.warnings().forEach(body.putArray("warnings")::add);
        yield body;
      }
      case KeyResult.Unknown _ ->
          throw AdminException.of(404, "there is no key '%s'; GET %s lists them".formatted(id, PATH));
      case KeyResult.Invalid(List<EntryFault> faults) -> throw invalid(faults);
      case KeyResult.Conflicting(String why) -> throw AdminException.of(409, why);
      case KeyResult.Unavailable(String why) -> throw AdminException.of(503, why);
    };
  }

  private static AdminException invalid(List<EntryFault> faults) {
    EntryFault first = faults.getFirst();
    return faults.size() == 1
        ? AdminException.invalid(first.field(), first.field() + " " + first.message())
        : AdminException.faulty(
            400,
            "the key has %d faults; nothing was changed".formatted(faults.size()),
            faults.stream().map(fault -> AdminException.fault(fault.field(), fault.message())).toList());
  }

  private static Duration overlap(AdminRequest request) throws AdminException {
    String text = request.parameter(OVERLAP);
    try {
      long seconds = text == null ? 0 : Long.parseLong(text);
      if (seconds >= 0 && seconds <= MAX_OVERLAP_SECONDS) {
        return Duration.ofSeconds(seconds);
      }
    } catch (NumberFormatException malformed) {
      // Refused below, like every other text that is none.
    }
    throw AdminException.invalid(
        OVERLAP, "%s has to be a whole number from 0 to %d, not '%s'".formatted(OVERLAP, MAX_OVERLAP_SECONDS, text));
  }

  private ObjectNode shown(KnownKey known) {
    ApiKey key = known.key();
    Instant now = clock.instant();
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
