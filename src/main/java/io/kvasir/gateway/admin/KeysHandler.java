package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.KeysAdmin.EntryFault;
import io.kvasir.gateway.admin.KeysAdmin.KeyResult;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;

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
        AdminRoute.get(one, this::shown),
        AdminRoute.post(PATH, request -> created(request)),
        AdminRoute.delete(one, request -> changed(request, admin.delete(request.variable(ID)))),
        AdminRoute.post(one + "/disable", request -> changed(request, admin.setDisabled(request.variable(ID), true))),
        AdminRoute.post(one + "/enable", request -> changed(request, admin.setDisabled(request.variable(ID), false))),
        AdminRoute.post(one + "/rotate", this::rotated).with(OVERLAP));
  }

  private AdminResponse shown(AdminRequest request) throws AdminException {
    String id = request.variable(ID);
    Instant now = clock.instant();
    return AdminResponse.ok(
        admin.keys().stream()
            .filter(key -> key.key().id().equals(id))
            .findFirst()
            .map(key -> KeyJson.key(key, now))
            .orElseThrow(() -> AdminException.of(404, "there is no key '" + id + "'; GET " + PATH + " lists them")));
  }

  private ObjectNode listed() {
    ObjectNode body = object();
    ArrayNode keys = body.putArray("keys");
    Instant now = clock.instant();
    admin.keys().forEach(key -> keys.add(KeyJson.key(key, now)));
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
      case KeyResult.Done done -> KeyJson.change(done, clock.instant());
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
}
