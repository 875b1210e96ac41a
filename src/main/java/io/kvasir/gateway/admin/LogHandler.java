package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.CellMove;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.HealthChange;
import io.kvasir.telemetry.AuditLog;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * {@code /admin/log}: the last changes by administrators, of this node, of the health of the workers whose cells are at
 * home here, and of cells' homes, newest first; {@code kind} and {@code limit} (100) narrow it down. Thread-safe.
 */
public final class LogHandler implements AdminResource {
  private static final String ADMINISTRATION = "administration";
  private static final String HEALTH = "health";
  private static final String MOVE = "move";
  private static final List<String> KINDS = List.of(ADMINISTRATION, HEALTH, MOVE);
  private static final int LIMIT = 100;
  private static final int MOST = 1000;

  private final AuditLog audit;
  private final FleetDescription fleet;

  /** Over a node's logs. */
  public LogHandler(AuditLog audit, FleetDescription fleet) {
    this.audit = audit;
    this.fleet = fleet;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/log", this::log).with("kind", "limit"));
  }

  private AdminResponse log(AdminRequest request) throws AdminException {
    String kind = request.parameter("kind");
    if (kind != null && !KINDS.contains(kind)) {
      throw AdminException.invalid(
          "kind", "kind has to be one of %s, not '%s'".formatted(String.join(", ", KINDS), kind));
    }
    int limit = request.limit(LIMIT, MOST);
    List<ObjectNode> entries = new ArrayList<>();
    for (String each : kind == null ? KINDS : List.of(kind)) {
      latest(each, limit).forEach(entries::add);
    }
    entries.sort(Comparator.comparing((ObjectNode entry) -> Instant.parse(entry.path("time").asText())).reversed());
    ObjectNode body = object().put("scope", "node");
    ArrayNode list = body.putArray("log");
    entries.stream().limit(limit).forEach(list::add);
    return AdminResponse.ok(body);
  }

  private Stream<ObjectNode> latest(String kind, int limit) {
    return switch (kind) {
      case ADMINISTRATION -> audit.latest(limit).stream().map(LogHandler::entry);
      case HEALTH -> fleet.healthChanges().stream().limit(limit).map(LogHandler::entry);
      default -> fleet.moves().stream().limit(limit).map(LogHandler::entry);
    };
  }

  private static ObjectNode entry(ObjectNode line) {
    ObjectNode entry =
        object()
            .put("time", text(line, "timestamp"))
            .put("kind", ADMINISTRATION)
            .put("who", text(line, "principal"))
            .put("what", text(line, "method") + " " + text(line, "path"))
            .put("outcome", text(line, "outcome"))
            .put("client", text(line, "client"));
    for (String detail : new String[] {"message", "before", "after"}) {
      JsonNode value = line.get(detail);
      if (value != null) {
        entry.set(detail, value);
      }
    }
    return entry;
  }

  private static @Nullable String text(ObjectNode line, String field) {
    return line.path(field).textValue();
  }

  private static ObjectNode entry(HealthChange change) {
    return object()
        .put("time", Instant.ofEpochMilli(change.timeMillis()).toString())
        .put("kind", HEALTH)
        .put("worker", change.worker())
        .put("what", change.health().name().toLowerCase(Locale.ROOT))
        .put("why", change.reason());
  }

  private static ObjectNode entry(CellMove move) {
    return object()
        .put("time", Instant.ofEpochMilli(move.timeMillis()).toString())
        .put("kind", MOVE)
        .put("cell", move.cell())
        .put("what", "moved from %s to %s".formatted(move.from(), move.to()))
        .put("from", move.from())
        .put("to", move.to())
        .put("why", switch (move.reason()) {
          case HOME_LEFT -> "its home left the cluster in good order";
          case HOME_LOST -> "its home was lost: it ended, or the other nodes could not reach it";
          case BALANCE -> "its home had more cells than others";
        });
  }
}
